"""Run some work on an engine: ``python -m tests.support.engine_client WORK ENGINE SCHEDULER FOLDER PAUSE``.

The numbers are printed in hexadecimal, so that two runs can be compared to the last bit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from deconfound.engines import EngineOptions, map_merge, open_engine
from tests.support import engine_tasks
from tests.support.engine_workers import read_parts


def sum_files(options: EngineOptions, folder: Path, pause: str) -> dict[str, np.ndarray]:
    """Column sums of the files of ``write_parts``, with a pause in every part."""
    task = engine_tasks.task(engine_tasks.sum_columns, pause.encode())
    with open_engine(options) as engine:
        return map_merge(engine, task, read_parts(folder), engine_tasks.read_sums, engine_tasks.add_sums)


def evaluate_log(options: EngineOptions, folder: Path, pause: str) -> dict[str, np.ndarray]:  # noqa: ARG001
    """Values of the study in a folder, whose log is summed in many parts."""
    import deconfound as dc
    from deconfound.features import spread_pass
    from deconfound.loading.log_size import LongLog

    spread_pass.GROUP_BYTES = 1
    tables = {name: folder / f"{name}.parquet" for name in ("experiment", "replay")}
    in_parts = LongLog(min_rows=0, min_bytes=0, batch_rows=25, part_bytes=20_000)
    study = dc.load(log=folder / "log", **tables, long_log=in_parts)
    features = dc.FeatureSpec(buckets=128)
    result = dc.evaluate(study, "cvci", options=dc.EvaluationOptions(features=features, engine=options))
    return {"estimate": result.values.estimate, "covariance": result.values.covariance}


def main(work: str, engine: str, scheduler: str, folder: str, pause: str) -> None:
    numbers = globals()[work](EngineOptions(engine, scheduler or None), Path(folder), pause)
    hexadecimal = {name: [float(number).hex() for number in array.ravel()] for name, array in numbers.items()}
    sys.stdout.write(json.dumps(hexadecimal))


if __name__ == "__main__":
    main(*sys.argv[1:])

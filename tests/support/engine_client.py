"""Sum the columns of files on an engine: ``python -m tests.support.engine_client ENGINE SCHEDULER FOLDER PAUSE``.

The sums are printed as hexadecimal numbers, so that two runs can be compared to the last bit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from deconfound.engines import EngineOptions, map_merge, open_engine
from tests.support import engine_tasks
from tests.support.engine_workers import read_parts


def main(engine: str, scheduler: str, folder: str, pause: str) -> None:
    options = EngineOptions(engine, scheduler or None)
    task = engine_tasks.task(engine_tasks.sum_columns, pause.encode())
    with open_engine(options) as started:
        sums = map_merge(started, task, read_parts(Path(folder)), engine_tasks.read_sums, engine_tasks.add_sums)
    numbers = {name: [float(number).hex() for number in array.ravel()] for name, array in sums.items()}
    sys.stdout.write(json.dumps(numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Are plans from files realized? Planned and realized interval widths on demo studies, with real texts and fits.

    python -m benchmarks.plan_demo --seeds 20

Each seed gives another demo study. Its experiment is planned from log and replay alone, and from a pilot of 20 rows
per model. Then it is evaluated with 10, 60 and 120 rows per model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pyarrow.compute as pc

import deconfound as dc
from deconfound.demo import Demo, Sizes, make_demo
from deconfound.design import FloatArray
from deconfound.planning import load_log_and_replay, plan
from deconfound.planning.forecast import root_mean_square

PILOT_ROWS = 20  # per model
ROWS = (10, 60, 120)  # per model
SOURCES = ("log and replay", "pilot")


def widths(seed: int) -> FloatArray:
    """Root mean square width over models: planned from the log, from a pilot, and realized (sizes, 3)."""
    count = len(make_demo(0).models)
    largest = max(ROWS) * count
    demo = make_demo(seed, sizes=Sizes(experiment_contexts=largest, experiment_people=largest // 2))
    plans = (plan(load_log_and_replay(log=demo.log, replay=demo.replay)), plan(_study(demo, PILOT_ROWS * count)))
    table = []
    for rows in ROWS:
        low, high = dc.evaluate(_study(demo, rows * count)).values.interval().T
        table.append([*(one.at(rows).rms_width for one in plans), root_mean_square(high - low)])
    return np.array(table)


def _study(demo: Demo, rows: int) -> dc.Study:
    """The first rows of the experiment, with the replay of their contexts only."""
    experiment = demo.experiment.slice(0, rows)
    replayed = pc.is_in(demo.replay["context_id"], value_set=experiment["context_id"].combine_chunks())
    return dc.load(log=demo.log, experiment=experiment, replay=demo.replay.filter(replayed))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print planned over realized width for every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parsed = parser.parse_args(arguments)
    finished = []
    with ProcessPoolExecutor(parsed.workers) as pool:
        for table in pool.map(widths, range(1, parsed.seeds + 1)):
            finished.append(table)
            sys.stderr.write(f"\r{len(finished)} of {parsed.seeds} studies")
    sys.stderr.write("\n")
    tables = np.array(finished)  # (seeds, sizes, 3)
    print(f"{parsed.seeds} studies; planned width / median realized width: median (lowest to highest plan)")
    for size, rows in enumerate(ROWS):
        realized = np.median(tables[:, size, -1])
        for source, ratio in zip(SOURCES, tables[:, size, :-1].T / realized, strict=True):
            limits = f"{ratio.min():.2f} to {ratio.max():.2f}"
            print(f"{rows:4d} rows per model, from {source:14s}  {np.median(ratio):.3f}  ({limits})")


if __name__ == "__main__":
    main()

"""Does a plan from files come true? Planned against realised widths on the demo, texts, fits and all.

    python -m benchmarks.plan_demo --seeds 20

Each seed is another study of the demo's kind. Its experiment is planned from log and replay alone, and from a pilot of
20 rows a model; then it is run with 10, 60 and 120 rows a model and evaluated as a user would.
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
from deconfound.plan import load_log_and_replay, plan

PILOT = 20  # rows a model
SIZES = (10, 60, 120)  # rows a model
SOURCES = ("log and replay", "pilot")


def one(seed: int) -> FloatArray:
    """Root mean square width over models (sizes, [from the log, from a pilot, realised])."""
    count = len(make_demo(0).models)
    largest = max(SIZES) * count
    demo = make_demo(seed, sizes=Sizes(experiment_contexts=largest, experiment_people=largest // 2))
    plans = (plan(load_log_and_replay(log=demo.log, replay=demo.replay)), plan(_study(demo, PILOT * count)))
    found = []
    for rows in SIZES:
        low, high = dc.evaluate(_study(demo, rows * count)).values.interval().T
        found.append([*(_size(made.at(rows).width) for made in plans), _size(high - low)])
    return np.array(found)


def _study(demo: Demo, rows: int) -> dc.Study:
    """The first so many rows of the experiment, with the replay of their contexts alone."""
    experiment = demo.experiment.slice(0, rows)
    mine = pc.is_in(demo.replay["context_id"], value_set=experiment["context_id"].combine_chunks())
    return dc.load(log=demo.log, experiment=experiment, replay=demo.replay.filter(mine))


def _size(width: FloatArray) -> float:
    return float(np.sqrt((width**2).mean()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print planned over realised for every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    found = []
    with ProcessPoolExecutor(given.workers) as pool:
        for widths in pool.map(one, range(1, given.seeds + 1)):
            found.append(widths)
            sys.stderr.write(f"\r{len(found)} of {given.seeds} studies")
    sys.stderr.write("\n")
    table = np.array(found)  # (seeds, sizes, 3)
    print(f"{given.seeds} studies; planned width over the median realised one: median, and lowest to highest plan")
    for at, rows in enumerate(SIZES):
        realised = np.median(table[:, at, -1])
        for source, planned in zip(SOURCES, table[:, at, :-1].T / realised, strict=True):
            spread = f"{planned.min():.2f} to {planned.max():.2f}"
            print(f"{rows:4d} rows a model, from {source:14s}  {np.median(planned):.3f}  ({spread})")


if __name__ == "__main__":
    main()

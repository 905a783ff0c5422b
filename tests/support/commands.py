"""Command lines for tests."""

from __future__ import annotations

from pathlib import Path

from deconfound.demo import Sizes

SMALL = Sizes(log_contexts=40, log_repeats=3, log_people=20, experiment_contexts=36, experiment_people=36, draws=1)


def evaluate_command(folder: Path, *more: str) -> list[str]:
    """`deconfound evaluate` on the three tables of a folder."""
    tables = [f"--{name}={folder / name}.parquet" for name in ("log", "experiment", "replay")]
    return ["evaluate", *tables, "-q", *more]

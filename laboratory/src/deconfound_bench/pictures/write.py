"""Write everything a benchmark's scores are shown as."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deconfound.report.figures import require_matplotlib
from deconfound_bench.pictures.curves import dr_picture, regret_picture
from deconfound_bench.pictures.values import values_picture
from deconfound_bench.pictures.winners import winner_picture
from deconfound_bench.results import Score
from deconfound_bench.tables.budgets import panels
from deconfound_bench.tables.values import BOTH, direct_against_dr, dr_curve
from deconfound_bench.tables.winners import winner_map
from deconfound_bench.tables.write import known, moving_axes, write_file, write_tables


def write_all(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write the tables and the pictures; without matplotlib nothing at all, rather than half of it."""
    require_matplotlib()
    return (*write_tables(scores, directory), *write_pictures(scores, directory))


def write_pictures(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write each picture as .svg, under the name of the table it shows."""
    pictures = {"winners": winner_picture(winner_map(scores))}
    for axis in moving_axes(scores):
        pictures[f"regret-by-{axis}"] = regret_picture(panels(scores, axis))
    if known(scores, BOTH):
        pictures["values"] = values_picture(direct_against_dr(scores))
        if "n_experiment" in moving_axes(scores):
            pictures["values-by-n_experiment"] = dr_picture(dr_curve(scores))
    return tuple(write_file(directory, f"{name}.svg", data) for name, data in pictures.items())

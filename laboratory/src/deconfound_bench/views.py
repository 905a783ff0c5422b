"""Tables and figures of a benchmark, written separately for groups of cells that should not be averaged together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deconfound.report.figures import require_matplotlib
from deconfound_bench.figures import dr_figure, regret_figure, values_figure, winner_figure
from deconfound_bench.results import Cell, Score
from deconfound_bench.score_tables import (
    VALUE_METRICS,
    curve_panels,
    direct_vs_dr,
    dr_curve,
    has_metrics,
    varying_axes,
    winner_map,
    write_file,
    write_tables,
)


@dataclass(frozen=True, slots=True)
class View:
    """A named group of cells, restricted to some families if not all belong in it."""

    name: str
    cells: tuple[Cell, ...]
    families: tuple[str, ...] | None = None

    def select(self, scores: Sequence[Score]) -> tuple[Score, ...]:
        """The scores of the view."""
        cells = set(self.cells)
        return tuple(
            score
            for score in scores
            if score.cell in cells and (self.families is None or score.family in self.families)
        )


def write_views(scores: Sequence[Score], views: Sequence[View], directory: Path) -> tuple[Path, ...]:
    """Write tables and figures of every view that has scores, in separate folders if there are several views."""
    paths: list[Path] = []
    for view in views:
        selected = view.select(scores)
        if selected:
            paths += write_tables_and_figures(selected, directory if len(views) == 1 else directory / view.name)
    return tuple(paths)


def write_tables_and_figures(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write all tables and figures; nothing at all if matplotlib is missing."""
    require_matplotlib()
    return (*write_tables(scores, directory), *write_figures(scores, directory))


def write_figures(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write each figure as .svg, with the name of the table it shows."""
    axes = varying_axes([score.cell for score in scores])
    figures = {"winners": winner_figure(winner_map(scores))}
    for axis in axes:
        figures[f"regret-by-{axis}"] = regret_figure(curve_panels(scores, axis))
    if has_metrics(scores, VALUE_METRICS):
        figures["values"] = values_figure(direct_vs_dr(scores))
        if "n_experiment" in axes:
            figures["values-by-n_experiment"] = dr_figure(dr_curve(scores))
    return tuple(write_file(directory, f"{name}.svg", data) for name, data in figures.items())

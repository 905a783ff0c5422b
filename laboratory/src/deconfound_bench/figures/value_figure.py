"""Errors of the models' values by direct and doubly robust estimation, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deconfound.report.figures import Frame, new_figure, style_context, to_svg
from deconfound_bench.figures.style import Style, styles_for
from deconfound_bench.score_tables import DirectVsDr, Estimate, EstimatorErrors

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def values_figure(content: DirectVsDr) -> bytes:
    """Connect the two errors of each family by a line, with their difference as text."""
    title = f"{content.benchmark}: error (RMSE) of the models' values, direct (open circle) and doubly robust (diamond)"
    bars = (
        f"Bars: standard error over {content.seeds} paired seeds."
        if content.seeds > 1
        else "One seed, so no standard errors."
    )
    footnote = " ".join([f"Mean over {content.cells} cells. {bars}", *content.notes])
    styles = styles_for([row.family for row in content.rows])
    with style_context():
        figure = new_figure(Frame(10.0, 1.7 + 0.4 * len(content.rows), title, footnote))
        axes = figure.add_subplot()
        for y, row in enumerate(content.rows):
            _draw_row(axes, y, row, styles[row.family])
        axes.set_ylim(len(content.rows) - 0.5, -0.5)
        axes.set_yticks(range(len(content.rows)), [row.family for row in content.rows])
        axes.set_xlim(left=0)
        axes.set_xlabel("RMSE (outcome units)")
        axes.grid(visible=False, axis="y")
        _add_differences(axes, content)
        return to_svg(figure)


def _draw_row(axes: Axes, y: int, row: EstimatorErrors, style: Style) -> None:
    axes.plot([row.direct.mean, row.dr.mean], [y, y], color=style.colour, linewidth=2.0)
    for value, marker, fill in ((row.direct, "o", "#ffffff"), (row.dr, "D", style.colour)):
        _draw_point(axes, y, value, style.colour, marker, fill)


def _draw_point(axes: Axes, y: int, value: Estimate, colour: str, marker: str, fill: str) -> None:
    bar = 0.0 if math.isnan(value.standard_error) else value.standard_error
    axes.errorbar(
        [value.mean],
        [y],
        xerr=[bar],
        color=colour,
        marker=marker,
        markerfacecolor=fill,
        markersize=6,
        ecolor="#222222",
        elinewidth=1.0,
        capsize=2.5,
        linestyle="none",
    )


def _add_differences(axes: Axes, content: DirectVsDr) -> None:
    """A column of numbers at the right margin."""
    right = axes.get_yaxis_transform()
    axes.text(
        1.02,
        -0.5,
        f"DR − direct (number of {content.cells} cells in which DR is better)",
        transform=right,
        fontsize=9,
        va="bottom",
    )
    for y, row in enumerate(content.rows):
        sign = "+" if row.difference.mean > 0 else ""
        text = f"{sign}{row.difference.format()}  ({row.dr_better})"
        axes.text(1.02, y, text, transform=right, fontsize=9, va="center")

"""Direct and doubly robust values of the models, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deconfound.report.figures import Frame, new_figure, style_context, to_svg
from deconfound_bench.pictures.style import Style, styles
from deconfound_bench.tables.estimate import Estimate
from deconfound_bench.tables.values import DirectAgainstDr, TwoWays

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def values_picture(content: DirectAgainstDr) -> bytes:
    """Join the two errors of each family by a line, and write their difference beside it."""
    title = f"{content.benchmark}: error (RMSE) of the models' values, direct (open circle) and doubly robust (diamond)"
    bars = (
        f"Bars: standard error over {content.seeds} paired seeds." if content.seeds > 1 else "One seed, so no errors."
    )
    footnote = " ".join([f"Mean over {content.cells} cells. {bars}", *content.notes])
    look = styles([row.family for row in content.rows])
    with style_context():
        figure = new_figure(Frame(10.0, 1.7 + 0.4 * len(content.rows), title, footnote))
        axes = figure.add_subplot()
        for at, row in enumerate(content.rows):
            _draw(axes, at, row, look[row.family])
        axes.set_ylim(len(content.rows) - 0.5, -0.5)
        axes.set_yticks(range(len(content.rows)), [row.family for row in content.rows])
        axes.set_xlim(left=0)
        axes.set_xlabel("RMSE (outcome units)")
        axes.grid(visible=False, axis="y")
        _differences(axes, content)
        return to_svg(figure)


def _draw(axes: Axes, at: int, row: TwoWays, style: Style) -> None:
    axes.plot([row.direct.mean, row.dr.mean], [at, at], color=style.colour, linewidth=2.0)
    for value, marker, fill in ((row.direct, "o", "#ffffff"), (row.dr, "D", style.colour)):
        _point(axes, at, value, style.colour, marker, fill)


def _point(axes: Axes, at: int, value: Estimate, colour: str, marker: str, fill: str) -> None:
    bar = 0.0 if math.isnan(value.error) else value.error
    axes.errorbar(
        [value.mean],
        [at],
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


def _differences(axes: Axes, content: DirectAgainstDr) -> None:
    """A column of numbers at the right rim."""
    right = axes.get_yaxis_transform()
    axes.text(
        1.02,
        -0.5,
        f"DR − direct (in how many of {content.cells} cells DR is better)",
        transform=right,
        fontsize=9,
        va="bottom",
    )
    for at, row in enumerate(content.rows):
        sign = "+" if row.difference.mean > 0 else ""
        text = f"{sign}{row.difference.shown()}  ({row.dr_better})"
        axes.text(1.02, at, text, transform=right, fontsize=9, va="center")

"""Line plots along one axis of a benchmark, in panels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from deconfound.errors import UsageError
from deconfound.report.figures import INCHES_PER_CHARACTER, Frame, new_figure, style_context, to_svg
from deconfound_bench.figures.style import Dash, Style, styles_for
from deconfound_bench.score_tables import (
    Axis,
    CurvePanel,
    DrCurve,
    Estimate,
    Level,
    format_cell,
    format_level,
    varying_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXIS_LABELS = {
    "confounding": "confounding (strength, 0 = none)",
    "n_log": "n_log (rows)",
    "n_experiment": "n_experiment (rows)",
    "reward": "reward map",
}
EVEN_SPACING_NOTES = {"confounding": "Levels of confounding are spaced evenly."}
PANEL_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 3.4, 2.6, 2.6  # inches
MIN_LEVEL_SPACING = 0.3  # inches between two levels
TITLE_CHARACTERS = 36  # of a panel's title that fit on one line
FAMILY_OFFSET = 0.12  # distance between the first and last family at one level, relative to the level spacing
MAX_TICK_CHARACTERS = 36  # of all level names that fit side by side below a panel
GREY = "#444444"
ESTIMATORS: tuple[tuple[str, str, Dash], ...] = (("direct", "o", (0, (4, 2))), ("DR", "D", "-"))


def regret_figure(panels: Sequence[CurvePanel]) -> bytes:
    """Mean regret along one axis, one panel per setting of the other budgets."""
    if not panels:
        raise UsageError("There is no curve to draw.")
    first = panels[0].curve
    notes = dict.fromkeys(note for panel in panels for note in panel.curve.notes)
    styles = styles_for(first.families)
    if first.axis == "reward":  # reward maps have no order, so points are not connected
        styles = {family: replace(style, dash="none") for family, style in styles.items()}
    with style_context():
        footnote = _footnote(first.seeds, (*_spacing_notes(first.axis), *notes))
        names = _level_names(first.axis, first.levels)
        figure, axes = _make_panels(len(panels), _title(panels), footnote, names)
        for panel, one in zip(panels, axes, strict=False):
            one.set_title(textwrap.fill(format_cell(panel.cell, _differing_axes(panels)), TITLE_CHARACTERS))
            for at, (family, regret) in enumerate(zip(panel.curve.families, panel.curve.regret, strict=True)):
                x = _x_positions(panel.curve.axis, panel.curve.levels, at, len(panel.curve.families))
                _draw_line(one, x, regret, styles[family])
            _set_ticks(one, panel.curve.axis, panel.curve.levels)
        _add_legend(figure, styles)
        return _finish(figure, axes, AXIS_LABELS[first.axis], "mean regret (outcome units)")


def dr_figure(content: DrCurve) -> bytes:
    """Errors of the models' values by both estimators along n_experiment, one panel per family."""
    title = f"{content.benchmark}: error (RMSE) of the models' values by n_experiment, direct and doubly robust (DR)"
    styles = styles_for(content.families)
    with style_context():
        names = _level_names("n_experiment", content.levels)
        footnote = _footnote(content.seeds, content.notes)
        figure, axes = _make_panels(len(content.families), title, footnote, names)
        for at, (family, one) in enumerate(zip(content.families, axes, strict=False)):
            colour = styles[family].colour
            one.set_title(family)
            for (_, marker, dash), rows in zip(ESTIMATORS, (content.direct, content.dr), strict=True):
                x = _x_positions("n_experiment", content.levels, 0, 1)
                _draw_line(one, x, rows[at], Style(colour, marker, dash))
            _set_ticks(one, "n_experiment", content.levels)
        _add_legend(figure, {name: Style(GREY, marker, dash) for name, marker, dash in ESTIMATORS})
        return _finish(figure, axes, AXIS_LABELS["n_experiment"], "RMSE (outcome units)")


def _title(panels: Sequence[CurvePanel]) -> str:
    first = panels[0].curve
    averaged = ", averaged over the levels of confounding" if first.cells > len(first.levels) else ""
    same = [axis for axis in panels[0].fixed if axis not in _differing_axes(panels)]
    shared = f" (all with {format_cell(panels[0].cell, same)})" if same else ""
    return f"{first.benchmark}: mean regret by {first.axis}{averaged}{shared}"


def _differing_axes(panels: Sequence[CurvePanel]) -> list[Axis]:
    """The axes that the panels' titles must name."""
    varying = varying_axes([panel.cell for panel in panels])
    return [axis for axis in panels[0].fixed if axis in varying]


def _make_panels(count: int, title: str, footnote: str, names: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Panels with a common scale and room for the level names; unused positions stay empty."""
    columns = _column_count(count)
    rows = math.ceil(count / columns)
    width = max(PANEL_WIDTH * columns, 5.0, MIN_LEVEL_SPACING * len(names) * columns)
    name_height = INCHES_PER_CHARACTER * max(map(len, names)) if _need_rotation(names) else 0
    figure = new_figure(Frame(LEGEND_WIDTH + width, 1.0 + (PANEL_HEIGHT + name_height) * rows, title, footnote))
    axes = list(figure.subplots(rows, columns, sharex=False, sharey=True, squeeze=False).flat)
    for one in axes[count:]:
        one.set_visible(False)
    return figure, axes[:count]


def _x_positions(axis: Axis, levels: Sequence[Level], index: int, count: int) -> list[float]:
    """Positions of one family's points: slightly beside the level, so that error bars do not overlap."""
    offset = FAMILY_OFFSET * (index / (count - 1) - 0.5) if count > 1 else 0.0
    if not _is_log_scale(axis, levels):
        return [position + 2 * offset for position in range(len(levels))]
    logs = [math.log(float(level)) for level in levels]
    step = min((b - a for a, b in pairwise(logs)), default=1.0)
    return [math.exp(value + offset * step) for value in logs]


def _is_log_scale(axis: Axis, levels: Sequence[Level]) -> bool:
    return axis in ("n_log", "n_experiment") and all(float(level) > 0 for level in levels)


def _set_ticks(axes: Axes, axis: Axis, levels: Sequence[Level]) -> None:
    names = _level_names(axis, levels)
    positions: Sequence[float] = range(len(levels))
    if _is_log_scale(axis, levels):
        axes.set_xscale("log")
        axes.minorticks_off()
        positions = [float(level) for level in levels]
    axes.set_xticks(positions, names, rotation=90 if _need_rotation(names) else 0)
    axes.grid(visible=axis == "reward", axis="x")


def _level_names(axis: Axis, levels: Sequence[Level]) -> list[str]:
    return [format_level(axis, level) for level in levels]


def _need_rotation(names: Sequence[str]) -> bool:
    return max(map(len, names)) * len(names) > MAX_TICK_CHARACTERS


def _draw_line(axes: Axes, x: Sequence[float], estimates: Sequence[Estimate], style: Style) -> None:
    axes.errorbar(
        x,
        [one.mean for one in estimates],
        yerr=[0.0 if math.isnan(one.standard_error) else one.standard_error for one in estimates],
        color=style.colour,
        marker=style.marker,
        linestyle=style.dash,
        markersize=5.5,
        linewidth=1.4,
        elinewidth=1.0,
        capsize=2.0,
    )


def _finish(figure: Figure, axes: Sequence[Axes], x: str, y: str) -> bytes:
    """Label the outer axes and render."""
    columns = _column_count(len(axes))
    for index, one in enumerate(axes):
        if index + columns >= len(axes):
            one.set_xlabel(x)
        if index % columns == 0:
            one.set_ylabel(y)
    if axes[0].get_ylim()[0] < 0:  # neither regret nor an RMSE can be negative
        axes[0].set_ylim(bottom=0)
    return to_svg(figure)


def _add_legend(figure: Figure, styles: Mapping[str, Style]) -> None:
    """One legend for all panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=one.colour, marker=one.marker, linestyle=one.dash) for one in styles.values()]
    figure.legend(lines, list(styles), loc="outside right center", handlelength=4)


def _column_count(count: int) -> int:
    return {1: 1, 2: 2, 4: 2}.get(count, 3 if count <= 9 else 4)


def _spacing_notes(axis: Axis) -> tuple[str, ...]:
    return (EVEN_SPACING_NOTES[axis],) if axis in EVEN_SPACING_NOTES else ()


def _footnote(seeds: int, notes: Sequence[str]) -> str:
    bars = f"Bars: standard error over {seeds} paired seeds." if seeds > 1 else "One seed, so no standard errors."
    return " ".join([bars, *notes])

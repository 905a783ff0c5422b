"""Lines along one axis of a benchmark, in panels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from deconfound.errors import UsageError
from deconfound.report.figures import INCHES_PER_CHARACTER, Frame, new_figure, style_context, to_svg
from deconfound_bench.pictures.style import Dash, Style, styles
from deconfound_bench.tables.budgets import Panel
from deconfound_bench.tables.estimate import Estimate
from deconfound_bench.tables.paired import Axis, Level, named, shown, varying
from deconfound_bench.tables.values import DrCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNITS = {
    "confounding": "confounding (strength, 0 = none)",
    "n_log": "n_log (rows)",
    "n_experiment": "n_experiment (rows)",
    "reward": "reward map",
}
EVEN = {"confounding": "Levels of confounding are spaced evenly."}
WIDE, HIGH, LEGEND = 3.4, 2.6, 2.6  # inches of a panel and of the legend beside the panels
STEP = 0.3  # inches between levels, at least
TITLE = 36  # characters of a panel's title that fit on a line
SPREAD = 0.12  # how far apart the first and the last family stand at one level, in steps between levels
ROOM = 36  # characters that fit side by side below a panel
GREY = "#444444"
WAYS: tuple[tuple[str, str, Dash], ...] = (("direct", "o", (0, (4, 2))), ("DR", "D", "-"))


def regret_picture(panels: Sequence[Panel]) -> bytes:
    """Draw mean regret along one axis, one panel a setting of the other budgets."""
    if not panels:
        raise UsageError("There is no curve to draw.")
    first = panels[0].curve
    notes = dict.fromkeys(note for panel in panels for note in panel.curve.notes)
    look = styles(first.families)
    if first.axis == "reward":  # reward maps have no order that a line could follow
        look = {family: replace(style, dash="none") for family, style in look.items()}
    with style_context():
        footnote = _note(first.seeds, (*_even(first.axis), *notes))
        figure, axes = _panels(len(panels), _title(panels), footnote, _names(first.axis, first.levels))
        for panel, one in zip(panels, axes, strict=False):
            one.set_title(textwrap.fill(named(panel.at, _differing(panels)), TITLE))
            for at, (family, regret) in enumerate(zip(panel.curve.families, panel.curve.regret, strict=True)):
                places = _places(panel.curve.axis, panel.curve.levels, at, len(panel.curve.families))
                _line(one, places, regret, look[family])
            _levels(one, panel.curve.axis, panel.curve.levels)
        _legend(figure, look)
        return _finished(figure, axes, UNITS[first.axis], "mean regret (outcome units)")


def dr_picture(content: DrCurve) -> bytes:
    """Draw both errors of the models' values along n_experiment, one panel a family."""
    title = f"{content.benchmark}: error (RMSE) of the models' values by n_experiment, direct and doubly robust (DR)"
    look = styles(content.families)
    with style_context():
        names = _names("n_experiment", content.levels)
        figure, axes = _panels(len(content.families), title, _note(content.seeds, content.notes), names)
        for at, (family, one) in enumerate(zip(content.families, axes, strict=False)):
            colour = look[family].colour
            one.set_title(family)
            for (_, marker, dash), rows in zip(WAYS, (content.direct, content.dr), strict=True):
                places = _places("n_experiment", content.levels, 0, 1)
                _line(one, places, rows[at], Style(colour, marker, dash))
            _levels(one, "n_experiment", content.levels)
        _legend(figure, {name: Style(GREY, marker, dash) for name, marker, dash in WAYS})
        return _finished(figure, axes, UNITS["n_experiment"], "RMSE (outcome units)")


def _title(panels: Sequence[Panel]) -> str:
    first = panels[0].curve
    over = ", averaged over the levels of confounding" if first.cells > len(first.levels) else ""
    same = [axis for axis in panels[0].fixed if axis not in _differing(panels)]
    at = f" (all at {named(panels[0].at, same)})" if same else ""
    return f"{first.benchmark}: mean regret by {first.axis}{over}{at}"


def _differing(panels: Sequence[Panel]) -> list[Axis]:
    """What the panels' titles must say."""
    moving = varying([panel.at for panel in panels])
    return [axis for axis in panels[0].fixed if axis in moving]


def _panels(count: int, title: str, footnote: str, names: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Panels with one scale, with room for the names of the levels; the places left over stay empty."""
    columns = _columns(count)
    rows = math.ceil(count / columns)
    width = max(WIDE * columns, 5.0, STEP * len(names) * columns)
    height = (HIGH + (INCHES_PER_CHARACTER * max(map(len, names)) if _tilted(names) else 0)) * rows
    figure = new_figure(Frame(LEGEND + width, 1.0 + height, title, footnote))
    axes = list(figure.subplots(rows, columns, sharex=False, sharey=True, squeeze=False).flat)
    for one in axes[count:]:
        one.set_visible(False)
    return figure, axes[:count]


def _places(axis: Axis, levels: Sequence[Level], at: int, of: int) -> list[float]:
    """Where one family's points stand: beside the level, so that error bars do not hide each other."""
    aside = SPREAD * (at / (of - 1) - 0.5) if of > 1 else 0.0
    if not _is_log(axis, levels):
        return [place + 2 * aside for place in range(len(levels))]
    numbers = [math.log(float(level)) for level in levels]
    step = min((b - a for a, b in pairwise(numbers)), default=1.0)
    return [math.exp(number + aside * step) for number in numbers]


def _is_log(axis: Axis, levels: Sequence[Level]) -> bool:
    return axis in ("n_log", "n_experiment") and all(float(level) > 0 for level in levels)


def _levels(axes: Axes, axis: Axis, levels: Sequence[Level]) -> None:
    names = _names(axis, levels)
    places: Sequence[float] = range(len(levels))
    if _is_log(axis, levels):
        axes.set_xscale("log")
        axes.minorticks_off()
        places = [float(level) for level in levels]
    axes.set_xticks(places, names, rotation=90 if _tilted(names) else 0)
    axes.grid(visible=axis == "reward", axis="x")


def _names(axis: Axis, levels: Sequence[Level]) -> list[str]:
    return [shown(axis, level) for level in levels]


def _tilted(names: Sequence[str]) -> bool:
    return max(map(len, names)) * len(names) > ROOM


def _line(axes: Axes, places: Sequence[float], row: Sequence[Estimate], style: Style) -> None:
    means = [one.mean for one in row]
    bars = [0.0 if math.isnan(one.error) else one.error for one in row]
    axes.errorbar(
        places,
        means,
        yerr=bars,
        color=style.colour,
        marker=style.marker,
        linestyle=style.dash,
        markersize=5.5,
        linewidth=1.4,
        elinewidth=1.0,
        capsize=2.0,
    )


def _finished(figure: Figure, axes: Sequence[Axes], x: str, y: str) -> bytes:
    """Name the axes at the rim and write."""
    columns = _columns(len(axes))
    for at, one in enumerate(axes):
        if at + columns >= len(axes):
            one.set_xlabel(x)
        if at % columns == 0:
            one.set_ylabel(y)
    if axes[0].get_ylim()[0] < 0:  # neither regret nor an RMSE can be
        axes[0].set_ylim(bottom=0)
    return to_svg(figure)


def _legend(figure: Figure, look: Mapping[str, Style]) -> None:
    """One legend for all panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=one.colour, marker=one.marker, linestyle=one.dash) for one in look.values()]
    figure.legend(lines, list(look), loc="outside right center", handlelength=4)


def _columns(count: int) -> int:
    return {1: 1, 2: 2, 4: 2}.get(count, 3 if count <= 9 else 4)


def _even(axis: Axis) -> tuple[str, ...]:
    return (EVEN[axis],) if axis in EVEN else ()


def _note(seeds: int, notes: Sequence[str]) -> str:
    bars = f"Bars: standard error over {seeds} paired seeds." if seeds > 1 else "One seed, so no errors."
    return " ".join([bars, *notes])

"""Figures of the coding benchmark over the weights of its reward: regret curves and maps of differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.errors import UsageError
from deconfound.report.figures import Frame, new_figure, style_context, to_svg
from deconfound_bench.figures import Style, styles_for, text_colour
from deconfound_bench.results import Score
from deconfound_bench.score_tables import winner_map, winner_rows, write_file, write_table
from deconfound_bench.tasks.coding.weight_tables import (
    LOG_BASED,
    CrossoverCurve,
    PairedDifference,
    PairedDifferences,
    coding_winners_table,
    crossover_curves,
    crossover_table,
    differences_rows,
    differences_table,
    differences_title,
    grounded_vs_log,
    representation_vs_log,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

LOWER_RGB, HIGHER_RGB, WHITE_RGB = (0, 114, 178), (213, 94, 0), (255, 255, 255)
PANEL_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 2.6, 2.8, 2.4  # inches
TILE_WIDTH, TILE_HEIGHT = 1.6, 0.85  # inches
FAMILY_OFFSET = 0.012  # between two families at one weight, so that their error bars do not overlap

COMPARISONS: dict[str, tuple[tuple[str, ...], Callable[[Sequence[Score]], PairedDifferences]]] = {
    "coding-against-log": (("representation-exp", *LOG_BASED), representation_vs_log),
    "coding-grounded": (("grounded", "obs-only"), grounded_vs_log),
}
"""File name of each comparison, the families it needs, and the function that computes it."""


def write_coding_outputs(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write tables and figures over both weights; comparisons of families that were not run are omitted."""
    families, winners, curves = {score.family for score in scores}, winner_map(scores), crossover_curves(scores)
    paths = write_table(directory, "coding-winners", coding_winners_table(winners), winner_rows(winners))
    paths += write_table(directory, "coding-crossover", crossover_table(winners.benchmark, winners.seeds, curves))
    figure = crossover_figure(winners.benchmark, winners.seeds, curves)
    paths.append(write_file(directory, "coding-crossover.svg", figure))
    for name, (needed, compare) in COMPARISONS.items():
        if families.issuperset(needed):
            content = compare(scores)
            paths += write_table(directory, name, differences_table(content), differences_rows(content))
            paths.append(write_file(directory, f"{name}.svg", differences_figure(content)))
    return tuple(paths)


def crossover_figure(benchmark: str, seeds: int, curves: Sequence[CrossoverCurve]) -> bytes:
    """Mean regret by the weight of fix success, one panel per weight of the weakest component."""
    if not curves:
        raise UsageError("There is no curve to draw.")
    title = f"{benchmark}: mean regret by the weight of fix success, one panel per weight of the weakest component"
    footnote = f"Bars: standard error over {seeds} paired seeds." if seeds > 1 else "One seed, so no standard errors."
    styles = styles_for(curves[0].families)
    with style_context():
        frame = Frame(LEGEND_WIDTH + PANEL_WIDTH * len(curves), 1.0 + PANEL_HEIGHT, title, footnote)
        figure = new_figure(frame)
        axes = list(figure.subplots(1, len(curves), sharey=True, squeeze=False).flat)
        for one, curve in zip(axes, curves, strict=True):
            _draw_panel(one, curve, styles)
        axes[0].set_ylabel("mean regret (outcome units)")
        axes[0].set_ylim(bottom=max(0.0, axes[0].get_ylim()[0]))
        figure.legend(_legend_lines(styles), list(styles), loc="outside right center", handlelength=4)
        return to_svg(figure)


def differences_figure(content: PairedDifferences) -> bytes:
    """Colour each pair of weights by the difference; hatched where it does not exceed two standard errors.

    Blue is a lower regret of the family, orange a higher one; a frame marks where it is clearly lower.
    """
    fixes = sorted({difference.reward.fix_weight for difference in content.differences})
    weakest = sorted({difference.reward.weakest_weight for difference in content.differences})
    largest = max((abs(difference.estimate.mean) for difference in content.differences), default=0.0) or 1.0
    note = (
        f"{content.seeds} paired seeds. Blue: {content.family} has less regret, orange: more. Hatched: the difference "
        "does not exceed two standard errors. Framed: it does, and is blue."
    )
    with style_context():
        size = (1.6 + TILE_WIDTH * len(weakest), 1.6 + TILE_HEIGHT * len(fixes))
        figure = new_figure(Frame(*size, differences_title(content), " ".join([note, *content.notes])))
        axes = figure.add_subplot()
        for difference in content.differences:
            reward = difference.reward
            position = (weakest.index(reward.weakest_weight), fixes.index(reward.fix_weight))
            _draw_tile(axes, position, difference, largest)
        _axis_labels(axes, [f"{fix:g}" for fix in fixes], [f"{weight:g}" for weight in weakest])
        return to_svg(figure)


def _draw_panel(axes: Axes, curve: CrossoverCurve, styles: dict[str, Style]) -> None:
    for at, (family, regret) in enumerate(zip(curve.families, curve.regret, strict=True)):
        offset = FAMILY_OFFSET * (at - (len(curve.families) - 1) / 2)
        style = styles[family]
        axes.errorbar(
            [fix + offset for fix in curve.fix_weights],
            [one.mean for one in regret],
            yerr=[0.0 if math.isnan(one.standard_error) else one.standard_error for one in regret],
            color=style.colour,
            marker=style.marker,
            linestyle=style.dash,
            markersize=5.0,
            linewidth=1.4,
            elinewidth=1.0,
            capsize=2.0,
        )
    axes.set_title(f"weakest component {curve.weakest_weight:g}")
    axes.set_xticks(curve.fix_weights, [f"{fix:g}" for fix in curve.fix_weights])
    axes.set_xlabel("weight of fix success")
    axes.grid(visible=False, axis="x")


def _legend_lines(styles: dict[str, Style]) -> list[Artist]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=one.colour, marker=one.marker, linestyle=one.dash) for one in styles.values()]


def _draw_tile(axes: Axes, position: tuple[int, int], difference: PairedDifference, largest: float) -> None:
    from matplotlib.patches import Rectangle

    column, row = position
    estimate = difference.estimate
    fill = _diverging_colour(estimate.mean / largest)
    framed = estimate.exceeds_two_se and estimate.mean < 0
    axes.add_patch(
        Rectangle(
            (column - 0.47, row - 0.45),
            0.94,
            0.9,
            facecolor=fill,
            edgecolor="#000000" if framed else "#b0b0b0",
            linewidth=2.0 if framed else 0.0,
            hatch=None if estimate.exceeds_two_se else "//",
        )
    )
    text = f"{'+' if estimate.mean > 0 else ''}{estimate.format()}"
    colour = text_colour(fill)
    axes.text(column, row - 0.14, text, ha="center", va="center", fontsize=9, color=colour)
    reference = f"against {difference.reference}"
    axes.text(column, row + 0.18, reference, ha="center", va="center", fontsize=8, color=colour)


def _axis_labels(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel("weight of the weakest component")
    axes.set_ylabel("weight of fix success")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _diverging_colour(share: float) -> str:
    """White at 0, blue at -1, orange at 1."""
    full = LOWER_RGB if share < 0 else HIGHER_RGB
    parts = (white + (colour - white) * abs(share) for white, colour in zip(WHITE_RGB, full, strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in parts)

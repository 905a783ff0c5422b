"""Pictures over the weights of the coding reward: regret along fix success, and differences as a map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.errors import UsageError
from deconfound.report.figures import Frame, new_figure, style_context, to_svg
from deconfound_bench.coding.tables import (
    LOG_BASED,
    Crossover,
    Gap,
    Gaps,
    against_log,
    crossover_table,
    crossovers,
    gaps_rows,
    gaps_table,
    gaps_title,
    grounded_against_log,
    winners_table,
)
from deconfound_bench.pictures.style import Style, ink, styles
from deconfound_bench.results import Score
from deconfound_bench.tables import Table, to_csv, to_markdown, to_text, winner_map, winner_rows
from deconfound_bench.tables.write import write_file

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

LOWER, HIGHER, WHITE = (0, 114, 178), (213, 94, 0), (255, 255, 255)
WIDE, HIGH, LEGEND = 2.6, 2.8, 2.4  # inches of a panel and of the legend
TILE = (1.6, 0.85)  # inches of a tile of the map
SPREAD = 0.012  # how far apart two families stand at one weight, so that their bars do not hide each other


COMPARISONS: dict[str, tuple[tuple[str, ...], Callable[[Sequence[Score]], Gaps]]] = {
    "coding-against-log": (("representation-exp", *LOG_BASED), against_log),
    "coding-grounded": (("grounded", "obs-only"), grounded_against_log),
}
"""Files of the pairwise differences, the families they need, and what makes them."""


def write_coding(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write the tables over both weights as .txt, .md and .csv, and the pictures of them as .svg.

    A comparison of families that were not run is left out.
    """
    families, winners, curves = {one.family for one in scores}, winner_map(scores), crossovers(scores)
    table = crossover_table(winners.benchmark, winners.seeds, curves)
    written = _write(directory, "coding-winners", winners_table(winners), winner_rows(winners))
    written += _write(directory, "coding-crossover", table, table)
    picture = crossover_picture(winners.benchmark, winners.seeds, curves)
    written.append(write_file(directory, "coding-crossover.svg", picture))
    for name, (needed, compare) in COMPARISONS.items():
        if families.issuperset(needed):
            gaps = compare(scores)
            written += _write(directory, name, gaps_table(gaps), gaps_rows(gaps))
            written.append(write_file(directory, f"{name}.svg", gaps_picture(gaps)))
    return tuple(written)


def crossover_picture(benchmark: str, seeds: int, content: Sequence[Crossover]) -> bytes:
    """Draw mean regret along the weight of fix success, one panel a weight of the weakest link."""
    if not content:
        raise UsageError("There is no curve to draw.")
    title = f"{benchmark}: mean regret by the weight of fix success, one panel a weight of the weakest link"
    footnote = f"Bars: standard error over {seeds} paired seeds." if seeds > 1 else "One seed, so no errors."
    look = styles(content[0].families)
    with style_context():
        figure = new_figure(Frame(LEGEND + WIDE * len(content), 1.0 + HIGH, title, footnote))
        axes = list(figure.subplots(1, len(content), sharey=True, squeeze=False).flat)
        for one, panel in zip(axes, content, strict=True):
            _panel(one, panel, look)
        axes[0].set_ylabel("mean regret (outcome units)")
        axes[0].set_ylim(bottom=max(0.0, axes[0].get_ylim()[0]))
        lines = _lines(look)
        figure.legend(lines, list(look), loc="outside right center", handlelength=4)
        return to_svg(figure)


def gaps_picture(content: Gaps) -> bytes:
    """Colour each pair of weights by the difference, hatch it where it is not above two errors.

    Blue is lower and so better for the family on the left; a frame marks where it is clearly lower.
    """
    fixes = sorted({gap.reward.fix for gap in content.gaps})
    across = sorted({gap.reward.weakest for gap in content.gaps})
    largest = max((abs(gap.difference.mean) for gap in content.gaps), default=0.0) or 1.0
    note = (
        f"{content.seeds} paired seeds. Blue: {content.left} has less regret, orange: more. Hatched: the difference is "
        "not above two errors. Framed: it is, and blue."
    )
    with style_context():
        size = (1.6 + TILE[0] * len(across), 1.6 + TILE[1] * len(fixes))
        figure = new_figure(Frame(*size, gaps_title(content), " ".join([note, *content.notes])))
        axes = figure.add_subplot()
        for gap in content.gaps:
            _tile(axes, (across.index(gap.reward.weakest), fixes.index(gap.reward.fix)), gap, largest)
        _rim(axes, [f"{fix:g}" for fix in fixes], [f"{weakest:g}" for weakest in across])
        return to_svg(figure)


def _panel(axes: Axes, panel: Crossover, look: dict[str, Style]) -> None:
    for at, (family, regret) in enumerate(zip(panel.families, panel.regret, strict=True)):
        aside = SPREAD * (at - (len(panel.families) - 1) / 2)
        style = look[family]
        axes.errorbar(
            [fix + aside for fix in panel.fixes],
            [one.mean for one in regret],
            yerr=[0.0 if math.isnan(one.error) else one.error for one in regret],
            color=style.colour,
            marker=style.marker,
            linestyle=style.dash,
            markersize=5.0,
            linewidth=1.4,
            elinewidth=1.0,
            capsize=2.0,
        )
    axes.set_title(f"weakest link {panel.weakest:g}")
    axes.set_xticks(panel.fixes, [f"{fix:g}" for fix in panel.fixes])
    axes.set_xlabel("weight of fix success")
    axes.grid(visible=False, axis="x")


def _lines(look: dict[str, Style]) -> list[Artist]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=one.colour, marker=one.marker, linestyle=one.dash) for one in look.values()]


def _tile(axes: Axes, at: tuple[int, int], gap: Gap, largest: float) -> None:
    from matplotlib.patches import Rectangle

    column, row = at
    found = gap.difference
    fill = _colour(found.mean / largest)
    framed = found.clear and found.mean < 0
    axes.add_patch(
        Rectangle(
            (column - 0.47, row - 0.45),
            0.94,
            0.9,
            facecolor=fill,
            edgecolor="#000000" if framed else "#b0b0b0",
            linewidth=2.0 if framed else 0.0,
            hatch=None if found.clear else "//",
        )
    )
    sign = "+" if found.mean > 0 else ""
    axes.text(column, row - 0.14, f"{sign}{found.shown()}", ha="center", va="center", fontsize=9, color=ink(fill))
    axes.text(column, row + 0.18, f"against {gap.rival}", ha="center", va="center", fontsize=8, color=ink(fill))


def _rim(axes: Axes, down: Sequence[str], across: Sequence[str]) -> None:
    axes.set_xlim(-0.5, len(across) - 0.5)
    axes.set_ylim(len(down) - 0.5, -0.5)
    axes.set_xticks(range(len(across)), across)
    axes.set_yticks(range(len(down)), down)
    axes.set_xlabel("weight of the weakest link")
    axes.set_ylabel("weight of fix success")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def _colour(share: float) -> str:
    """White at 0, the one colour at -1 and the other at 1."""
    full = LOWER if share < 0 else HIGHER
    parts = (white + (colour - white) * abs(share) for white, colour in zip(WHITE, full, strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def _write(directory: Path, name: str, read: Table, compute: Table) -> list[Path]:
    texts = {".txt": to_text(read), ".md": to_markdown(read), ".csv": to_csv(compute)}
    return [write_file(directory, name + ending, text.encode()) for ending, text in texts.items()]

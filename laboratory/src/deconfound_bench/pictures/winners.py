"""The winner of every cell as a coloured map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deconfound.formatting import escape_control_characters
from deconfound.report.figures import Frame, new_figure, style_context, to_svg
from deconfound_bench.pictures.style import Style, ink, pale, styles
from deconfound_bench.results import Cell
from deconfound_bench.tables.layout import BUDGETS, fixed_part
from deconfound_bench.tables.paired import levels, named, shown, varying
from deconfound_bench.tables.winners import Win, WinnerMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE, HIGH = 1.75, 0.95  # inches a tile
LONGEST = 8  # rows of a single column before the tiles are set side by side


@dataclass(frozen=True, slots=True)
class _Tile:
    """One cell of the map and where it stands."""

    row: int
    column: int
    win: Win
    label: str = ""  # stands in the tile where the axes cannot say it


@dataclass(frozen=True, slots=True)
class _Map:
    """Tiles and the words along the axes."""

    tiles: tuple[_Tile, ...]
    down: tuple[str, ...]
    across: tuple[str, ...]


def winner_picture(content: WinnerMap) -> bytes:
    """Colour each cell by its winner, pale and hatched where the gap to the runner-up is not above two errors.

    Budgets go down and confounding across. Where only one column would be left, its cells are set side by side in
    reading order, each with its name.
    """
    drawn = _wrapped(content.wins) if _is_long(content.wins) else _gridded(content.wins)
    fixed = fixed_part([win.cell for win in content.wins])
    title = f"{content.benchmark}: family with the lowest mean regret; gap to the runner-up ± its error{fixed}"
    note = f"{content.seeds} paired seeds. Pale and hatched: the gap is not above two errors."
    size = (1.9 + WIDE * len(drawn.across), 1.5 + HIGH * len(drawn.down))
    look = styles(sorted({win.winner for win in content.wins}))
    with style_context():
        figure = new_figure(Frame(*size, title, " ".join([note, *content.notes])))
        axes = figure.add_subplot()
        for tile in drawn.tiles:
            _draw(axes, tile, look[tile.win.winner])
        _frame(axes, drawn)
        return to_svg(figure)


def _is_long(wins: Sequence[Win]) -> bool:
    return len(levels([win.cell for win in wins], "confounding")) == 1 and len(wins) > LONGEST


def _gridded(wins: Sequence[Win]) -> _Map:
    cells = [win.cell for win in wins]
    across = levels(cells, "confounding")
    budgets = sorted({_budget(cell) for cell in cells})
    tiles = tuple(_Tile(budgets.index(_budget(w.cell)), across.index(w.cell.confounding), w) for w in wins)
    axes = [axis for axis in BUDGETS if axis in varying(cells)] or list(BUDGETS[:2])
    named_rows = {_budget(cell): named(cell, axes).replace(", ", "\n") for cell in cells}
    return _Map(tiles, tuple(named_rows[b] for b in budgets), tuple(shown("confounding", level) for level in across))


def _wrapped(wins: Sequence[Win]) -> _Map:
    columns = math.isqrt(len(wins) - 1) + 1
    axes = varying([win.cell for win in wins])
    tiles = tuple(
        _Tile(at // columns, at % columns, win, ", ".join(shown(axis, getattr(win.cell, axis)) for axis in axes))
        for at, win in enumerate(wins)
    )
    return _Map(tiles, ("",) * math.ceil(len(wins) / columns), ("",) * columns)


def _budget(cell: Cell) -> tuple[int, int, str]:
    return cell.n_log, cell.n_experiment, cell.reward


def _draw(axes: Axes, tile: _Tile, style: Style) -> None:
    from matplotlib.patches import Rectangle

    clear = tile.win.gap.clear
    fill = style.colour if clear else pale(style.colour)
    corner = (tile.column - 0.48, tile.row - 0.46)
    edge = "none" if clear else "#ffffff"
    axes.add_patch(Rectangle(corner, 0.96, 0.92, facecolor=fill, edgecolor=edge, hatch=None if clear else "//"))
    lines = [tile.label] * bool(tile.label) + [tile.win.winner, tile.win.gap.shown(), f"over {tile.win.runner_up}"]
    for at, line in enumerate(lines):
        weight = "bold" if line is tile.win.winner else "normal"
        height = tile.row + (at - (len(lines) - 1) / 2) * (0.26 if len(lines) == 3 else 0.22)
        text = escape_control_characters(line)
        size = min(9.5, 9.0 * 22 / max(len(text), 1))
        axes.text(tile.column, height, text, ha="center", va="center", fontsize=size, weight=weight, color=ink(fill))


def _frame(axes: Axes, drawn: _Map) -> None:
    axes.set_xlim(-0.5, len(drawn.across) - 0.5)
    axes.set_ylim(len(drawn.down) - 0.5, -0.5)
    axes.set_xticks(range(len(drawn.across)), drawn.across)
    axes.set_yticks(range(len(drawn.down)), drawn.down)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    if any(drawn.across):
        axes.set_xlabel("confounding (strength, 0 = none)")

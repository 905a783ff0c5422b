"""The winner of every cell as a coloured map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deconfound.escaping import escape_line
from deconfound.report.figures import Frame, new_figure, style_context, to_svg
from deconfound_bench.figures.style import Style, lighten, styles_for, text_colour
from deconfound_bench.results import Cell
from deconfound_bench.score_tables import (
    BUDGET_AXES,
    Win,
    WinnerMap,
    axis_levels,
    format_cell,
    format_level,
    shared_coordinates,
    varying_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TILE_WIDTH, TILE_HEIGHT = 1.75, 0.95  # inches
MAX_COLUMN_TILES = 8  # a longer single column is wrapped into a rectangle


@dataclass(frozen=True, slots=True)
class _Tile:
    """One cell of the map and its position."""

    row: int
    column: int
    win: Win
    label: str = ""  # the cell's name, where the axes do not show it


@dataclass(frozen=True, slots=True)
class _TileMap:
    """Tiles and the names of rows and columns."""

    tiles: tuple[_Tile, ...]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]


def winner_figure(content: WinnerMap) -> bytes:
    """Colour each cell by its winner; light and hatched where the gap does not exceed two standard errors.

    Budgets are rows and confounding is columns. A long single column is wrapped into a rectangle in reading order,
    with the name of each cell in its tile.
    """
    tile_map = _wrapped_map(content.wins) if _is_long_column(content.wins) else _two_way_map(content.wins)
    shared = shared_coordinates([win.cell for win in content.wins])
    title = f"{content.benchmark}: family with the lowest mean regret; gap to the runner-up ± standard error{shared}"
    note = f"{content.seeds} paired seeds. Light and hatched: the gap does not exceed two standard errors."
    size = (1.9 + TILE_WIDTH * len(tile_map.column_names), 1.5 + TILE_HEIGHT * len(tile_map.row_names))
    styles = styles_for(sorted({win.winner for win in content.wins}))
    with style_context():
        figure = new_figure(Frame(*size, title, " ".join([note, *content.notes])))
        axes = figure.add_subplot()
        for tile in tile_map.tiles:
            _draw_tile(axes, tile, styles[tile.win.winner])
        _axis_labels(axes, tile_map)
        return to_svg(figure)


def _is_long_column(wins: Sequence[Win]) -> bool:
    return len(axis_levels([win.cell for win in wins], "confounding")) == 1 and len(wins) > MAX_COLUMN_TILES


def _two_way_map(wins: Sequence[Win]) -> _TileMap:
    cells = [win.cell for win in wins]
    columns = axis_levels(cells, "confounding")
    rows = sorted({_budget(cell) for cell in cells})
    tiles = tuple(_Tile(rows.index(_budget(w.cell)), columns.index(w.cell.confounding), w) for w in wins)
    axes = [axis for axis in BUDGET_AXES if axis in varying_axes(cells)] or list(BUDGET_AXES[:2])
    names = {_budget(cell): format_cell(cell, axes).replace(", ", "\n") for cell in cells}
    column_names = tuple(format_level("confounding", level) for level in columns)
    return _TileMap(tiles, tuple(names[row] for row in rows), column_names)


def _wrapped_map(wins: Sequence[Win]) -> _TileMap:
    columns = math.isqrt(len(wins) - 1) + 1
    axes = varying_axes([win.cell for win in wins])
    tiles = tuple(
        _Tile(at // columns, at % columns, win, ", ".join(format_level(axis, getattr(win.cell, axis)) for axis in axes))
        for at, win in enumerate(wins)
    )
    return _TileMap(tiles, ("",) * math.ceil(len(wins) / columns), ("",) * columns)


def _budget(cell: Cell) -> tuple[int, int, str]:
    return cell.n_log, cell.n_experiment, cell.reward


def _draw_tile(axes: Axes, tile: _Tile, style: Style) -> None:
    from matplotlib.patches import Rectangle

    clear = tile.win.gap.exceeds_two_se
    fill = style.colour if clear else lighten(style.colour)
    corner = (tile.column - 0.48, tile.row - 0.46)
    edge = "none" if clear else "#ffffff"
    axes.add_patch(Rectangle(corner, 0.96, 0.92, facecolor=fill, edgecolor=edge, hatch=None if clear else "//"))
    lines = [tile.label] * bool(tile.label) + [tile.win.winner, tile.win.gap.format(), f"over {tile.win.runner_up}"]
    for at, line in enumerate(lines):
        weight = "bold" if line is tile.win.winner else "normal"
        y = tile.row + (at - (len(lines) - 1) / 2) * (0.26 if len(lines) == 3 else 0.22)
        text = escape_line(line)
        size = min(9.5, 9.0 * 22 / max(len(text), 1))
        colour = text_colour(fill)
        axes.text(tile.column, y, text, ha="center", va="center", fontsize=size, weight=weight, color=colour)


def _axis_labels(axes: Axes, tile_map: _TileMap) -> None:
    axes.set_xlim(-0.5, len(tile_map.column_names) - 0.5)
    axes.set_ylim(len(tile_map.row_names) - 0.5, -0.5)
    axes.set_xticks(range(len(tile_map.column_names)), tile_map.column_names)
    axes.set_yticks(range(len(tile_map.row_names)), tile_map.row_names)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if any(tile_map.column_names):
        axes.set_xlabel("confounding (strength, 0 = none)")

"""Lay the contents out as tables: a grid to look at where there is one, and plain rows to compute with."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound.formatting import pluralize
from deconfound_bench.results import Cell
from deconfound_bench.tables.budgets import Curve
from deconfound_bench.tables.overall import Overall
from deconfound_bench.tables.paired import AXES, Axis, Level, levels, named, shown, varying
from deconfound_bench.tables.table import Entry, Table
from deconfound_bench.tables.values import DirectAgainstDr, DrCurve, Ranking
from deconfound_bench.tables.winners import Differences, Win, WinnerMap

BUDGETS: tuple[Axis, ...] = ("n_log", "n_experiment", "reward")


def winner_grid(content: WinnerMap) -> Table:
    """Budgets down, confounding across; three lines a budget: winner, gap, runner-up."""
    cells = [win.cell for win in content.wins]
    down = tuple(axis for axis in BUDGETS if axis in varying(cells)) or BUDGETS[:2]
    across = levels(cells, "confounding")
    rows: list[tuple[Entry, ...]] = []
    for at in sorted({_at(cell, BUDGETS) for cell in cells}):
        here: dict[Level, Win] = {win.cell.confounding: win for win in content.wins if _at(win.cell, BUDGETS) == at}
        some = next(iter(here.values())).cell
        wins = [here.get(level) for level in across]
        rows += [
            (*(shown(axis, getattr(some, axis)) for axis in down), *(_name(win) for win in wins)),
            (*[""] * len(down), *(win.gap.shown() if win else "" for win in wins)),
            (*[""] * len(down), *(f"over {win.runner_up}" if win else "" for win in wins)),
        ]
    columns = (*down, *(f"confounding {shown('confounding', level)}" for level in across))
    fixed = fixed_part(cells)
    title = f"{content.benchmark}: family with the lowest mean regret, and its gap to the runner-up{fixed}"
    note = (
        f"{_means(content.seeds)} A question mark: the gap is not above two errors. "
        "Winner and runner-up were picked on the seeds that measure the gap, so gaps lean away from zero."
    )
    return Table(title, columns, tuple(rows), _note(note, content.notes))


def winner_rows(content: WinnerMap) -> Table:
    """One row a cell."""
    columns = (*AXES, "winner", "regret", "gap", "runner_up")
    rows = tuple((*_at(win.cell, AXES), win.winner, win.regret, win.gap, win.runner_up) for win in content.wins)
    title = f"{content.benchmark}: family with the lowest mean regret in each cell"
    return Table(title, columns, rows, _note(_means(content.seeds), content.notes))


def overall_table(content: Overall) -> Table:
    """One row a family, the best average rank first."""
    columns = ("family", "wins", "average rank", "in best three", "excess (%)", "macro regret")
    rows = tuple((one.family, one.wins, one.rank, one.top3, one.excess, one.regret) for one in content.standings)
    note = (
        f"{_means(content.seeds)} Rank: of the mean regret among the families of a cell, 1 is best. Excess: over the "
        "lowest mean regret of the cell. Errors of rank and excess by a bootstrap of whole seeds."
    )
    title = f"{content.benchmark}: regret over {pluralize(content.cells, 'cell')}"
    return Table(title, columns, rows, _note(note, content.notes))


def curve_grid(content: Curve) -> Table:
    """Families down, levels across."""
    columns = ("family", *(f"{content.axis} {shown(content.axis, level)}" for level in content.levels))
    rows: list[tuple[Entry, ...]] = [
        (family, *row) for family, row in zip(content.families, content.regret, strict=True)
    ]
    return Table(_curve_title(content), columns, tuple(rows), _note(_means(content.seeds), content.notes))


def curve_rows(content: Curve) -> Table:
    """One row a level and family."""
    rows = tuple(
        (level, family, content.regret[i][j])
        for j, level in enumerate(content.levels)
        for i, family in enumerate(content.families)
    )
    columns = (content.axis, "family", "regret")
    return Table(_curve_title(content), columns, rows, _note(_means(content.seeds), content.notes))


def values_table(content: DirectAgainstDr) -> Table:
    """One row a family."""
    columns = ("family", "direct", "DR", "DR - direct", f"DR better (of {content.cells} cells)")
    rows = tuple((one.family, one.direct, one.dr, one.difference, one.dr_better) for one in content.rows)
    title = f"{content.benchmark}: error (RMSE) of the models' values, direct and doubly robust (DR)"
    return Table(title, columns, rows, _note(_means(content.seeds), content.notes))


def dr_curve_table(content: DrCurve) -> Table:
    """One row a size of the experiment and family."""
    rows = tuple(
        (level, family, content.direct[i][j], content.dr[i][j], content.difference[i][j])
        for j, level in enumerate(content.levels)
        for i, family in enumerate(content.families)
    )
    title = f"{content.benchmark}: error (RMSE) of the models' values by n_experiment, direct and doubly robust (DR)"
    columns = ("n_experiment", "family", "direct", "DR", "DR - direct")
    return Table(title, columns, rows, _note(_means(content.seeds), content.notes))


def ranking_table(content: Ranking) -> Table:
    """One row a family."""
    columns = ("family", "top1", "top3", "rmse_context")
    rows = tuple((one.family, one.top1, one.top3, one.rmse_context) for one in content.rows)
    note = (
        f"{_means(content.seeds)} top1, top3: share of the truly best one or three models that are estimated to be. "
        "rmse_context: over single contexts and models."
    )
    title = f"{content.benchmark}: order of the models over {pluralize(content.cells, 'cell')}"
    return Table(title, columns, rows, _note(note, content.notes))


def differences_table(content: Differences) -> Table:
    """One row a cell; the average over the cells stands in the note."""
    columns = (*AXES, f"{content.left} minus {content.right}", f"{content.left} is")
    rows = tuple((*_at(one.cell, AXES), one.difference, one.verdict) for one in content.cells)
    note = (
        f"{_means(content.seeds)} Average over the cells: {content.average.shown()}. Found means above two errors, "
        "which about one cell in twenty passes by chance alone."
    )
    title = f"{content.benchmark}: mean regret of {content.left} minus that of {content.right}"
    return Table(title, columns, rows, _note(note, content.notes))


def fixed_part(cells: Sequence[Cell]) -> str:
    """What all cells share, as the end of a title."""
    fixed = [axis for axis in AXES if axis not in varying(cells) and getattr(cells[0], axis) != ""]
    return f" (all at {named(cells[0], fixed)})" if fixed else ""


def _at(cell: Cell, axes: Sequence[Axis]) -> tuple[Entry, ...]:
    return tuple(getattr(cell, axis) for axis in axes)


def _name(win: Win | None) -> str:
    if win is None:
        return "–"
    return win.winner if win.gap.clear else f"{win.winner}?"


def _curve_title(content: Curve) -> str:
    return f"{content.benchmark}: mean regret by {content.axis}, over {pluralize(content.cells, 'cell')}"


def _means(seeds: int) -> str:
    if seeds == 1:
        return "One seed, so no errors."
    return f"Mean ± standard error over {seeds} paired seeds."


def _note(text: str, notes: Sequence[str]) -> str:
    return " ".join([text, *notes])

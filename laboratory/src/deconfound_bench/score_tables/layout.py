"""Arrange results as tables: a two-way layout for reading where there is one, and plain rows for computing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deconfound.formatting import pluralize
from deconfound_bench.results import Cell, Score
from deconfound_bench.score_tables.curves import RegretCurve, regret_by_axis
from deconfound_bench.score_tables.score_cube import (
    AXES,
    Axis,
    Estimate,
    Level,
    axis_levels,
    format_cell,
    format_level,
    varying_axes,
)
from deconfound_bench.score_tables.standings import (
    OverallStandings,
    Win,
    WinnerMap,
    excess_over_best,
    overall_standings,
    winner_map,
)
from deconfound_bench.score_tables.table import Entry, Table, write_table
from deconfound_bench.score_tables.value_errors import (
    RANKING_METRICS,
    VALUE_METRICS,
    DirectVsDr,
    DrCurve,
    RankingSummary,
    direct_vs_dr,
    dr_curve,
    ranking_summary,
)

BUDGET_AXES: tuple[Axis, ...] = ("n_log", "n_experiment", "reward")


def winner_grid(content: WinnerMap) -> Table:
    """Budgets in rows, confounding in columns; three lines per budget: winner, gap, runner-up."""
    cells = [win.cell for win in content.wins]
    row_axes = tuple(axis for axis in BUDGET_AXES if axis in varying_axes(cells)) or BUDGET_AXES[:2]
    confoundings = axis_levels(cells, "confounding")
    rows: list[tuple[Entry, ...]] = []
    for budget in sorted({_coordinates(cell, BUDGET_AXES) for cell in cells}):
        by_confounding: dict[Level, Win] = {
            win.cell.confounding: win for win in content.wins if _coordinates(win.cell, BUDGET_AXES) == budget
        }
        cell = next(iter(by_confounding.values())).cell
        wins = [by_confounding.get(level) for level in confoundings]
        rows += [
            (*(format_level(axis, getattr(cell, axis)) for axis in row_axes), *(_format_winner(win) for win in wins)),
            (*[""] * len(row_axes), *(win.gap.format() if win else "" for win in wins)),
            (*[""] * len(row_axes), *(f"over {win.runner_up}" if win else "" for win in wins)),
        ]
    columns = (*row_axes, *(f"confounding {format_level('confounding', level)}" for level in confoundings))
    shared = shared_coordinates(cells)
    title = f"{content.benchmark}: family with the lowest mean regret, and its gap to the runner-up{shared}"
    note = (
        f"{_seeds_note(content.seeds)} A question mark: the gap does not exceed two standard errors. Winner and "
        "runner-up are chosen on the seeds that measure the gap, so gaps are biased away from zero."
    )
    return Table(title, columns, tuple(rows), _join_notes(note, content.notes))


def winner_rows(content: WinnerMap) -> Table:
    """One row per cell."""
    columns = (*AXES, "winner", "regret", "gap", "runner_up")
    rows = tuple(
        (*_coordinates(win.cell, AXES), win.winner, win.regret, win.gap, win.runner_up) for win in content.wins
    )
    title = f"{content.benchmark}: family with the lowest mean regret in each cell"
    return Table(title, columns, rows, _join_notes(_seeds_note(content.seeds), content.notes))


def standings_table(content: OverallStandings) -> Table:
    """One row per family, sorted by average rank."""
    columns = ("family", "wins", "average rank", "in best three", "excess (%)", "mean regret")
    rows = tuple((one.family, one.wins, one.rank, one.top3, one.excess, one.regret) for one in content.standings)
    note = (
        f"{_seeds_note(content.seeds)} Rank: of the mean regret among the families of a cell, 1 is best. Excess: over "
        "the lowest mean regret of the cell. Standard errors of rank and excess: bootstrap over seeds."
    )
    title = f"{content.benchmark}: regret over {pluralize(content.cells, 'cell')}"
    return Table(title, columns, rows, _join_notes(note, content.notes))


def excess_table(benchmarks: Sequence[Sequence[Score]]) -> Table:
    """One row per family and one column per benchmark, then mean and worst; sorted by mean."""
    excesses = [excess_over_best(scores) for scores in benchmarks]
    names = tuple(scores[0].benchmark for scores in benchmarks)
    families = [family for family in excesses[0] if all(family in excess for excess in excesses)]
    rows: list[tuple[Entry, ...]] = []
    for family in families:
        estimates = [excess[family] for excess in excesses]
        mean = Estimate(
            float(np.mean([one.mean for one in estimates])),
            float(np.sqrt(np.sum([one.standard_error**2 for one in estimates]))) / len(estimates),
        )
        rows.append((family, *estimates, mean, max(one.mean for one in estimates)))
    rows.sort(key=lambda row: row[-2].mean if isinstance(row[-2], Estimate) else 0.0)
    note = (
        "Regret over that of the best of the six families in each cell, in percent, averaged over cells. A negative "
        "value is better than the best of the six, chosen with hindsight in each cell. Standard errors: bootstrap over "
        "seeds."
    )
    return Table("Excess regret (%)", ("family", *names, "mean", "worst"), tuple(rows), note)


def curve_grid(content: RegretCurve) -> Table:
    """Families in rows, levels in columns."""
    columns = ("family", *(f"{content.axis} {format_level(content.axis, level)}" for level in content.levels))
    rows: list[tuple[Entry, ...]] = [
        (family, *row) for family, row in zip(content.families, content.regret, strict=True)
    ]
    note = _join_notes(_seeds_note(content.seeds), content.notes)
    return Table(_curve_title(content), columns, tuple(rows), note)


def curve_rows(content: RegretCurve) -> Table:
    """One row per level and family."""
    rows = tuple(
        (level, family, content.regret[i][j])
        for j, level in enumerate(content.levels)
        for i, family in enumerate(content.families)
    )
    note = _join_notes(_seeds_note(content.seeds), content.notes)
    return Table(_curve_title(content), (content.axis, "family", "regret"), rows, note)


def values_table(content: DirectVsDr) -> Table:
    """One row per family."""
    columns = ("family", "direct", "DR", "DR - direct", f"DR better (of {content.cells} cells)")
    rows = tuple((one.family, one.direct, one.dr, one.difference, one.dr_better) for one in content.rows)
    title = f"{content.benchmark}: error (RMSE) of the models' values, direct and doubly robust (DR)"
    return Table(title, columns, rows, _join_notes(_seeds_note(content.seeds), content.notes))


def dr_curve_table(content: DrCurve) -> Table:
    """One row per experiment size and family."""
    rows = tuple(
        (level, family, content.direct[i][j], content.dr[i][j], content.difference[i][j])
        for j, level in enumerate(content.levels)
        for i, family in enumerate(content.families)
    )
    title = f"{content.benchmark}: error (RMSE) of the models' values by n_experiment, direct and doubly robust (DR)"
    columns = ("n_experiment", "family", "direct", "DR", "DR - direct")
    return Table(title, columns, rows, _join_notes(_seeds_note(content.seeds), content.notes))


def ranking_table(content: RankingSummary) -> Table:
    """One row per family."""
    columns = ("family", "top1", "top3", "rmse_context")
    rows = tuple((one.family, one.top1, one.top3, one.rmse_context) for one in content.rows)
    note = (
        f"{_seeds_note(content.seeds)} top1, top3: share of the truly best one or three models that the estimate also "
        "ranks there. rmse_context: over single contexts and models."
    )
    title = f"{content.benchmark}: ranking of the models over {pluralize(content.cells, 'cell')}"
    return Table(title, columns, rows, _join_notes(note, content.notes))


def write_tables(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write every table of a benchmark.

    Tables of metrics that the benchmark does not have (all NaN) and tables along an axis with one level are omitted.
    """
    winners = winner_map(scores)
    paths = write_table(directory, "winners", winner_grid(winners), winner_rows(winners))
    paths += write_table(directory, "overall", standings_table(overall_standings(scores)))
    axes = varying_axes([score.cell for score in scores])
    for axis in axes:
        curve = regret_by_axis(scores, axis)
        paths += write_table(directory, f"regret-by-{axis}", curve_grid(curve), curve_rows(curve))
    if has_metrics(scores, VALUE_METRICS):
        paths += write_table(directory, "values", values_table(direct_vs_dr(scores)))
        if "n_experiment" in axes:
            paths += write_table(directory, "values-by-n_experiment", dr_curve_table(dr_curve(scores)))
    if has_metrics(scores, RANKING_METRICS):
        paths += write_table(directory, "ranking", ranking_table(ranking_summary(scores)))
    return tuple(paths)


def has_metrics(scores: Sequence[Score], metrics: Sequence[str]) -> bool:
    """Whether any score has finite values of all these metrics."""
    return any(all(math.isfinite(getattr(score, metric)) for metric in metrics) for score in scores)


def shared_coordinates(cells: Sequence[Cell]) -> str:
    """The coordinates that all cells share, as the end of a title."""
    shared = [axis for axis in AXES if axis not in varying_axes(cells) and getattr(cells[0], axis) != ""]
    return f" (all with {format_cell(cells[0], shared)})" if shared else ""


def _coordinates(cell: Cell, axes: Sequence[Axis]) -> tuple[Entry, ...]:
    return tuple(getattr(cell, axis) for axis in axes)


def _format_winner(win: Win | None) -> str:
    if win is None:
        return "–"
    return win.winner if win.gap.exceeds_two_se else f"{win.winner}?"


def _curve_title(content: RegretCurve) -> str:
    return f"{content.benchmark}: mean regret by {content.axis}, over {pluralize(content.cells, 'cell')}"


def _seeds_note(seeds: int) -> str:
    if seeds == 1:
        return "One seed, so no standard errors."
    return f"Mean ± standard error over {seeds} paired seeds."


def _join_notes(text: str, notes: Sequence[str]) -> str:
    return " ".join([text, *notes])

"""What the paper says of the controlled validation, put to the test on scores of the same budgets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.reproduction.evidence import (
    FOUND,
    NOT,
    Claim,
    above,
    average,
    below,
    best,
    levels,
    verdict,
)
from deconfound_bench.reproduction.paper import SYNTHETIC_VALUES
from deconfound_bench.results import Score
from deconfound_bench.tables import direct_against_dr, dr_curve
from deconfound_bench.tables.estimate import over_seeds
from deconfound_bench.tables.paired import Paired, paired

SAFE = 3.0  # errors that one difference among many must exceed
POOLED = ("grounded", "cvci", "cvci-residual")  # learn outcomes from both sources
ALONE = ("exp-only", "obs-only", "representation-exp")  # learn outcomes from one


def synthetic_claims(scores: Sequence[Score]) -> tuple[Claim, ...]:
    """The regularities of the grid."""
    grid = paired(scores, ("regret",))
    return (
        nobody_everywhere(grid),
        pooled_lead(grid),
        more_experiment(grid),
        more_confounding(grid),
        _direct_ahead(scores),
    )


def targeted_claim(scores: Sequence[Score]) -> Claim:
    """Doubly robust values win by far where the reward is deliberately bad."""
    curve = dr_curve(scores)
    seen, found = [], 0
    for at, family in enumerate(curve.families):
        gains = [curve.difference[at][0], curve.difference[at][-1]]
        found += all(below(gain) for gain in gains)
        seen.append(f"{family} {gains[0].shown()} and {gains[1].shown()}")
    first, last = curve.levels[0], curve.levels[-1]
    return Claim(
        "Doubly robust values have clearly less error in the targeted regime.",
        f"DR minus direct at {first:,} and {last:,} experiment rows: {'; '.join(seen)}.",
        verdict(found, len(curve.families)),
    )


def nobody_everywhere(grid: Paired) -> Claim:
    """The family with most wins is clearly beaten somewhere."""
    means = grid.values[0].mean(axis=2)
    wins = np.bincount(means.argmin(axis=1), minlength=len(grid.families))
    leader = int(wins.argmax())
    beaten = [
        (cell, rival, gap)
        for at, cell in enumerate(grid.cells)
        for other, rival in enumerate(grid.families)
        if (gap := over_seeds(grid.values[0][at, leader] - grid.values[0][at, other])).mean > SAFE * gap.error
    ]
    seen = f"{grid.families[leader]} wins {wins[leader]} of {len(grid.cells)} cells"
    if not beaten:
        return Claim("No family wins everywhere.", f"{seen} and is nowhere beaten by {SAFE:g} errors.", NOT)
    cell, rival, gap = max(beaten, key=lambda one: one[2].mean / one[2].error)
    where = f"confounding {cell.confounding:g}, {cell.n_log:,} log and {cell.n_experiment:,} experiment rows"
    cells = len({one[0] for one in beaten})
    text = (
        f"{seen} but is beaten by more than {SAFE:g} errors in {cells}, most clearly by {rival} at {where} "
        f"({gap.shown()})."
    )
    return Claim("No family wins everywhere.", text, FOUND)


def pooled_lead(grid: Paired) -> Claim:
    """Pooling pays most with few experiment rows and many log rows."""
    few, many = levels(grid, lambda cell: cell.n_experiment)[0], levels(grid, lambda cell: cell.n_log)[-1]
    chosen = average(grid, lambda cell: cell.n_experiment == few and cell.n_log == many)
    pooled, alone = best(grid, chosen, POOLED), best(grid, chosen, ALONE)
    gap = over_seeds(chosen[grid.families.index(pooled)] - chosen[grid.families.index(alone)])
    text = (
        f"With {many:,} log and {few:,} experiment rows, all confoundings: the best that pools ({pooled}) minus the "
        f"best that does not ({alone}): {gap.shown()}."
    )
    said = "Families that use both sources lead when the experiment is scarce and the log large."
    return Claim(said, text, FOUND if below(gap) else NOT)


def more_experiment(grid: Paired) -> Claim:
    """The experiment is all that exp-only has."""
    few, *_, many = levels(grid, lambda cell: cell.n_experiment)
    at = grid.families.index("exp-only")
    change = over_seeds(
        average(grid, lambda cell: cell.n_experiment == many)[at]
        - average(grid, lambda cell: cell.n_experiment == few)[at]
    )
    text = f"Regret at {many:,} minus regret at {few:,} rows: {change.shown()}."
    return Claim("The regret of exp-only falls with more experiment rows.", text, FOUND if below(change) else NOT)


def more_confounding(grid: Paired) -> Claim:
    """The log misleads whoever trusts it alone."""
    calm, *_, strong = levels(grid, lambda cell: cell.confounding)
    at, seen, found = grid.families.index("obs-only"), [], 0
    logs = levels(grid, lambda cell: cell.n_log)
    for rows in logs:
        change = over_seeds(_at(grid, strong, rows)[at] - _at(grid, calm, rows)[at])
        found += above(change)
        seen.append(f"{change.shown()} with {rows:,} log rows")
    text = f"Regret at confounding {strong:g} minus regret at {calm:g}: {', '.join(seen)}."
    return Claim("obs-only degrades with confounding.", text, verdict(found, len(logs)))


def _direct_ahead(scores: Sequence[Score]) -> Claim:
    rows = [row for row in direct_against_dr(scores).rows if row.family in SYNTHETIC_VALUES]
    found = sum(above(row.difference) for row in rows)
    seen = ", ".join(f"{row.family} {row.difference.shown()}" for row in rows)
    said = "Direct values have less error than doubly robust ones on this grid."
    return Claim(said, f"DR minus direct: {seen}.", verdict(found, len(rows)))


def _at(grid: Paired, confounding: float, rows: float) -> FloatArray:
    return average(grid, lambda cell: cell.confounding == confounding and cell.n_log == rows)

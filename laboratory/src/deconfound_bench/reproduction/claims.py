"""Claims of the paper tested on paired scores: types, verdicts, and the claims that several benchmarks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.results import Cell
from deconfound_bench.score_tables import (
    CLEAR_SE,
    Axis,
    Estimate,
    Level,
    ScoreCube,
    Table,
    bootstrap_standard_errors,
    mean_over_seeds,
    shared_ranks,
)

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly reproduced", "not reproduced"
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED)
MULTIPLE_COMPARISON_SE = 3.0  # standard errors that the largest of many differences must exceed
POOLING_FAMILIES = ("grounded", "cvci", "cvci-residual")  # learn outcomes from both sources
SINGLE_SOURCE_FAMILIES = ("exp-only", "obs-only", "representation-exp")  # learn outcomes from one source


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, our evidence, and the verdict."""

    claim: str
    evidence: str
    verdict: str  # one of ``VERDICTS``


@dataclass(frozen=True, slots=True)
class PageSection:
    """One section of the page: what was run, the verdicts on the claims, then the figures in detail."""

    title: str
    about: str
    claims: tuple[Claim, ...]
    text: str


def claims_table(claims: Sequence[Claim]) -> Table:
    """One row per claim."""
    rows = tuple((claim.claim, claim.verdict, claim.evidence) for claim in claims)
    return Table("Claims", ("the paper reports", "here", "evidence"), rows)


def verdict(confirmed: int, total: int) -> str:
    """The verdict on a claim with ``confirmed`` of its ``total`` parts confirmed."""
    return REPRODUCED if confirmed == total else PARTLY if confirmed else NOT_REPRODUCED


def clearly_negative(difference: Estimate) -> bool:
    """Below zero by more than two standard errors."""
    return difference.mean < 0 and difference.exceeds_two_se


def clearly_positive(difference: Estimate) -> bool:
    """Above zero by more than two standard errors."""
    return difference.mean > 0 and difference.exceeds_two_se


def sorted_levels(cube: ScoreCube, coordinate: Callable[[Cell], float]) -> list[float]:
    """The values of a coordinate of the cells."""
    return sorted({coordinate(cell) for cell in cube.cells})


def mean_regret(cube: ScoreCube, condition: Callable[[Cell], bool]) -> FloatArray:
    """Regret (families, seeds) averaged over the cells that meet a condition."""
    index = [number for number, cell in enumerate(cube.cells) if condition(cell)]
    return np.asarray(cube.values[0][index].mean(axis=0))


def mean_regret_at(cube: ScoreCube, axis: Axis, level: Level) -> FloatArray:
    """Regret (families, seeds) averaged over the cells at one level of an axis."""
    return mean_regret(cube, lambda cell: getattr(cell, axis) == level)


def best_family(cube: ScoreCube, regret: FloatArray, families: Sequence[str]) -> str:
    """The family with the lowest mean of regrets (families, seeds)."""
    return min(families, key=lambda family: float(regret[cube.families.index(family)].mean()))


def leads_by_rank(cube: ScoreCube, family: str) -> Claim:
    """Whether a family has the best average rank, by more than two bootstrap standard errors of the difference."""
    at = cube.families.index(family)

    def rank_difference(means: FloatArray) -> FloatArray:
        ranks = shared_ranks(means).mean(axis=-2)
        return np.asarray(ranks - ranks[..., [at]])

    means = cube.values[0].mean(axis=2)
    ranks, difference = shared_ranks(means).mean(axis=0), rank_difference(means)
    rival = min((n for n in range(len(ranks)) if n != at), key=lambda n: float(ranks[n]))
    standard_errors = bootstrap_standard_errors(cube.values[0], rank_difference, 0)
    lead = Estimate(float(difference[rival]), float(standard_errors[rival]))
    evidence = (
        f"Average rank {ranks[at]:.2f}; the best other family, {cube.families[rival]}, {ranks[rival]:.2f}; "
        f"difference {lead.format()}."
    )
    result = REPRODUCED if clearly_positive(lead) else PARTLY if lead.mean > 0 else NOT_REPRODUCED
    return Claim(f"{family} has the best average rank.", evidence, result)


def split_claim(claim: str, parts: Sequence[tuple[str, FloatArray]]) -> Claim:
    """A claim whose parts are differences by split of the contexts; each part is tested by the number of positive ones.

    Single splits can be far off, so means are not informative. Under chance the number of positive differences has
    standard deviation sqrt(n) / 2.
    """
    counts, confirmed = [], 0
    for name, difference in parts:
        defined = difference[np.isfinite(difference)]
        positive = int((defined > 0).sum())
        confirmed += bool(positive - len(defined) / 2 > CLEAR_SE * np.sqrt(len(defined)) / 2)
        counts.append(f"{name} in {positive} of {len(defined)}")
    return Claim(claim, f"Splits in which this is the case: {', '.join(counts)}.", verdict(confirmed, len(parts)))


def no_family_dominates(cube: ScoreCube) -> Claim:
    """The family with most wins is clearly beaten in some cell."""
    claim = "No family wins everywhere."
    means = cube.values[0].mean(axis=2)
    wins = np.bincount(means.argmin(axis=1), minlength=len(cube.families))
    leader = int(wins.argmax())
    losses = [
        (cell, rival, gap)
        for at, cell in enumerate(cube.cells)
        for other, rival in enumerate(cube.families)
        if (gap := mean_over_seeds(cube.values[0][at, leader] - cube.values[0][at, other])).mean
        > MULTIPLE_COMPARISON_SE * gap.standard_error
    ]
    record = f"{cube.families[leader]} wins {wins[leader]} of {len(cube.cells)} cells"
    if not losses:
        evidence = f"{record} and is nowhere beaten by more than {MULTIPLE_COMPARISON_SE:g} standard errors."
        return Claim(claim, evidence, NOT_REPRODUCED)
    cell, rival, gap = max(losses, key=lambda loss: loss[2].mean / loss[2].standard_error)
    where = f"confounding {cell.confounding:g}, {cell.n_log:,} log and {cell.n_experiment:,} experiment rows"
    evidence = (
        f"{record} but is beaten by more than {MULTIPLE_COMPARISON_SE:g} standard errors in "
        f"{len({loss[0] for loss in losses})}, most clearly by {rival} at {where} ({gap.format()})."
    )
    return Claim(claim, evidence, REPRODUCED)


def pooling_helps_small_experiments(cube: ScoreCube) -> Claim:
    """Pooling pays most with few experiment rows and many log rows."""
    few = sorted_levels(cube, lambda cell: cell.n_experiment)[0]
    many = sorted_levels(cube, lambda cell: cell.n_log)[-1]
    regret = mean_regret(cube, lambda cell: cell.n_experiment == few and cell.n_log == many)
    pooling = best_family(cube, regret, POOLING_FAMILIES)
    single = best_family(cube, regret, SINGLE_SOURCE_FAMILIES)
    gap = mean_over_seeds(regret[cube.families.index(pooling)] - regret[cube.families.index(single)])
    evidence = (
        f"With {many:,} log and {few:,} experiment rows, over all confoundings: the best pooling family ({pooling}) "
        f"minus the best single-source family ({single}): {gap.format()}."
    )
    claim = "Families that use both sources lead when the experiment is small and the log large."
    return Claim(claim, evidence, REPRODUCED if clearly_negative(gap) else NOT_REPRODUCED)


def confounding_hurts_obs_only(cube: ScoreCube) -> Claim:
    """The log misleads a family that uses nothing else."""
    weakest, *_, strongest = sorted_levels(cube, lambda cell: cell.confounding)
    at, parts, confirmed = cube.families.index("obs-only"), [], 0
    log_sizes = sorted_levels(cube, lambda cell: cell.n_log)
    for rows in log_sizes:
        change = mean_over_seeds(_at_log_size(cube, strongest, rows)[at] - _at_log_size(cube, weakest, rows)[at])
        confirmed += clearly_positive(change)
        parts.append(f"{change.format()} with {rows:,} log rows")
    evidence = f"Regret at confounding {strongest:g} minus regret at {weakest:g}: {', '.join(parts)}."
    return Claim("obs-only degrades with confounding.", evidence, verdict(confirmed, len(log_sizes)))


def _at_log_size(cube: ScoreCube, confounding: float, rows: float) -> FloatArray:
    return mean_regret(cube, lambda cell: cell.confounding == confounding and cell.n_log == rows)

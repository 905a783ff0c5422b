"""Claims, and what is needed to put one to the test on paired scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.results import Cell
from deconfound_bench.tables import Estimate, Table
from deconfound_bench.tables.estimate import CLEAR, bootstrap
from deconfound_bench.tables.overall import shared_ranks
from deconfound_bench.tables.paired import Axis, Level, Paired

FOUND, PARTLY, NOT = "found", "partly found", "not found"
VERDICTS = (FOUND, PARTLY, NOT)


@dataclass(frozen=True, slots=True)
class Claim:
    """One regularity: what was said, what we see, and whether that is the same."""

    said: str
    seen: str
    verdict: str  # one of ``VERDICTS``


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: what was run, how the claims fare, then figure by figure."""

    title: str
    about: str
    claims: tuple[Claim, ...]
    text: str


def claims_table(claims: Sequence[Claim]) -> Table:
    """One row a claim."""
    rows = tuple((claim.said, claim.verdict, claim.seen) for claim in claims)
    return Table("Regularities", ("the paper reports", "here", "evidence"), rows)


def verdict(found: int, asked: int) -> str:
    """All, some or none of what a claim says."""
    return FOUND if found == asked else PARTLY if found else NOT


def below(difference: Estimate) -> bool:
    """Clearly less than zero."""
    return difference.mean < 0 and difference.clear


def above(difference: Estimate) -> bool:
    """Clearly more than zero."""
    return difference.mean > 0 and difference.clear


def levels(grid: Paired, of: Callable[[Cell], float]) -> list[float]:
    """Values that the cells take."""
    return sorted({of(cell) for cell in grid.cells})


def average(grid: Paired, where: Callable[[Cell], bool]) -> FloatArray:
    """Regret (families, seeds) averaged over the cells that meet a condition."""
    at = [number for number, cell in enumerate(grid.cells) if where(cell)]
    return np.asarray(grid.values[0][at].mean(axis=0))


def at_level(grid: Paired, axis: Axis, level: Level) -> FloatArray:
    """Regret (families, seeds) averaged over the cells at one level of an axis."""
    return average(grid, lambda cell: getattr(cell, axis) == level)


def best(grid: Paired, regret: FloatArray, among: Sequence[str]) -> str:
    """The family with the lowest mean of regrets (families, seeds)."""
    return min(among, key=lambda family: float(regret[grid.families.index(family)].mean()))


def leads_by_rank(grid: Paired, family: str) -> Claim:
    """Whether a family has the best average rank, by more than two bootstrap errors of the difference in ranks."""
    at = grid.families.index(family)

    def behind(means: FloatArray) -> FloatArray:
        ranks = shared_ranks(means).mean(axis=-2)
        return np.asarray(ranks - ranks[..., [at]])

    means = grid.values[0].mean(axis=2)
    ranks, distance = shared_ranks(means).mean(axis=0), behind(means)
    rival = min((n for n in range(len(ranks)) if n != at), key=lambda n: float(ranks[n]))
    lead = Estimate(float(distance[rival]), float(bootstrap(grid.values[0], behind, 0)[rival]))
    seen = (
        f"Average rank {ranks[at]:.2f}; the best other, {grid.families[rival]}, {ranks[rival]:.2f}; "
        f"difference {lead.shown()}."
    )
    found = FOUND if above(lead) else PARTLY if lead.mean > 0 else NOT
    return Claim(f"{family} has the best average rank.", seen, found)


def split_claim(said: str, parts: Sequence[tuple[str, FloatArray]]) -> Claim:
    """Count in how many splits of the contexts each difference is positive; more than luck would is found.

    Fits on unlucky splits are far off, so their means say little; a fair coin's count has the error sqrt(n) / 2.
    """
    seen, found = [], 0
    for name, difference in parts:
        known = difference[np.isfinite(difference)]
        positive = int((known > 0).sum())
        found += bool(positive - len(known) / 2 > CLEAR * np.sqrt(len(known)) / 2)
        seen.append(f"{name} in {positive} of {len(known)}")
    return Claim(said, f"Splits in which it is so: {', '.join(seen)}.", verdict(found, len(parts)))

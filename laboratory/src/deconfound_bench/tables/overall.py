"""How the families stand over all cells together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.data import Mask
from deconfound.design import FloatArray, IntArray
from deconfound.formatting import pluralize
from deconfound_bench.results import Score
from deconfound_bench.tables.estimate import Estimate, bootstrap, over_seeds
from deconfound_bench.tables.paired import Paired, paired


@dataclass(frozen=True, slots=True)
class Standing:
    """One family over all cells."""

    family: str
    wins: int  # cells where no other family has a lower mean regret
    rank: Estimate  # of its mean regret, averaged over cells
    top3: int  # cells where at most two families have a lower mean regret
    excess: Estimate  # percent over the lowest mean regret of the cell, averaged over cells
    regret: Estimate  # averaged over cells


@dataclass(frozen=True, slots=True)
class Overall:
    """All families, the best average rank first."""

    benchmark: str
    standings: tuple[Standing, ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


def overall(scores: Sequence[Score], seed: int = 0) -> Overall:
    """Compare the families over all cells; families with equal regret share their rank and their win.

    The excess is relative to the cell's best and so not defined where that is zero: such cells do not count in it.
    ``seed`` is the bootstrap's, which gives rank and excess their errors.
    """
    grid = paired(scores, ("regret",))
    regret = grid.values[0]
    means = regret.mean(axis=2)
    ahead = _lower(means)
    defined = means.min(axis=1) > 0
    ranks, rank_errors = shared_ranks(means).mean(axis=0), bootstrap(regret, _mean_ranks, seed)
    over, over_errors = _excess(means[defined]), bootstrap(regret[defined], _excess, seed)
    standings = [
        Standing(
            family,
            int((ahead[:, at] == 0).sum()),
            Estimate(float(ranks[at]), float(rank_errors[at])),
            int((ahead[:, at] < 3).sum()),
            Estimate(float(over[at]), float(over_errors[at])),
            over_seeds(regret[:, at].mean(axis=0)),
        )
        for at, family in enumerate(grid.families)
    ]
    standings.sort(key=lambda standing: standing.rank.mean)
    return Overall(grid.benchmark, tuple(standings), len(grid.cells), len(grid.seeds), _notes(grid, ahead, defined))


def shared_ranks(means: FloatArray) -> FloatArray:
    """``metrics.ranks`` along the last axis, for all draws of a bootstrap at once."""
    lower, equal = _lower(means), (means[..., None, :] == means[..., :, None]).sum(axis=-1)
    return np.asarray(lower + (equal + 1) / 2, dtype=np.float64)


def _lower(means: FloatArray) -> IntArray:
    """How many families of the cell have a lower mean than each."""
    return np.asarray((means[..., None, :] < means[..., :, None]).sum(axis=-1), dtype=np.int64)


def _mean_ranks(means: FloatArray) -> FloatArray:
    return np.asarray(shared_ranks(means).mean(axis=-2), dtype=np.float64)


def _excess(means: FloatArray) -> FloatArray:
    """Percent over the best of each cell, averaged over the cells (..., cells, families)."""
    if means.shape[-2] == 0:
        return np.full((*means.shape[:-2], means.shape[-1]), np.nan)
    best = means.min(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # a draw may hold only seeds without regret
        return np.asarray(100 * (means / best - 1).mean(axis=-2), dtype=np.float64)


def _notes(grid: Paired, ahead: IntArray, defined: Mask) -> tuple[str, ...]:
    notes = list(grid.notes)
    shared = int(((ahead == 0).sum(axis=1) > 1).sum())
    if shared:
        notes.append(f"The win of {pluralize(shared, 'cell')} is shared by families of equal regret.")
    if not defined.all():
        notes.append(f"The excess leaves out {pluralize(int((~defined).sum()), 'cell')} whose best regret is zero.")
    return tuple(notes)

"""From a cached pool and a seed to a contest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import Rows, unanimous_code
from deconfound.reward import TrainingData
from deconfound_bench.cached.draws import draw_experiment, draw_log, split
from deconfound_bench.cached.pool import CachedPool
from deconfound_bench.contest import Contest, Replayed, Truth
from deconfound_bench.results import Cell

HELD_OUT = 0.2


@dataclass(frozen=True, slots=True)
class CachedRing:
    """Where contests on a cached grid are held."""

    pool: CachedPool
    longest_log: int
    longest_experiment: int

    def contest(self, cell: Cell, seed: int) -> Contest:
        """Split the contexts, draw both sources from one part, and put the cached target of the other beside them."""
        pool, world = self.pool, self.pool.world
        parts = split(world.contexts, HELD_OUT, seed)
        logged = draw_log(world, cell, parts.train, self.longest_log, seed)
        trial = draw_experiment(world, cell.reward, parts.train, self.longest_experiment, seed)
        row, inverse, count = np.unique(pool.row[logged.context, logged.model], return_inverse=True, return_counts=True)
        outcome = np.bincount(inverse, weights=logged.outcome) / count
        drawn = pool.row[trial.context, trial.model]
        store = pool.store
        log = Rows(
            store.rows(row), pool.psi[row], outcome, unanimous_code(logged.model, inverse), count.astype(np.float64)
        )
        experiment = Rows(store.rows(drawn), pool.psi[drawn], trial.outcome, trial.model, context=trial.context)
        q = world.q(cell.reward)[parts.test]
        return Contest(
            world.models,
            TrainingData(log, experiment),
            drawn,
            Replayed(store.coordinates, pool.psi, pool.row[:, :, None]),
            Replayed(store.coordinates, pool.psi, pool.row[parts.test][:, :, None]),
            Truth(q, q.mean(axis=0)),
        )

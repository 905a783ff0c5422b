"""Draw logs and experiments from a cached grid.

The draws of one seed are paired: cells share contexts, users and noise wherever their settings allow it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv

from deconfound.design import FloatArray, IntArray, Rows, unanimous_code
from deconfound_bench.batch_prediction import ReplayFeatures
from deconfound_bench.cached.environment import Environment
from deconfound_bench.cached.pool import CachedPool
from deconfound_bench.effect_modifiers import fit_modifier_scaling, scale_modifiers
from deconfound_bench.replication import Replication, Truth
from deconfound_bench.results import Cell

HELD_OUT_SHARE = 0.2  # of the contexts
MIN_BETA_MEAN = 1e-6  # a beta distribution needs a mean strictly between 0 and 1


@dataclass(frozen=True, slots=True)
class ContextSplit:
    """Contexts of one seed: log and experiment are drawn from ``train``, rewards are evaluated on ``test``."""

    train: IntArray
    test: IntArray


@dataclass(frozen=True, slots=True)
class SampledRows:
    """Rows of a log or an experiment."""

    context: IntArray
    model: IntArray
    outcome: FloatArray


def split_contexts(contexts: int, held_out_share: float, seed: int) -> ContextSplit:
    """Hold out a share of the contexts."""
    # Not [seed, 0]: numpy treats it as plain ``seed``, which also determines the folds.
    order = np.random.default_rng([seed, 3]).permutation(contexts)
    held_out = max(1, round(held_out_share * contexts))
    return ContextSplit(np.sort(order[held_out:]), np.sort(order[:held_out]))


def draw_log(environment: Environment, cell: Cell, train: IntArray, max_rows: int, seed: int) -> SampledRows:
    """A routed log under the cell's reward and confounding; a shorter log is the start of a longer one."""
    rows, reward = cell.n_log, cell.reward
    rng = np.random.default_rng([seed, 1])
    context = rng.choice(train, size=max_rows)
    user = rng.integers(environment.expected_outcome[reward].shape[2], size=max_rows)
    policy = environment.router.probabilities(cell.confounding)[context, user]
    model = environment.router.choose(policy, rng)
    outcome = _draw_outcomes(environment, reward, context, model, user, rng)
    return SampledRows(context[:rows], model[:rows], outcome[:rows])


def draw_experiment(environment: Environment, reward: str, train: IntArray, rows: int, seed: int) -> SampledRows:
    """``rows`` of uniform randomization."""
    rng = np.random.default_rng([seed, 2])
    context = rng.choice(train, size=rows)
    user = rng.integers(environment.expected_outcome[reward].shape[2], size=rows)
    model = rng.integers(len(environment.models), size=rows)
    return SampledRows(context, model, _draw_outcomes(environment, reward, context, model, user, rng))


def _draw_outcomes(
    environment: Environment,
    reward: str,
    context: IntArray,
    model: IntArray,
    user: IntArray,
    rng: np.random.Generator,
) -> FloatArray:
    mean = environment.expected_outcome[reward][context, model, user]
    if environment.precision is None:
        return mean
    mean = np.clip(mean, MIN_BETA_MEAN, 1.0 - MIN_BETA_MEAN)
    # By inversion, so that all rewards share their noise row by row.
    uniform = rng.random(len(mean))
    return np.asarray(betaincinv(mean * environment.precision, (1.0 - mean) * environment.precision, uniform))


@dataclass(frozen=True, slots=True)
class CachedSampler:
    """Draws replications from a cached pool."""

    pool: CachedPool
    max_log_rows: int
    max_experiment_rows: int

    def replication(self, cell: Cell, seed: int) -> Replication:
        """Split the contexts, draw both sources from the training part, and take the truth from the test part."""
        pool, environment = self.pool, self.pool.environment
        contexts = split_contexts(environment.n_contexts, HELD_OUT_SHARE, seed)
        log = draw_log(environment, cell, contexts.train, self.max_log_rows, seed)
        experiment = draw_experiment(environment, cell.reward, contexts.train, self.max_experiment_rows, seed)
        q = environment.target(cell.reward)[contexts.test]
        experiment_row = pool.row[experiment.context, experiment.model]
        modifiers = self._scale_modifiers(log)
        train = ReplayFeatures(pool.store.coordinates, pool.psi, modifiers, pool.row[:, :, None])
        return Replication(
            environment.models,
            self._log_rows(log, modifiers),
            Rows(
                pool.store.rows(experiment_row),
                pool.psi[experiment_row],
                experiment.outcome,
                experiment.model,
                context=experiment.context,
                modifiers=modifiers[experiment_row],
            ),
            experiment_row,
            train,
            replace(train, row=pool.row[contexts.test][:, :, None]),
            Truth(q, q.mean(axis=0)),
        )

    def _scale_modifiers(self, log: SampledRows) -> FloatArray:
        """Effect modifiers of all rows of the pool, scaled by this log."""
        row, count = np.unique(self.pool.row[log.context, log.model], return_counts=True)
        return scale_modifiers(fit_modifier_scaling(self.pool.modifiers[row], count), self.pool.modifiers)

    def _log_rows(self, log: SampledRows, modifiers: FloatArray) -> Rows:
        """One weighted row per distinct output."""
        pool = self.pool
        row, inverse, count = np.unique(pool.row[log.context, log.model], return_inverse=True, return_counts=True)
        outcome = np.bincount(inverse, weights=log.outcome) / count
        model, weight = unanimous_code(log.model, inverse), count.astype(np.float64)
        return Rows(pool.store.rows(row), pool.psi[row], outcome, model, weight, modifiers=modifiers[row])

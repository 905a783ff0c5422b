"""Draw logs and experiments from the data-generating process.

The draws of one seed are paired: cells share contexts, users and noise wherever their settings allow it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows, unanimous_code
from deconfound.errors import UsageError
from deconfound.features.proxy import Labels, ProxyMap, fit_proxy
from deconfound.threads import one_blas_thread
from deconfound_bench.batch_prediction import ReplayFeatures
from deconfound_bench.effect_modifiers import fit_modifier_scaling, scale_modifiers
from deconfound_bench.gram_rows import GramRows
from deconfound_bench.replication import Replication, Truth
from deconfound_bench.synthetic.constants import Constants
from deconfound_bench.synthetic.dgp import (
    DataGeneratingProcess,
    choose_models,
    context_policy,
    draw_dgp,
    labels,
    latent_users,
    outcomes,
    true_reward,
    user_policy,
)
from deconfound_bench.synthetic.pool import LatentPool, SummaryPool

LOG_STREAM, EXPERIMENT_STREAM = 101, 102  # of random numbers; streams 1 to 5 belong to the constants' own seed
LABEL_PENALTY = 3.0
"""Of the ridge from phi to the labels; the default of ``FeatureSpec``."""


@dataclass(frozen=True, slots=True)
class LogRows:
    """Rows of a log; ``row`` numbers the train rows of the pool."""

    row: IntArray
    model: IntArray
    outcome: FloatArray
    labels: FloatArray  # (n, labels)


@dataclass(frozen=True, slots=True)
class ExperimentRows:
    """Rows of an experiment; ``row`` numbers the train rows of the pool."""

    row: IntArray
    context: IntArray
    model: IntArray
    outcome: FloatArray


def draw_log(
    dgp: DataGeneratingProcess, train: LatentPool, confounding: float, rows: int, max_rows: int, seed: int
) -> LogRows:
    """A confounded log.

    All random numbers of ``max_rows`` rows are drawn first. A shorter log is therefore the start of a longer one, and
    logs that differ in confounding only share contexts, users and noise.
    """
    rng = np.random.default_rng([seed, LOG_STREAM])
    context = rng.integers(len(train.row), size=max_rows)[:rows]
    user_noise = rng.standard_normal((max_rows, len(dgp.user_weights)))[:rows]
    policy_uniform, model_uniform, draw_uniform = rng.random((3, max_rows))[:, :rows]
    outcome_noise = rng.standard_normal(max_rows)[:rows]
    label_noise = rng.standard_normal((max_rows, len(dgp.label_weights)))[:rows]
    user = latent_users(dgp, train.embedding[context], user_noise)
    policy = context_policy(dgp, train.embedding)[context]
    self_selected = policy_uniform < confounding
    policy[self_selected] = user_policy(dgp, user[self_selected])
    model = choose_models(policy, model_uniform)
    row = train.row[context, model, (draw_uniform * train.row.shape[2]).astype(np.int64)]
    latent = train.latent[row]
    return LogRows(row, model, outcomes(dgp, latent, user, outcome_noise), labels(dgp, latent, label_noise))


def draw_experiment(dgp: DataGeneratingProcess, train: LatentPool, rows: int, seed: int) -> ExperimentRows:
    """``rows`` of uniform randomization."""
    rng = np.random.default_rng([seed, EXPERIMENT_STREAM])
    contexts, models, draws = train.row.shape
    context = rng.integers(contexts, size=rows)
    model = rng.integers(models, size=rows)
    draw = rng.integers(draws, size=rows)
    user = latent_users(dgp, train.embedding[context], rng.standard_normal((rows, len(dgp.user_weights))))
    row = train.row[context, model, draw]
    outcome = outcomes(dgp, train.latent[row], user, rng.standard_normal(rows))
    return ExperimentRows(row, context, model, outcome)


@dataclass(frozen=True, slots=True)
class SyntheticSampler:
    """Draws replications from one pool and one data-generating process."""

    models: tuple[str, ...]
    pool: SummaryPool
    dgp: DataGeneratingProcess
    constants: Constants
    truth: Truth

    @classmethod
    def from_pool(cls, pool: SummaryPool, constants: Constants, models: tuple[str, ...]) -> SyntheticSampler:
        """Compute the truth on the held-out rows once."""
        dgp = draw_dgp(constants, len(models))
        truth = Truth(_true_q(dgp, pool.evaluation), _true_q(dgp, pool.truth).mean(axis=0))
        return cls(models, pool, dgp, constants, truth)

    def replication(self, confounding: float, n_log: int, seed: int) -> Replication:
        """One draw; the experiment has the largest size, and smaller ones are its start."""
        pool, constants = self.pool, self.constants
        log = draw_log(self.dgp, pool.train, confounding, n_log, constants.longest_log, seed)
        experiment = draw_experiment(self.dgp, pool.train, constants.longest_experiment, seed)
        train, test = self._replay_features(log)
        return Replication(
            self.models,
            self._log_rows(log, train),
            Rows(
                pool.store.rows(experiment.row),
                train.psi[experiment.row],
                experiment.outcome,
                experiment.model,
                context=experiment.context,
                modifiers=train.modifiers[experiment.row],
            ),
            experiment.row,
            train,
            test,
            self.truth,
        )

    def _replay_features(self, log: LogRows) -> tuple[ReplayFeatures, ReplayFeatures]:
        """Features on the contexts of log and experiment, and on the evaluation's; psi is learned from the log."""
        pool = self.pool
        row, inverse, count = np.unique(log.row, return_inverse=True, return_counts=True)
        scaling = fit_modifier_scaling(pool.train_modifiers[row], count)
        with one_blas_thread():
            proxy = _fit_proxy(pool.store.rows(row), log, inverse, count, self.constants)
            train_psi, test_psi = _psi(proxy, pool.store.coordinates), _psi(proxy, pool.evaluation_phi)
        train = scale_modifiers(scaling, pool.train_modifiers)
        test = scale_modifiers(scaling, pool.evaluation_modifiers)
        return (
            ReplayFeatures(pool.store.coordinates, train_psi, train, pool.train.row),
            ReplayFeatures(pool.evaluation_phi, test_psi, test, pool.evaluation.row),
        )

    def _log_rows(self, log: LogRows, train: ReplayFeatures) -> Rows:
        """One weighted row per distinct output."""
        row, inverse, count = np.unique(log.row, return_inverse=True, return_counts=True)
        outcome = np.bincount(inverse, weights=log.outcome) / count
        model, weight = unanimous_code(log.model, inverse), count.astype(np.float64)
        phi, modifiers = self.pool.store.rows(row), train.modifiers[row]
        return Rows(phi, train.psi[row], outcome, model, weight, modifiers=modifiers)


def _true_q(dgp: DataGeneratingProcess, held_out: LatentPool) -> FloatArray:
    reward = true_reward(dgp, held_out.latent, held_out.embedding[held_out.context_of_row()])
    return held_out.mean_over_draws(reward)


def _fit_proxy(phi: GramRows, log: LogRows, inverse: IntArray, count: IntArray, constants: Constants) -> ProxyMap:
    """psi as the package fits it: ridge from phi to the labels in standard deviations, then principal components."""
    scaled = log.labels / log.labels.std(axis=0)
    means = np.column_stack([np.bincount(inverse, weights=label) / count for label in scaled.T])
    names = tuple(f"label_{number}" for number in range(means.shape[1]))
    observed = np.repeat(count[:, None].astype(np.float64), means.shape[1], axis=1)
    proxy = fit_proxy(phi, Labels(names, means, observed, ()), count, constants.proxies, LABEL_PENALTY)
    if proxy is None:
        raise UsageError("The labels of this log are constant; request more log rows.")
    return proxy


def _psi(proxy: ProxyMap, coordinates: FloatArray) -> FloatArray:
    return np.asarray(coordinates @ proxy.coef + proxy.intercept)

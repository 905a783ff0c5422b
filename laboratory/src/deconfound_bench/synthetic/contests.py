"""From the pool and a seed to a contest: draw, learn the proxies, put the truth beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows, unanimous_code
from deconfound.errors import UsageError
from deconfound.features.proxy import Labels, ProxyMap, fit_proxy
from deconfound.linalg import one_blas_thread
from deconfound.reward import TrainingData
from deconfound_bench.contest import Contest, Replayed, Truth
from deconfound_bench.gram_rows import GramRows
from deconfound_bench.synthetic.constants import Constants
from deconfound_bench.synthetic.draws import Logged, Written, draw_experiment, draw_log
from deconfound_bench.synthetic.law import Law, make_law, true_reward
from deconfound_bench.synthetic.pool import Pool

LABEL_PENALTY = 3.0
"""Of the ridge from phi to the labels; the default of ``Features``."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Where contests are held: one pool, one law, one truth."""

    models: tuple[str, ...]
    pool: Pool
    law: Law
    setting: Constants
    truth: Truth

    @classmethod
    def of(cls, pool: Pool, setting: Constants, models: tuple[str, ...]) -> Ring:
        """Work out r* on the held-out rows once."""
        law = make_law(setting, len(models))
        truth = Truth(_true_q(law, pool.evaluation), _true_q(law, pool.truth).mean(axis=0))
        return cls(models, pool, law, setting, truth)

    def contest(self, confounding: float, n_log: int, seed: int) -> Contest:
        """One draw; the experiment is the longest of the setting, of which shorter ones are the start."""
        pool, setting = self.pool, self.setting
        logged = draw_log(self.law, pool.kept, confounding, n_log, setting.longest_log, seed)
        trial = draw_experiment(self.law, pool.kept, setting.longest_experiment, seed)
        row, inverse, count = np.unique(logged.row, return_inverse=True, return_counts=True)
        outcome = np.bincount(inverse, weights=logged.outcome) / count
        phi = pool.store.rows(row)
        with one_blas_thread():
            proxy = _proxy(phi, logged, inverse, count, setting)
            inside = Replayed(pool.store.coordinates, _psi(proxy, pool.store.coordinates), pool.kept.row)
            outside = Replayed(pool.evaluation_phi, _psi(proxy, pool.evaluation_phi), pool.evaluation.row)
        log = Rows(phi, inside.psi[row], outcome, unanimous_code(logged.model, inverse), count.astype(np.float64))
        experiment = Rows(
            pool.store.rows(trial.row), inside.psi[trial.row], trial.outcome, trial.model, context=trial.context
        )
        return Contest(self.models, TrainingData(log, experiment), trial.row, inside, outside, self.truth)


def _true_q(law: Law, held_out: Written) -> FloatArray:
    reward = true_reward(law, held_out.hidden, held_out.embedding[held_out.context()])
    return held_out.average(reward)


def _proxy(phi: GramRows, logged: Logged, inverse: IntArray, count: IntArray, setting: Constants) -> ProxyMap:
    """psi as the package learns it: ridge from phi to the labels in standard deviations, then principal components."""
    scaled = logged.labels / logged.labels.std(axis=0)
    means = np.column_stack([np.bincount(inverse, weights=label) / count for label in scaled.T])
    names = tuple(f"label_{number}" for number in range(means.shape[1]))
    observed = np.repeat(count[:, None].astype(np.float64), means.shape[1], axis=1)
    proxy = fit_proxy(phi, Labels(names, means, observed, ()), count, setting.proxies, LABEL_PENALTY)
    if proxy is None:
        raise UsageError("The labels of this draw do not vary; give the log more rows.")
    return proxy


def _psi(proxy: ProxyMap, coordinates: FloatArray) -> FloatArray:
    return np.asarray(coordinates @ proxy.coef + proxy.intercept)

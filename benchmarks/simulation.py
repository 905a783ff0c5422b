"""Simulated studies and helpers that several benchmarks and tests share.

``RewardStudy`` is a study for real reward fits: 400 contexts, eight models, and yes/no outcomes whose probability is
the model's quality plus a linear function of twelve features of the output. The log has 1,500 rows. In the log the
success probability of each model is off by N(0, bias^2); the unit of the bias is the standard error of one model's mean
in the experiment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.reward import Family, Prepared, RewardFit, TrainingData
from deconfound.value import ScoredExperiment

EIGHT_MODELS = tuple("abcdefgh")
SUCCESS_RATES = np.array([0.9, 0.75, 0.7, 0.65, 0.5, 0.4, 0.3, 0.12])  # of the eight models

REWARD_STUDY_MODELS = tuple(f"model {number}" for number in range(8))
CONTEXTS, FEATURES, PROXIES, LOG_ROWS, FOLDS = 400, 12, 4, 1500, 5
OUTCOME_SD = 0.46  # of yes/no outcomes with success probabilities around one half


@dataclass(frozen=True, slots=True)
class RewardStudy:
    """Both sources, the outputs of every model on every context, and the true values."""

    log: Rows
    experiment: Rows
    model: IntArray  # (n,) of the experiment's rows
    context: IntArray  # (n,)
    phi: FloatArray  # (contexts, models, features)
    psi: FloatArray  # (contexts, models, proxies)
    value: FloatArray  # (models,)

    def replayed(self, fit: RewardFit) -> FloatArray:
        """Reward of every model on the context of each experiment row (n, k)."""
        models = range(len(REWARD_STUDY_MODELS))
        replay = [Rows(self.phi[:, a], self.psi[:, a], model=np.full(CONTEXTS, a)) for a in models]
        return np.column_stack([fit.predict(rows) for rows in replay])[self.context]


def simulate_reward_study(rows_per_model: int, bias: float, seed: int) -> RewardStudy:
    """One study with a log bias of ``bias`` standard errors."""
    rng = np.random.default_rng([seed, rows_per_model])
    count = len(REWARD_STUDY_MODELS)
    phi = rng.standard_normal((CONTEXTS, count, FEATURES)) / np.sqrt(FEATURES)
    psi = phi @ rng.standard_normal((FEATURES, PROXIES)) + 0.5 * rng.standard_normal((CONTEXTS, count, PROXIES))
    quality = 0.5 + 0.08 * rng.standard_normal(count)
    truth = np.clip(quality + phi @ (0.2 * rng.standard_normal(FEATURES)), 0.02, 0.98)
    log_bias = bias * OUTCOME_SD / np.sqrt(rows_per_model) * rng.standard_normal(count)
    draw = partial(_draw_rows, rng, phi, psi, truth)
    log = draw(rng.integers(count, size=LOG_ROWS), rng.integers(CONTEXTS, size=LOG_ROWS), log_bias)
    rows = rows_per_model * count
    model, context = rng.integers(count, size=rows), rng.integers(CONTEXTS, size=rows)
    experiment = draw(model, context, np.zeros(count))
    return RewardStudy(log, experiment, model, context, phi, psi, truth.mean(axis=0))


def _draw_rows(
    rng: np.random.Generator,
    phi: FloatArray,
    psi: FloatArray,
    truth: FloatArray,
    model: IntArray,
    context: IntArray,
    bias: FloatArray,
) -> Rows:
    probability = np.clip(truth[context, model] + bias[model], 0.0, 1.0)
    outcome = (rng.random(len(model)) < probability).astype(np.float64)
    return Rows(phi[context, model], psi[context, model], outcome, model, context=context)


@dataclass(frozen=True, slots=True)
class CrossFittedStudy:
    """A family with its hyperparameters, prepared on the study, and the experiment with out-of-fold rewards."""

    family: Family
    prepared: Prepared[Family]
    scored: ScoredExperiment


def cross_fit_reward_study(study: RewardStudy, family: Family) -> CrossFittedStudy:
    """Cross-fit as ``evaluate`` does, with default hyperparameters and five folds by context."""
    experiment = study.experiment
    sources = TrainingData(study.log, experiment)
    family = family.resolve(sources)
    prepared = type(family).prepare(sources, [family])
    q, prediction = np.empty((len(experiment), len(REWARD_STUDY_MODELS))), np.empty(len(experiment))
    for fold in group_folds(study.context, FOLDS, 0):
        fit = prepared.fit(family, fold.train)
        q[fold.held_out] = study.replayed(fit)[fold.held_out]
        prediction[fold.held_out] = fit.predict(experiment.take(fold.held_out))
    scored = ScoredExperiment.from_arrays(
        REWARD_STUDY_MODELS, q, prediction, study.model, experiment.require_outcome(), cluster=study.context
    )
    return CrossFittedStudy(family, prepared, scored)


def covers(interval: FloatArray, truth: FloatArray) -> NDArray[np.bool_]:
    """Whether each interval (k, 2) contains the true value (k,)."""
    return np.asarray((interval[:, 0] <= truth) & (truth <= interval[:, 1]))

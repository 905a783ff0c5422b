"""Estimate plan inputs from a pilot: a few randomized rows with out-of-fold reward predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.crossfit import cross_fit
from deconfound.data import Study
from deconfound.design import FloatArray, IntArray
from deconfound.errors import EvidenceError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.formatting import pluralize
from deconfound.linalg import one_blas_thread
from deconfound.plan.forecast import tuning_inflation
from deconfound.plan.inputs import MIN_TOTAL_DF, PlanInputs, ResidualShape, posterior_values, variance_factor_interval
from deconfound.progress import Progress
from deconfound.reward import Auto, Family
from deconfound.value import tuned_doubly_robust
from deconfound.value.small_sample import ROUNDING, Shares, moderated, skewness

FOLDS = 5  # as in ``evaluate``


@dataclass(frozen=True, slots=True)
class Pilot:
    """An experiment as arrays, in the order of the arguments of ``tuned_doubly_robust``."""

    q: FloatArray  # (n, k)
    model: IntArray  # (n,)
    outcome: FloatArray  # (n,)
    prediction: FloatArray  # (n,) out of fold
    propensity: FloatArray | None = None  # (n,)
    cluster: IntArray | None = None  # (n,)


def inputs_from_study(study: Study, family: Family | None, seed: int, progress: Progress) -> PlanInputs:
    """Cross-fit a reward as ``evaluate`` does and estimate what it leaves unexplained."""
    with one_blas_thread():
        progress("reading texts", 0.0)
        arrays = StudyArrays.of(study, FeatureSpec(source="text" if study.has_text else "columns"))
        fitted = cross_fit(arrays, family or Auto(), FOLDS, seed, None, progress)
    trial = arrays.trial
    pilot = Pilot(fitted.q, trial.model, trial.outcome, fitted.prediction, trial.propensity, trial.cluster)
    return inputs_from_pilot(study.models, pilot, study.experiment.source)


def inputs_from_pilot(models: Sequence[str], pilot: Pilot, source_name: str = "pilot") -> PlanInputs:
    """Row variances from the variances of the pilot's values.

    They are moderated as in the estimator, so that five equal outcomes do not imply a variance of zero, and inflated
    because the reward's weight was chosen on the same rows.
    """
    count = len(models)
    values = tuned_doubly_robust(
        models, pilot.q, pilot.model, pilot.outcome, pilot.prediction, pilot.propensity, pilot.cluster
    )
    weight = np.ones(len(pilot.model)) if pilot.propensity is None else 1 / pilot.propensity
    shares = Shares.of(pilot.model, count, weight, pilot.cluster)
    rows = np.bincount(pilot.model, minlength=count)[:count]
    outcome, prediction = shares.influence(pilot.outcome), shares.influence(pilot.prediction)
    if shares.df.sum() < MIN_TOTAL_DF or np.abs(outcome).max() < ROUNDING:
        raise EvidenceError(_too_little(source_name, len(pilot.model), count))
    reward_weight = np.zeros(count) if values.power is None else values.power
    residual = outcome - reward_weight * prediction
    with np.errstate(divide="ignore", invalid="ignore"):
        effective_row_share = np.where(shares.blind, 1.0, np.minimum((shares.df + 1) / rows, 1.0))
    without = _row_variance(shares, outcome, effective_row_share)
    inflation = tuning_inflation(shares.df) if reward_weight.any() else 1.0
    tuned = _row_variance(shares, residual, effective_row_share) * inflation
    reward_helps = bool(reward_weight.any()) and tuned.sum() < without.sum()
    shape = _residual_shape(shares, residual if reward_helps else outcome)
    return PlanInputs(
        models=tuple(models),
        outcome_variance=without,
        residual_variance=np.minimum(tuned, without) if reward_helps else without,
        context_covariance=_context_covariance(pilot, shares, reward_weight)
        if reward_helps
        else np.zeros((count,) * 2),
        excess_kurtosis=np.full(count, shape.excess_kurtosis),
        squared_skewness=np.full(count, shape.squared_skewness),
        effective_row_share=effective_row_share,
        prior=posterior_values(values.estimate, values.covariance),
        variance_factor_interval=variance_factor_interval(float(shares.df.sum()), float(without.mean())),
        source="pilot",
        source_name=source_name,
        rows_per_model=tuple(int(n) for n in rows),
        pilot_rows=len(pilot.model),
    )


def _too_little(source_name: str, rows: int, models: int) -> str:
    return (
        f"{source_name}: {pluralize(rows, 'row')} of {pluralize(models, 'model')} are too few or have constant "
        f"outcomes. A plan needs varying outcomes and {MIN_TOTAL_DF} independent rows beyond the first of each model. "
        "Randomize more contexts, leave --experiment out, or give --models N and --outcome-sd S instead of files."
    )


def _row_variance(shares: Shares, influence: FloatArray, effective_row_share: FloatArray) -> FloatArray:
    """Variance of a mean times its number of rows (k,); a model without rows gets the pooled variance."""
    own = moderated(shares, influence, still=False)
    inverse_rows = np.where(shares.blind, 1.0, shares.size)
    return np.asarray(((own.influence**2).sum(axis=0) + own.extra) / inverse_rows / effective_row_share)


def _context_covariance(pilot: Pilot, shares: Shares, reward_weight: FloatArray) -> FloatArray:
    """Covariance over contexts of reward_weight * q; the diagonal adds twice its covariance with the own residual."""
    weighted_q = reward_weight * pilot.q
    covariance = np.atleast_2d(np.cov(weighted_q.T))
    for a in np.flatnonzero(~shares.blind):
        row_weight = shares.share[:, a]
        residual = pilot.outcome - reward_weight[a] * pilot.prediction
        product = row_weight @ (residual * weighted_q[:, a])
        covariance[a, a] += 2 * (product - (row_weight @ residual) * (row_weight @ weighted_q[:, a]))
    return covariance


def _residual_shape(shares: Shares, influence: FloatArray) -> ResidualShape:
    """Moments of the residuals, models weighted by their degrees of freedom."""
    varies = ~shares.blind & ((influence**2).sum(axis=0) > ROUNDING)
    fourth = (influence[:, varies] ** 4).sum(axis=0) / (shares.held[:, varies] ** 4).sum(axis=0)
    second = (influence[:, varies] ** 2).sum(axis=0) / shares.size[varies]
    weight = np.maximum(shares.df[varies], ROUNDING)
    return ResidualShape.average(fourth / second**2, skewness(shares, influence)[varies], weight)

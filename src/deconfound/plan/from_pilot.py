"""Estimate plan inputs from a pilot: a few randomized rows with out-of-fold reward predictions."""

from __future__ import annotations

import numpy as np

from deconfound.crossfit import cross_fit
from deconfound.data import Study
from deconfound.design import FloatArray
from deconfound.errors import EvidenceError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.formatting import pluralize
from deconfound.linalg import one_blas_thread
from deconfound.plan.forecast import tuning_inflation
from deconfound.plan.inputs import MIN_TOTAL_DF, PlanInputs, ResidualShape, posterior_values, variance_factor_interval
from deconfound.progress import Progress
from deconfound.reward import Auto, Family
from deconfound.surface_share import StudyTrainingData
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.small_sample import ROUNDING_ATOL, ModelWeights, moderated, squared_skewness

FOLDS = 5  # as in ``evaluate``


def inputs_from_study(study: Study, family: Family | None, seed: int, progress: Progress) -> PlanInputs:
    """Cross-fit a reward as ``evaluate`` does and estimate what it leaves unexplained."""
    with one_blas_thread():
        progress("reading texts", 0.0)
        arrays = StudyArrays.from_study(study, FeatureSpec())
        fitted = cross_fit(StudyTrainingData(arrays), family or Auto(), FOLDS, seed, None, progress)
    experiment = arrays.experiment
    pilot = ScoredExperiment.from_arrays(
        study.models,
        fitted.q,
        fitted.prediction,
        experiment.model,
        experiment.outcome,
        propensity=experiment.propensity,
        cluster=experiment.cluster,
    )
    return inputs_from_pilot(pilot, study.experiment.source)


def inputs_from_pilot(pilot: ScoredExperiment, source_name: str = "pilot") -> PlanInputs:
    """Row variances from the variances of the pilot's values.

    They are moderated as in the estimator, so that five equal outcomes do not imply a variance of zero, and inflated
    because the reward's weight was chosen on the same rows.
    """
    models, count = pilot.models, len(pilot.models)
    values = tuned_doubly_robust(pilot)
    weights = ModelWeights.from_rows(pilot.model, count, 1 / pilot.propensity, pilot.cluster)
    rows = np.bincount(pilot.model[pilot.compared], minlength=count)
    outcome, prediction = weights.influence(pilot.outcome), weights.influence(pilot.prediction)
    if weights.df.sum() < MIN_TOTAL_DF or np.abs(outcome).max() < ROUNDING_ATOL:
        raise EvidenceError(_too_little(source_name, len(pilot.model), count))
    reward_weight = np.zeros(count) if values.reward_weight is None else values.reward_weight
    residual = outcome - reward_weight * prediction
    with np.errstate(divide="ignore", invalid="ignore"):
        effective_row_share = np.where(weights.inestimable, 1.0, np.minimum((weights.df + 1) / rows, 1.0))
    without = _row_variance(weights, outcome, effective_row_share)
    inflation = tuning_inflation(weights.df) if reward_weight.any() else 1.0
    tuned = _row_variance(weights, residual, effective_row_share) * inflation
    reward_helps = bool(reward_weight.any()) and tuned.sum() < without.sum()
    shape = _residual_shape(weights, residual if reward_helps else outcome)
    return PlanInputs(
        models=models,
        outcome_variance=without,
        residual_variance=np.minimum(tuned, without) if reward_helps else without,
        context_covariance=_context_covariance(pilot, weights, reward_weight)
        if reward_helps
        else np.zeros((count,) * 2),
        excess_kurtosis=np.full(count, shape.excess_kurtosis),
        squared_skewness=np.full(count, shape.squared_skewness),
        effective_row_share=effective_row_share,
        prior=posterior_values(values.estimate, values.covariance),
        variance_factor_interval=variance_factor_interval(float(weights.df.sum()), float(without.mean())),
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


def _row_variance(weights: ModelWeights, influence: FloatArray, effective_row_share: FloatArray) -> FloatArray:
    """Variance of a mean times its number of rows (k,); a model without rows gets the pooled variance."""
    own = moderated(weights, influence, all_constant=False)
    inverse_rows = np.where(weights.inestimable, 1.0, weights.sum_squared_weight)
    return np.asarray(((own.influence**2).sum(axis=0) + own.added_variance) / inverse_rows / effective_row_share)


def _context_covariance(pilot: ScoredExperiment, weights: ModelWeights, reward_weight: FloatArray) -> FloatArray:
    """Covariance over contexts of reward_weight * q; the diagonal adds twice its covariance with the own residual."""
    weighted_q = reward_weight * pilot.q
    covariance = np.atleast_2d(np.cov(weighted_q.T))
    for a in np.flatnonzero(~weights.inestimable):
        row_weight = weights.weight[:, a]
        residual = pilot.outcome - reward_weight[a] * pilot.prediction
        product = row_weight @ (residual * weighted_q[:, a])
        covariance[a, a] += 2 * (product - (row_weight @ residual) * (row_weight @ weighted_q[:, a]))
    return covariance


def _residual_shape(weights: ModelWeights, influence: FloatArray) -> ResidualShape:
    """Moments of the residuals, models weighted by their degrees of freedom."""
    varies = ~weights.inestimable & ((influence**2).sum(axis=0) > ROUNDING_ATOL)
    fourth = (influence[:, varies] ** 4).sum(axis=0) / (weights.cluster_weight[:, varies] ** 4).sum(axis=0)
    second = (influence[:, varies] ** 2).sum(axis=0) / weights.sum_squared_weight[varies]
    weight = np.maximum(weights.df[varies], ROUNDING_ATOL)
    return ResidualShape.average(fourth / second**2, squared_skewness(weights, influence)[varies], weight)

"""Estimate plan inputs from a pilot: a few randomized rows with out-of-fold reward predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deconfound.crossfit import cross_fit
from deconfound.data import Study
from deconfound.design import FloatArray, IntArray
from deconfound.errors import EvidenceError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.formatting import pluralize
from deconfound.planning.forecast import tuning_inflation
from deconfound.planning.inputs import MIN_TOTAL_DF, PlanInputs, posterior_values, variance_factor_interval
from deconfound.progress import Progress
from deconfound.reward import Auto, Family
from deconfound.surface_share import StudyTrainingData
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.clusters import Influence
from deconfound.value.control_variate import InfluenceTerms
from deconfound.value.mean_weights import ROUNDING_ATOL, ModelWeights, independent_rows
from deconfound.value.small_sample import moderated
from deconfound.value_methods import score_experiment

FOLDS = 5  # as in ``evaluate``


def inputs_from_study(study: Study, family: Family | None, seed: int, progress: Progress) -> PlanInputs:
    """Cross-fit a reward as ``evaluate`` does and estimate what it leaves unexplained."""
    with one_blas_thread():
        progress("reading texts", 0.0)
        arrays = StudyArrays.from_study(study, FeatureSpec())
        fitted = cross_fit(StudyTrainingData(arrays), family or Auto(), FOLDS, seed, None, progress)
    return inputs_from_pilot(score_experiment(arrays, fitted), study.experiment.source)


def inputs_from_pilot(pilot: ScoredExperiment, source_name: str = "pilot") -> PlanInputs:
    """Variances per row from the variances of the pilot's values.

    They are moderated as in the estimator, so that five equal outcomes do not imply a variance of zero, and inflated
    because the reward's weight was chosen on the same rows. Repeated users and unequal propensities are included: the
    planned experiment is assumed to have as many rows per user, and propensities as unequal, as the pilot.
    """
    count, rows = len(pilot.models), np.bincount(pilot.model[pilot.compared], minlength=len(pilot.models))
    terms = InfluenceTerms.from_experiment(pilot, pilot.q[:0])
    weights = terms.weights
    if weights.df.sum() < MIN_TOTAL_DF or terms.outcome_influence.variance().max() < ROUNDING_ATOL**2:
        constant = bool(np.ptp(pilot.outcome) < ROUNDING_ATOL)
        raise EvidenceError(_too_little(source_name, len(pilot.model), weights, constant=constant))
    values = tuned_doubly_robust(pilot)
    reward_weight = np.zeros(count) if values.reward_weight is None else values.reward_weight
    residual = terms.outcome_influence - terms.prediction_influence.scaled(reward_weight)
    without = _row_variance(terms, terms.outcome_influence, values.estimate, rows)
    tuned = _row_variance(terms, residual, values.estimate, rows) * tuning_inflation(weights.df)
    reward_helps = bool(reward_weight.any()) and tuned.sum() < without.sum()
    within_model = _within_model_variance(pilot, values.estimate, rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Those of the planned experiment: the smaller one is, the closer they are to the effective number of rows.
        df_per_row = np.where(weights.inestimable, 1.0, np.minimum((independent_rows(weights) - 1) / (rows - 1), 1.0))
    q = terms.q_influence.scaled(reward_weight if reward_helps else 0.0)
    return PlanInputs(
        models=pilot.models,
        within_model_variance=within_model,
        outcome_variance=without,
        residual_variance=np.minimum(tuned, without) if reward_helps else without,
        context_covariance=len(pilot.model) * (q.covariance() + np.diag(2 * residual.product(q))),
        df_per_row=df_per_row,
        prior=posterior_values(values.estimate, values.covariance),
        variance_factor_interval=variance_factor_interval(float(weights.df.sum()), float(within_model.mean())),
        source="pilot",
        source_name=source_name,
        rows_per_model=tuple(int(n) for n in rows),
        pilot_rows=len(pilot.model),
    )


def _too_little(source_name: str, rows: int, weights: ModelWeights, *, constant: bool) -> str:
    models, repeats = len(weights.df), weights.clusters.count < rows
    independent = float(independent_rows(weights)[~weights.inestimable].sum())
    count_as = f" count as {independent:.0f} independent rows, because users or contexts repeat. They"
    return (
        f"{source_name}: {pluralize(rows, 'row')} of {pluralize(models, 'model')}{count_as if repeats else ''} "
        f"{'have constant outcomes' if constant else 'are too few'}. A plan needs varying outcomes and {MIN_TOTAL_DF} "
        f"independent rows beyond the first of each model. Randomize more {'users and ' * repeats}contexts, leave "
        "--experiment out, or give --models N and --outcome-sd S instead of files."
    )


def _within_model_variance(pilot: ScoredExperiment, mean: FloatArray, rows: IntArray) -> FloatArray:
    """Variance of a single outcome (k,): without clusters and propensities."""
    unrelated = replace(pilot, propensity=np.ones(len(pilot.model)), cluster=np.arange(len(pilot.model)))
    terms = InfluenceTerms.from_experiment(unrelated, pilot.q[:0])
    return _row_variance(terms, terms.outcome_influence, mean, rows)


def _row_variance(terms: InfluenceTerms, influence: Influence, mean: FloatArray, rows: IntArray) -> FloatArray:
    """Variance of a mean times its number of rows (k,); a model without rows gets the mean over the other models.

    It exceeds the variance of a single outcome by the design effect of repeated users and unequal weights.
    """
    weights, own_variance = terms.weights, influence.variance()
    moderation = moderated(weights, influence, terms.outcomes)
    variance = rows * (own_variance + moderation.added_variance(weights, own_variance, mean))
    return np.where(weights.inestimable, variance[~weights.inestimable].mean(), variance)

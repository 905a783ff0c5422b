"""Estimate plan inputs from a log and a replay, before anything was randomized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.errors import EvidenceError
from deconfound.features import FeatureBlocks, FeatureSpec
from deconfound.features.study_arrays import ReplayArrays
from deconfound.formatting import pluralize
from deconfound.loading import LogAndReplay
from deconfound.planning.inputs import (
    MAX_OUTCOME_SD,
    MIN_BETWEEN_MODEL_SD,
    MIN_TOTAL_DF,
    PlanInputs,
    ValuePrior,
    variance_factor_interval,
)
from deconfound.progress import Progress
from deconfound.reward import ObsOnly
from deconfound.threads import one_blas_thread
from deconfound.value.mean_weights import ROUNDING_ATOL
from deconfound.value.small_sample import PRIOR_DF

FOLDS = 5  # by context, as in ``evaluate``
MAX_LOG_ROWS = 6000  # distinct log rows to fit; a longer log is sampled
SURFACE_SHARE = 0.5  # of the surface statistics in phi; only an experiment could choose it
EXPLAINED_RETENTION = 0.5  # of the reward's R² in the log: part of it is the choice of model, which randomizing removes
DIFFERENCE_RETENTION = 0.5  # of the differences between the log's means; the rest is taken to be confounding
VARIANCE_FACTOR = 1.5  # by which the variance of randomized outcomes may differ from that of logged ones


@dataclass(frozen=True, slots=True)
class HeldOutLog:
    """Log rows with out-of-fold reward predictions, and the reward on the replay."""

    model: IntArray  # (n,) codes of k or more are models that are not compared
    outcome: FloatArray  # (n,)
    prediction: FloatArray  # (n,) fitted without the row's context
    q: FloatArray  # (contexts, k); NaN where a model has no replay


def inputs_from_log(source: LogAndReplay, seed: int, progress: Progress) -> PlanInputs:
    """Fit a reward to the log, predict held-out contexts, and discount what it explains there."""
    progress("fitting the log", 0.0)
    with one_blas_thread():
        held_out = _predict_held_out(source, seed)
    return inputs_from_held_out_log(source.models, held_out, source.log.source)


def inputs_from_held_out_log(models: tuple[str, ...], log: HeldOutLog, source_name: str = "log") -> PlanInputs:
    """Variances within models, the discounted R² of the reward, and discounted differences between means."""
    count = len(models)
    code = np.where(log.model < count, log.model, -1)
    rows = np.bincount(code[code >= 0], minlength=count).astype(np.float64)
    mean, variance = _moments(code, log.outcome, rows, source_name)
    outcome, prediction = (_center_by_model(code, column, rows) for column in (log.outcome, log.prediction))
    r2, reward_weight = _discounted_regression(outcome, prediction)
    complete = log.q[~np.isnan(log.q).any(axis=1)]
    covariance = reward_weight**2 * np.atleast_2d(np.cov(complete.T)) if len(complete) > 1 else np.zeros((count, count))
    retained_r2 = EXPLAINED_RETENTION * r2
    return PlanInputs(
        models=models,
        within_model_variance=variance,
        outcome_variance=variance,
        residual_variance=(1 - retained_r2) * variance,
        context_covariance=covariance,
        df_per_row=np.ones(count),
        prior=_discounted_values(mean, variance, rows),
        variance_factor_interval=_variance_factors(float(variance.mean()), rows, r2, retained_r2),
        source="log",
        source_name=source_name,
        rows_per_model=tuple(int(n) for n in rows),
    )


def _discounted_regression(outcome: FloatArray, prediction: FloatArray) -> tuple[float, float]:
    """R² of centered outcomes on centered predictions, and the slope that reproduces its discounted value.

    Both are zero if predictions and outcomes are not positively correlated.
    """
    covariation, variation = max(float(outcome @ prediction), 0.0), float(prediction @ prediction)
    if covariation <= ROUNDING_ATOL:
        return 0.0, 0.0
    r2 = covariation**2 / max(float(outcome @ outcome) * variation, ROUNDING_ATOL)
    return r2, np.sqrt(EXPLAINED_RETENTION) * covariation / variation if r2 > 0 else 0.0


def _variance_factors(variance: float, rows: FloatArray, r2: float, retained_r2: float) -> tuple[float, float]:
    """From "all of the R² lasts and variances are smaller" to "none of it lasts and they are larger"."""
    low, high = variance_factor_interval(float(np.maximum(rows - 1, 0.0).sum()), variance)
    largest = MAX_OUTCOME_SD**2 / variance
    return (
        min(1 / VARIANCE_FACTOR, low) * (1 - r2) / (1 - retained_r2),
        max(min(VARIANCE_FACTOR, largest), high) / (1 - retained_r2),
    )


def _predict_held_out(source: LogAndReplay, seed: int) -> HeldOutLog:
    log, models = source.log, source.models
    featurizer, blocks = FeatureSpec().fit_transform_log(log)
    replay = ReplayArrays.from_replay(source.replay, models, featurizer)
    outcome = log.arrow["outcome"].to_numpy()
    _, model = encode(log.arrow["model"], (*models, *sorted(log.unique_values("model").difference(models))))
    _, context = encode(log.arrow["context_id"], None)
    rows, sampled = _distinct_rows(blocks, outcome, context, seed)
    prediction = _cross_predict(rows, seed)
    q = ObsOnly().fit(rows, rows).mean_by_cell(replay.rows(_surface_share(blocks)))
    position = np.full(int(blocks.row_index.max()) + 1, -1)
    position[sampled] = np.arange(len(sampled))
    distinct_row = position[blocks.row_index]
    used = distinct_row >= 0
    return HeldOutLog(model[used], outcome[used], prediction[distinct_row[used]], q)


def _surface_share(blocks: FeatureBlocks) -> float:
    return SURFACE_SHARE if blocks.has_text_and_dense else 0.0


def _distinct_rows(blocks: FeatureBlocks, outcome: FloatArray, context: IntArray, seed: int) -> tuple[Rows, IntArray]:
    """Distinct log rows with their mean outcomes, and their indices; a sample if there are many."""
    weight = np.bincount(blocks.row_index).astype(np.float64)
    mean = np.bincount(blocks.row_index, weights=outcome) / weight
    first_context = np.empty(len(weight), dtype=np.int64)
    first_context[blocks.row_index[::-1]] = context[::-1]
    sampled = np.arange(len(weight))
    if len(sampled) > MAX_LOG_ROWS:
        sampled = np.sort(np.random.default_rng(seed).choice(len(sampled), MAX_LOG_ROWS, replace=False))
    phi = blocks.phi(_surface_share(blocks))[sampled]
    return Rows(phi, outcome=mean[sampled], weight=weight[sampled], context=first_context[sampled]), sampled


def _cross_predict(rows: Rows, seed: int) -> FloatArray:
    """Prediction for each distinct row by a reward fitted to other contexts."""
    context = rows.context if rows.context is not None else np.arange(len(rows))
    prediction = np.full(len(rows), float(rows.require_outcome().mean()))
    for fold in group_folds(context, FOLDS, seed):
        held_out = rows.take(fold.held_out)
        prediction[fold.held_out] = ObsOnly().fit(rows.take(fold.train), held_out).predict(held_out)
    return prediction


def _moments(code: IntArray, outcome: FloatArray, rows: FloatArray, source_name: str) -> tuple[FloatArray, FloatArray]:
    """Mean outcome (k,), NaN without rows, and variance (k,) moderated toward the pooled one."""
    compared = code >= 0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(code[compared], weights=outcome[compared], minlength=len(rows)) / rows
    squares = _center_by_model(code, outcome, rows) ** 2
    df = np.maximum(rows - 1, 0.0)
    summed = np.bincount(code[compared], weights=squares, minlength=len(rows))
    if df.sum() < MIN_TOTAL_DF or summed.sum() < ROUNDING_ATOL:
        raise EvidenceError(
            f"{source_name}: {pluralize(int(rows.sum()), 'row')} of the compared models are too few or have constant "
            f"outcomes. A plan needs varying outcomes and {MIN_TOTAL_DF} rows beyond the first of each model. "
            "Give a longer log, or --models N and --outcome-sd S instead of files."
        )
    pooled = float(summed.sum() / df.sum())
    return mean, (PRIOR_DF * pooled + summed) / (PRIOR_DF + df)


def _center_by_model(code: IntArray, column: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows of the compared models minus the mean of their model."""
    compared = code >= 0
    mean = np.bincount(code[compared], weights=column[compared], minlength=len(rows)) / np.maximum(rows, 1.0)
    return np.asarray(column[compared] - mean[code[compared]])


def _discounted_values(mean: FloatArray, variance: FloatArray, rows: FloatArray) -> ValuePrior:
    """Values given the log's means, if a share of the variance between the means is real.

        log mean = value + bias,   var(value) = share * var(log mean),   share = DIFFERENCE_RETENTION
        value | log mean ~ Normal(common + share * (log mean - common), share * (1 - share) * var(log mean))

    A model without log rows gets the common mean and the variance of a new model.
    """
    logged = rows > 0
    center = float(mean[logged].mean())
    between = 0.0
    if logged.sum() > 1:
        between = float(mean[logged].var(ddof=1) - (variance[logged] / rows[logged]).mean())
    between = max(between, MIN_BETWEEN_MODEL_SD**2 / DIFFERENCE_RETENTION)
    expected = np.where(logged, center + DIFFERENCE_RETENTION * (mean - center), center)
    value_variance = np.where(logged, 1 - DIFFERENCE_RETENTION, 1.0) * DIFFERENCE_RETENTION * between
    return ValuePrior(expected, np.diag(value_variance))

"""Calibration of a reward's differences between contexts, estimated from randomized outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, ReplayRows
from deconfound.errors import UsageError
from deconfound.reward import RewardFit
from deconfound.value import ScoredExperiment, Values, tuned_doubly_robust
from deconfound.value.small_sample import ROUNDING_ATOL, sum_by_cluster

UNEXPLAINED_CONTEXT_SHARE = 0.1
"""Assumed share of the unexplained outcome variance that is a true difference between contexts.

With one outcome per context it cannot be estimated: it is not separable from noise. In the demo it is 0.04.
"""

MAX_OUTCOME_VARIANCE = 0.25  # of any outcome in [0, 1]; used where no residual degrees of freedom are left


@dataclass(frozen=True, slots=True)
class Calibration:
    """Linear calibration of a reward on single contexts.

        calibrated q(x, a) = value_a + slope * (q(x, a) - mean_q_a)

    The unbiased values give the difference between two models on average. The reward only states on which contexts it
    is larger or smaller, and ``slope`` is the part of that confirmed on contexts that the reward was not fitted on.
    """

    value: FloatArray  # (k,) unbiased values
    mean_q: FloatArray  # (k,) over the contexts that ``value`` describes
    slope: float  # in [0, 1]
    slope_standard_error: float  # infinite where it cannot be estimated
    draw_variance: FloatArray  # (k,) variance of the reward between two outputs on one context
    context_residual_variance: float  # assumed variance of a model's value between contexts, beyond the reward
    df: FloatArray  # (k,)

    @classmethod
    def identity(cls, count: int) -> Self:
        """Identity calibration (slope 1), without any error. Overconfident; used only where none was fitted."""
        zeros = np.zeros(count)
        return cls(zeros, zeros, 1.0, 0.0, zeros, 0.0, np.full(count, np.inf))


def fit_calibration(
    values: Values,
    data: ScoredExperiment,
    *,
    replay: ReplayRows,
    reward: RewardFit,
    context_weight: FloatArray | None = None,
    unexplained_context_share: float = UNEXPLAINED_CONTEXT_SHARE,
) -> Calibration:
    """Calibrate the final ``reward`` with a slope estimated from the out-of-fold rewards in ``data``.

    The average of q over replay draws does not include the row's own output, so a reward that follows random
    differences between outputs has a small slope, as it should. ``values`` are unbiased values over the replayed
    contexts, weighted by ``context_weight`` (contexts,); the slope does not depend on weights.
    """
    if not 0.0 <= unexplained_context_share <= 1.0:
        raise UsageError(
            f"unexplained_context_share is a share of variance in [0, 1], not {unexplained_context_share!r}."
        )
    fit = _SlopeFit.from_experiment(data, data.q.mean(axis=0))
    q = reward.mean_by_cell(replay)
    mean_q = np.average(q, axis=0, weights=context_weight)
    between_contexts = (q - q.mean(axis=1, keepdims=True)).var(axis=0)
    return Calibration(
        value=_value_or(values, mean_q),
        mean_q=mean_q,
        slope=fit.clipped_slope,
        slope_standard_error=fit.standard_error,
        draw_variance=_draw_variance(replay, reward.predict_without_model_effect(replay.distinct), between_contexts),
        context_residual_variance=unexplained_context_share * fit.residual_variance,
        df=np.minimum(values.df_or_inf, fit.df),
    )


def cross_fitted_calibrated_q(data: ScoredExperiment, folds: Sequence[Fold]) -> FloatArray:
    """Calibrated q (n, k) on the context of each row, with the calibration fitted on the other folds.

    The policy that picks the largest entry is the recommended one, and can be evaluated on these rows.
    """
    calibrated = np.empty_like(data.q)
    for fold in folds:
        train = data.take(fold.train)
        values = tuned_doubly_robust(train)
        mean_q = np.average(train.q, axis=0, weights=train.weight)
        slope = _SlopeFit.from_experiment(train, mean_q).clipped_slope
        calibrated[fold.held_out] = _value_or(values, mean_q) + slope * (data.q[fold.held_out] - mean_q)
    return calibrated


def _value_or(values: Values, mean_q: FloatArray) -> FloatArray:
    """Unbiased values; ``mean_q`` for a model without experiment rows."""
    return np.where(np.isnan(values.center), mean_q, values.center)


@dataclass(frozen=True, slots=True)
class _SlopeFit:
    """Regression of outcomes on the reward's deviations."""

    slope: float
    standard_error: float
    residual_variance: float
    df: float

    @property
    def clipped_slope(self) -> float:
        """The slope, limited to [0, 1]."""
        return float(np.clip(self.slope, 0.0, 1.0))

    @classmethod
    def from_experiment(cls, data: ScoredExperiment, mean_q: FloatArray) -> Self:
        """Least squares weighted by 1 / propensity, with cluster-robust standard errors.

            outcome_j = intercept of model_j + b * common_j + slope * (d_j,model_j - common_j) + noise

        d = q - mean_q, and common_j is the mean of d_j over models. What all models have in common on a context is no
        reason to prefer one of them, so it has its own coefficient b. Rows of uncompared models are left out.
        """
        rows = data.compared
        deviation = (data.q - mean_q)[rows]
        model, outcome, cluster = data.model[rows], data.outcome[rows], data.cluster[rows]
        common = deviation.mean(axis=1)
        own = deviation[np.arange(len(model)), model] - common
        nuisance = np.column_stack([model[:, None] == np.unique(model), common]).astype(np.float64)
        return cls._by_partial_regression(own, outcome, nuisance, 1 / data.propensity[rows], cluster)

    @classmethod
    def _by_partial_regression(
        cls, own: FloatArray, outcome: FloatArray, nuisance: FloatArray, weight: FloatArray, cluster: IntArray
    ) -> Self:
        """Slope of ``own`` after regressing the ``nuisance`` columns out of both sides (Frisch-Waugh)."""
        root = np.sqrt(weight * len(weight) / weight.sum()) if len(weight) else weight
        regressor, response = (_residualize(root[:, None] * nuisance, root * column) for column in (own, outcome))
        sum_of_squares = float(regressor @ regressor)
        _, code = np.unique(cluster, return_inverse=True)
        n_clusters = int(code.max(initial=-1)) + 1
        parameters = nuisance.shape[1] + 1
        df, row_df = float(n_clusters - parameters), len(outcome) - parameters
        slope = float(regressor @ response) / sum_of_squares if sum_of_squares > ROUNDING_ATOL else 0.0
        residual = response - slope * regressor
        residual_variance = float(residual @ residual) / row_df if row_df > 0 else MAX_OUTCOME_VARIANCE
        if df < 1 or sum_of_squares <= ROUNDING_ATOL:
            return cls(0.0, np.inf, residual_variance, max(df, 1.0))
        score = sum_by_cluster((regressor * residual)[:, None], code, n_clusters)
        standard_error = float(np.sqrt((score**2).sum() * n_clusters / df)) / sum_of_squares
        return cls(slope, standard_error, residual_variance, df)


def _residualize(nuisance: FloatArray, column: FloatArray) -> FloatArray:
    """Residuals of a column after least squares on the nuisance columns."""
    return np.asarray(column - nuisance @ np.linalg.lstsq(nuisance, column, rcond=None)[0])


def _draw_variance(replay: ReplayRows, reward: FloatArray, between_contexts: FloatArray) -> FloatArray:
    """Variance of the reward between draws on one context (k,).

    It cannot be estimated for a model with one draw per context; ``between_contexts`` (k,) is used instead.
    """
    draws, mean = replay.draw_counts(), replay.mean_over_draws(reward)
    squared = (reward[replay.row_index] - mean[replay.context, replay.model]) ** 2
    draw_df = (draws - (draws > 0)).sum(axis=0)
    total = np.bincount(replay.model, weights=squared, minlength=replay.n_models)
    return np.where(draw_df > 0, total / np.maximum(draw_df, 1.0), between_contexts)

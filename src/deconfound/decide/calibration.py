"""Calibration of a reward's differences between contexts, estimated from randomized outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.decide.context_variance import ContextVariance
from deconfound.decide.recurring_contexts import PairVariances, RatedRows
from deconfound.design import FloatArray, Fold, IntArray, ReplayRows, Rows
from deconfound.reward import RewardFit
from deconfound.value import ScoredExperiment, Values, shrink_toward, tuned_doubly_robust
from deconfound.value.clusters import Clusters
from deconfound.value.mean_weights import ROUNDING_ATOL

MIN_SLOPE_SE = 2.0  # standard errors by which a slope must exceed zero to count; measured, see decision 0010


@dataclass(frozen=True, slots=True)
class Calibration:
    """Linear calibration of a reward on single contexts.

        calibrated q(x, a) = value_a + common_slope * common(x) + slope * (q(x, a) - mean_q_a - common(x))

    ``common(x)`` is the mean of q - mean_q over models. The values give the difference between two models on average.
    The reward only states on which contexts it is larger or smaller, and the slopes are the part of that confirmed on
    contexts that the reward was not fitted on.
    """

    value: FloatArray  # (k,)
    mean_q: FloatArray  # (k,) over the contexts that ``value`` describes
    slope: float  # in [0, 1]
    slope_standard_error: float  # infinite where it cannot be estimated
    common_slope: float  # in [0, 1]
    draw_variance: FloatArray  # (k,) variance of the reward between two outputs on one context
    context_variance: ContextVariance
    df: FloatArray  # (k,)

    @classmethod
    def identity(cls, count: int) -> Self:
        """Identity calibration (slope 1), without any error. Overconfident; used only where none was fitted."""
        zeros = np.zeros(count)
        return cls(zeros, zeros, 1.0, 0.0, 1.0, zeros, ContextVariance.zero(count), np.full(count, np.inf))

    @property
    def largest_slope_estimate(self) -> float:
        """The slope before it was shrunk, or the largest that is shrunk to zero; see ``SlopeFit.shrunken_slope``."""
        noise = MIN_SLOPE_SE * self.slope_standard_error
        return float((self.slope + np.hypot(self.slope, 2 * noise)) / 2)

    def calibrate(self, q: FloatArray) -> FloatArray:
        """Calibrated q (n, k)."""
        deviation = q - self.mean_q
        common = deviation.mean(axis=1, keepdims=True)
        return np.asarray(self.value + self.common_slope * common + self.slope * (deviation - common))


def fit_calibration(
    values: Values,
    data: ScoredExperiment,
    *,
    replay: ReplayRows,
    reward: RewardFit,
    rows: Rows,
    rated_log: RatedRows | None = None,
    rated_experiment: RatedRows | None = None,
    context_weight: FloatArray | None = None,
    noise_group: IntArray | None = None,
) -> Calibration:
    """Calibrate the final ``reward`` with slopes estimated from the out-of-fold rewards in ``data``.

    The average of q over replay draws does not include the row's own output, so a reward that follows random
    differences between outputs has a small slope, as it should. ``values`` are the values over the replayed contexts,
    weighted by ``context_weight`` (contexts,); the slopes do not depend on weights. ``rated_log`` and
    ``rated_experiment`` are their outcomes, in which contexts may recur. ``rows``, the features of the experiment's
    rows, show which contexts are similar; ``noise_group`` (n,) is as in ``ContextVariance.from_residuals``.
    """
    fit = SlopeFit.from_experiment(data, data.q.mean(axis=0))
    q = reward.mean_by_cell(replay)
    whole = ~np.isnan(q).any(axis=1)  # contexts with every model
    mean_q = np.average(q[whole], axis=0, weights=None if context_weight is None else context_weight[whole])
    between_contexts = (q - q.mean(axis=1, keepdims=True))[whole].var(axis=0)
    compared = np.flatnonzero(data.compared)
    group = None if noise_group is None else noise_group[compared]
    from_residuals = ContextVariance.from_residuals(
        fit.residual, data.model[compared], len(data.models), rows.take(compared), group
    )
    rated = [source for source in (rated_log, rated_experiment) if source is not None]
    return Calibration(
        value=_value_or(values, mean_q),
        mean_q=mean_q,
        slope=fit.shrunken_slope,
        slope_standard_error=fit.standard_error,
        common_slope=fit.clipped_common_slope,
        draw_variance=_draw_variance(replay, reward.predict_draws(replay), q, between_contexts),
        context_variance=_context_variance(rated, from_residuals, fit.explained_variances(data.q)),
        df=np.minimum(values.df_or_inf, fit.df),
    )


def _context_variance(
    rated: Sequence[RatedRows], from_residuals: ContextVariance, explained: tuple[float, float]
) -> ContextVariance:
    """The variance that contexts show which recur in the experiment, or the larger one that those of the log show.

    In a log whose outcomes are nearly all good, contexts differ less than in the experiment. So the log can raise the
    variance, and never replaces what the experiment does not show. ``rated`` ends with the experiment.
    """
    count = len(from_residuals.by_model)
    estimates = (PairVariances.estimate(sources, count) for sources in (rated[-1:], rated))
    by_experiment, by_both = (
        None if pairs is None else ContextVariance.from_recurring(pairs, *explained) for pairs in estimates
    )
    shown = from_residuals if by_experiment is None else by_experiment
    return shown if by_both is None else shown.raised_to(by_both)


@dataclass(frozen=True, slots=True)
class FoldCalibration:
    """Calibration from the rows outside one fold, as far as it decides between models."""

    value: FloatArray  # (k,)
    mean_q: FloatArray  # (k,)
    slope: float

    @classmethod
    def fit(cls, train: ScoredExperiment) -> Self:
        """Values and slope as in ``fit_calibration``."""
        mean_q = np.average(train.q, axis=0, weights=train.weight)
        value = _value_or(shrink_toward(tuned_doubly_robust(train), mean_q), mean_q)
        return cls(value, mean_q, SlopeFit.from_experiment(train, mean_q).shrunken_slope)

    def calibrate(self, q: FloatArray) -> FloatArray:
        """Calibrated q (n, k), up to a part that all models share."""
        return np.asarray(self.value + self.slope * (q - self.mean_q))


@dataclass(frozen=True, slots=True)
class CrossFittedPolicy:
    """What the other folds would choose for the context of each experiment row."""

    q: FloatArray  # (n, k) calibrated
    values: FloatArray  # (n, k) values of the models, by the other folds

    @classmethod
    def fit(cls, data: ScoredExperiment, folds: Sequence[Fold]) -> Self:
        """Calibrate q on the context of each row with the other folds.

        The policy that picks the largest entry of ``q`` is the recommended one, and can be evaluated on these rows.
        """
        calibrated, by_fold = np.empty_like(data.q), np.empty_like(data.q)
        for fold in folds:
            calibration = FoldCalibration.fit(data.take(fold.train))
            by_fold[fold.held_out] = calibration.value
            calibrated[fold.held_out] = calibration.calibrate(data.q[fold.held_out])
        return cls(calibrated, by_fold)


def _value_or(values: Values, mean_q: FloatArray) -> FloatArray:
    """Estimated values; ``mean_q`` for a model without one."""
    return np.where(np.isnan(values.estimate), mean_q, values.estimate)


@dataclass(frozen=True, slots=True)
class SlopeFit:
    """Regression of outcomes on the reward's deviations."""

    slope: float
    standard_error: float
    common_slope: float
    residual: FloatArray  # (rows of compared models,)
    df: float

    @property
    def shrunken_slope(self) -> float:
        """The slope less what noise may make of it, limited to [0, 1]: slope (1 - (2 se)^2 / slope^2).

        Zero where the slope is within two standard errors of zero. A slope of nothing but noise would route contexts
        away from the best model at random, and slopes of single models differ from the common one that is estimated.
        """
        return self.shrunken(MIN_SLOPE_SE)

    def shrunken(self, min_standard_errors: float) -> float:
        """The same for another number of standard errors."""
        noise = min_standard_errors * self.standard_error
        if not self.slope > noise:
            return 0.0
        return float(min(self.slope - noise**2 / self.slope, 1.0))

    @property
    def clipped_common_slope(self) -> float:
        """The slope of what all models have in common, limited to [0, 1]."""
        return float(np.clip(self.common_slope, 0.0, 1.0))

    def explained_variances(self, q: FloatArray) -> tuple[float, float]:
        """Variance between contexts that the calibrated reward predicts, from q (n, k): by model, and in common."""
        deviation = q - q.mean(axis=0)
        common = deviation.mean(axis=1)
        own = (deviation - common[:, None]).var(axis=0).mean()
        return self.shrunken_slope**2 * float(own), self.clipped_common_slope**2 * float(common.var())

    @classmethod
    def from_experiment(cls, data: ScoredExperiment, mean_q: FloatArray) -> Self:
        """Least squares weighted by 1 / propensity, with cluster-robust standard errors.

            outcome_j = intercept of model_j + b * common_j + slope * (d_j,model_j - common_j) + noise

        d = q - mean_q, and common_j is the mean of d_j over models. What all models have in common on a context is no
        reason to prefer one of them, so it has its own coefficient b. Rows of uncompared models are left out.
        """
        rows = data.compared
        deviation, model = (data.q - mean_q)[rows], data.model[rows]
        common = deviation.mean(axis=1)
        own = deviation[np.arange(len(model)), model] - common
        nuisance = np.column_stack([common, model[:, None] == np.unique(model)]).astype(np.float64)
        return cls._by_partial_regression(
            own, data.outcome[rows], nuisance, 1 / data.propensity[rows], data.cluster[rows]
        )

    @classmethod
    def _by_partial_regression(
        cls, own: FloatArray, outcome: FloatArray, nuisance: FloatArray, weight: FloatArray, cluster: IntArray
    ) -> Self:
        """Slope of ``own`` after regressing the ``nuisance`` columns out of both sides (Frisch-Waugh)."""
        root = np.sqrt(weight * len(weight) / weight.sum()) if len(weight) else weight
        weighted = root[:, None] * nuisance
        both = root[:, None] * np.column_stack([own, outcome])
        coef = np.linalg.lstsq(weighted, both, rcond=None)[0]
        regressor, response = (both - weighted @ coef).T
        sum_of_squares = float(regressor @ regressor)
        clusters = Clusters.from_codes(cluster, len(outcome))
        df = float(clusters.count - nuisance.shape[1] - 1)
        estimable = df >= 1 and sum_of_squares > ROUNDING_ATOL
        slope = float(regressor @ response) / sum_of_squares if estimable else 0.0
        other = coef[:, 1] - slope * coef[:, 0]
        residual = outcome - slope * own - nuisance @ other
        if not estimable:
            return cls(0.0, np.inf, float(other[0]), residual, max(df, 1.0))
        score = clusters.sums((regressor * root * residual)[:, None])
        standard_error = float(np.sqrt(score.variance()[0] * clusters.count / df)) / sum_of_squares
        return cls(slope, standard_error, float(other[0]), residual, df)


def _draw_variance(
    replay: ReplayRows, reward: FloatArray, mean: FloatArray, between_contexts: FloatArray
) -> FloatArray:
    """Variance of the ``reward`` (n,) of draws around their ``mean`` (contexts, k), by model (k,).

    It cannot be estimated for a model with one draw per context; ``between_contexts`` (k,) is used instead.
    """
    draws = replay.draw_counts()
    squared = (reward - mean[replay.context, replay.model]) ** 2
    draw_df = (draws - (draws > 0)).sum(axis=0)
    total = np.bincount(replay.model, weights=squared, minlength=replay.n_models)
    return np.where(draw_df > 0, total / np.maximum(draw_df, 1.0), between_contexts)

"""The best model for each context, with the probability that another one is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from deconfound.decide.achievable_gain import achievable_gain_bound
from deconfound.decide.calibration import Calibration
from deconfound.decide.cost import cost_vector
from deconfound.design import FloatArray, IntArray
from deconfound.features.study_arrays import ReplayArrays
from deconfound.frames import Records, Scalar
from deconfound.metrics import argmax_model
from deconfound.reward import RewardFit
from deconfound.value.multiple_comparisons import check_level

RecommendationVerdict: TypeAlias = Literal["clear", "cannot tell"]

MANY = ("values", "segments")  # fields of a recommendation that are several values
MAX_HALF_WIDTH = 2.0  # replaces an infinite half-width: differences of values in [0, 1] span [-1, 1]
MAX_Z_SQUARED = 1e3  # beyond it the normal density is zero; avoids underflow


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Best model of one context by calibrated value; with slope 0 this is the model that is best on average.

    ``q`` is its calibrated value, ``margin`` the difference from the runner-up, net of cost. The verdict is "clear"
    where ``error_probability_bound`` is at most 1 - level: on average at most that share of clear contexts has another
    best model. Intervals have the largest possible width where ``Policy.assumes_small_differences``.
    """

    context_id: str
    model: str
    q: float
    low: float
    high: float
    runner_up: str
    margin: float
    margin_low: float
    margin_high: float
    verdict: RecommendationVerdict
    error_probability_bound: float = 1.0  # upper bound of the probability that any other model is better here
    expected_regret_bound: float = 1.0  # upper bound of the expected loss against the best model of this context
    values: tuple[float, ...] = ()  # calibrated value of every model, in the order of the models; not clipped
    segments: tuple[str, ...] = ()  # of the context, one per column of segments; empty where its rows have none or two

    def record(self) -> dict[str, Scalar]:
        """One line of a table: everything but the values of all models and the segments."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in MANY}


@dataclass(frozen=True, slots=True)
class Policy:
    """A fitted reward with its bootstrap refits and calibration: everything that recommendations need."""

    models: tuple[str, ...]
    surface_share: float
    reward: RewardFit
    bootstrap_fits: tuple[RewardFit, ...]
    covariance: FloatArray  # (k, k) of the errors of the values behind the calibration
    calibration: Calibration | None = None
    cost: FloatArray | None = None  # (k,) in outcome units; recommendations are by q - cost

    @property
    def assumes_small_differences(self) -> bool:
        """Whether differences between contexts that no feature shows are assumed to be small, not estimated."""
        return self.calibration is not None and not self.calibration.context_variance.estimated

    def recommend(self, replay: ReplayArrays, level: float) -> Records[Recommendation]:
        """The best model of each context that was replayed by all models; no verdict depends on other contexts.

        A family that is not fitted on the experiment has no refits; all its verdicts are "cannot tell".
        """
        check_level(level)
        rows = replay.rows(self.surface_share)
        q = self.reward.mean_by_cell(rows)
        whole = np.flatnonzero(~np.isnan(q).any(axis=1))
        refits = [fit.mean_by_cell(rows)[whole] for fit in self.bootstrap_fits]
        calibration = self.calibration or Calibration.identity(len(self.models))
        cost = cost_vector(self.models, self.cost)
        draws = rows.draw_counts()[whole]
        contrasts = _ContextContrasts.estimate(q[whole], refits, draws, self.covariance, calibration, cost)
        return Records(self._recommendation(replay.contexts[i], contrasts, at, level) for at, i in enumerate(whole))

    def achievable_gain_bound(self, replay: ReplayArrays, level: float) -> float:
        """Upper bound of what any policy could gain over always using one model on the replayed contexts."""
        calibration = self.calibration or Calibration.identity(len(self.models))
        q, cost = self.reward.mean_by_cell(replay.rows(self.surface_share)), cost_vector(self.models, self.cost)
        return achievable_gain_bound(q[~np.isnan(q).any(axis=1)], self.covariance, calibration, cost, level)

    def _recommendation(
        self, context_id: str, contrasts: _ContextContrasts, context: int, level: float
    ) -> Recommendation:
        best, runner_up = contrasts.best[context], contrasts.runner_up[context]
        margin = float(contrasts.difference[context, runner_up])
        error_probability_bound = float(contrasts.error_probability_bound[context])
        q, margin_half_width, q_half_width = float(contrasts.value[context]), MAX_HALF_WIDTH, MAX_HALF_WIDTH
        if not self.assumes_small_differences:
            rival_error, df = contrasts.standard_error[context, runner_up], contrasts.df[context]
            margin_half_width = _half_width(rival_error, df[runner_up], level)
            q_half_width = _half_width(contrasts.value_standard_error[context], df[best], level)
        return Recommendation(
            context_id=context_id,
            model=self.models[best],
            q=q,
            low=max(q - q_half_width, 0.0),
            high=min(q + q_half_width, 1.0),
            runner_up=self.models[runner_up],
            margin=margin,
            margin_low=max(margin - margin_half_width, min(-1.0, margin)),
            margin_high=min(margin + margin_half_width, max(1.0, margin)),
            verdict="clear" if error_probability_bound <= 1 - level else "cannot tell",
            error_probability_bound=error_probability_bound,
            expected_regret_bound=float(contrasts.expected_regret_bound[context]),
            values=tuple(contrasts.calibrated[context].tolist()),
        )


@dataclass(frozen=True, slots=True)
class _ContextContrasts:
    """Best model b of each context, and its calibrated value minus that of every model a."""

    best: IntArray  # (n,)
    runner_up: IntArray  # (n,)
    calibrated: FloatArray  # (n, k) calibrated q
    difference: FloatArray  # (n, k)
    standard_error: FloatArray  # (n, k) of the difference; zero in the best model's own column
    value: FloatArray  # (n,) calibrated q of the best model, in [0, 1]
    value_standard_error: FloatArray  # (n,)
    df: FloatArray  # (n, k)
    error_probability_bound: FloatArray  # (n,)
    expected_regret_bound: FloatArray  # (n,)

    @classmethod
    def estimate(
        cls,
        q: FloatArray,
        refits: Sequence[FloatArray],
        draws: FloatArray,
        covariance: FloatArray,
        calibration: Calibration,
        cost: FloatArray,
    ) -> Self:
        """From q (n, k), its bootstrap refits (R arrays of that shape) and the number of draws per cell (n, k).

        difference = c_b - cost_b - (c_a - cost_a),      c the calibrated q
        """
        row = np.arange(len(q))
        deviation, calibrated = q - calibration.mean_q, calibration.calibrate(q)
        net = calibrated - cost
        best = argmax_model(net)
        rivals = net.copy()
        rivals[row, best] = -np.inf
        runner_up = argmax_model(rivals)
        deviation_difference = deviation[row, best][:, None] - deviation
        difference = net[row, best][:, None] - net
        draw_variance = calibration.draw_variance / np.maximum(draws, 1.0)
        standard_error = np.sqrt(
            contrast_variance(best, deviation_difference, refits, draw_variance, covariance, calibration)
        )
        df = np.minimum(np.minimum(calibration.df[best][:, None], calibration.df), max(len(refits) - 1, 1))
        unsure = calibration.context_variance.by_model_sd  # a variance that is taken too small makes all contexts clear
        cautious_error = np.sqrt(standard_error**2 + unsure[best][:, None] + unsure)
        rival = np.ones(q.shape, dtype=np.bool_)
        rival[row, best] = False
        max_regret = 1.0 + cost[best] - cost.min()
        return cls(
            best=best,
            runner_up=runner_up,
            calibrated=calibrated,
            difference=difference,
            standard_error=standard_error,
            value=np.clip(calibrated[row, best], 0.0, 1.0),
            value_standard_error=np.sqrt(
                value_variance(best, deviation, refits, draw_variance, covariance, calibration)
            ),
            df=df,
            error_probability_bound=_error_probability_bound(difference, cautious_error, df, rival),
            expected_regret_bound=np.minimum(_expected_regret(difference, cautious_error, rival), max_regret),
        )


def contrast_variance(
    best: IntArray,
    deviation_difference: FloatArray,
    refits: Sequence[FloatArray],
    draw_variance: FloatArray,
    covariance: FloatArray,
    calibration: Calibration,
) -> FloatArray:
    """Variance (n, k) of the calibrated difference between the best model b of a context and each model a.

          C_bb + C_aa - 2 C_ba                            error of the average difference
        + se(slope)^2 (d_b - d_a)^2                       error of the slope
        + slope (var_refits(q_b - q_a) + u_a + u_b)       error of the reward: bootstrap refits, replay draws
        + h_a + h_b                                       true differences that the reward does not predict

    C is the covariance of the values' errors, d the deviation of q from its mean, u the ``draw_variance`` (n, k) of q,
    h the variance ``context_variance.by_model``. Zero for b itself; infinite with fewer than two refits.
    """
    row, own = np.arange(len(best)), np.diag(covariance)
    finite_covariance = np.where(np.isfinite(covariance), covariance, 0.0)
    refit_variance = _refit_contrast_variance(refits, best, deviation_difference.shape)
    with np.errstate(invalid="ignore"):
        reward_error = refit_variance + draw_variance + draw_variance[row, best][:, None]
        reward_variance = np.where(np.isinf(refit_variance), np.inf, calibration.slope * reward_error)
        average_variance = own[best][:, None] + own - 2 * finite_covariance[best]
        slope_variance = calibration.slope_standard_error**2 * deviation_difference**2
        slope_variance = np.where(deviation_difference == 0, 0.0, slope_variance)
    variance = np.maximum(average_variance, 0.0) + slope_variance + reward_variance
    unpredicted = calibration.context_variance.by_model
    variance = variance + unpredicted[best][:, None] + unpredicted
    variance[row, best] = 0.0
    return np.asarray(variance)


def value_variance(
    best: IntArray,
    deviation: FloatArray,
    refits: Sequence[FloatArray],
    draw_variance: FloatArray,
    covariance: FloatArray,
    calibration: Calibration,
) -> FloatArray:
    """Variance (n,) of the calibrated q of each context's best model b, in the notation above.

    C_bb + se(slope)^2 d_b^2 + slope (var_refits(q_b) + u_b) + h_b + context_variance.common
    """
    if len(refits) < 2:
        return np.full(len(best), np.inf)
    row, unpredicted = np.arange(len(best)), calibration.context_variance
    reward_error = np.stack(refits)[:, row, best].var(axis=0, ddof=1) + draw_variance[row, best]
    own_deviation = deviation[row, best]
    with np.errstate(invalid="ignore"):
        slope_variance = np.where(own_deviation == 0, 0.0, (calibration.slope_standard_error * own_deviation) ** 2)
    total = np.diag(covariance)[best] + slope_variance + calibration.slope * reward_error
    return np.asarray(total + unpredicted.by_model[best] + unpredicted.common)


def _refit_contrast_variance(refits: Sequence[FloatArray], best: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """Variance between refits of q_b - q_a (n, k); infinite with fewer than two refits."""
    if len(refits) < 2:
        return np.full(shape, np.inf)
    stacked = np.stack(refits)
    best_q = stacked[:, np.arange(shape[0]), best]
    return np.asarray((best_q[:, :, None] - stacked).var(axis=0, ddof=1))


def _half_width(standard_error: float, df: float, level: float) -> float:
    if not np.isfinite(standard_error):
        return MAX_HALF_WIDTH
    return float(stdtrit(df, 0.5 + level / 2) * standard_error)


def _error_probability_bound(
    difference: FloatArray, standard_error: FloatArray, df: FloatArray, rival: NDArray[np.bool_]
) -> FloatArray:
    """Upper bound (n,) of the probability that any rival is better: the sum over rivals (Bonferroni)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(difference == 0, 0.0, difference / standard_error)
    return np.asarray(np.minimum(np.where(rival, stdtr(df, -t), 0.0).sum(axis=1), 1.0))


def _expected_regret(difference: FloatArray, standard_error: FloatArray, rival: NDArray[np.bool_]) -> FloatArray:
    """Upper bound (n,) of the expected regret: the sum over rivals of E max(-D, 0) with D ~ N(difference, se^2).

    E max(-D, 0) = se phi(z) - difference Phi(-z),      z = difference / se
    """
    finite = np.isfinite(standard_error)
    finite_se = np.where(finite, standard_error, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(difference == 0, 0.0, difference / finite_se)
    density = np.exp(-0.5 * np.minimum(z**2, MAX_Z_SQUARED)) / np.sqrt(2 * np.pi)
    regret = np.where(finite, finite_se * density - difference * ndtr(-z), np.inf)
    return np.asarray(np.where(rival, np.maximum(regret, 0.0), 0.0).sum(axis=1))

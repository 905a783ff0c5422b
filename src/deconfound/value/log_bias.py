"""The bias of a log's raw averages, estimated against unbiased values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import join_names
from deconfound.value.multiple_comparisons import check_level, max_abs_z_quantile
from deconfound.value.values import Values

LogBiasVerdict: TypeAlias = Literal["misleading", "biased", "no bias shown", "cannot tell"]


@dataclass(frozen=True, slots=True)
class ModelBias:
    """Raw log average of one model minus its unbiased value; intervals are simultaneous over models."""

    model: str
    estimate: float  # NaN where the model has no value in the log or in the experiment
    low: float
    high: float

    @property
    def is_estimable(self) -> bool:
        """Whether both sources have a value with a finite standard error."""
        return not np.isnan(self.estimate)


@dataclass(frozen=True, slots=True)
class LogBias:
    """Confounding of a log, model by model, and its effect on the log's ranking.

    The verdict is "misleading" where the log's first model is significantly worse than another, "biased" where the bias
    of any model is significant.
    """

    biases: tuple[ModelBias, ...]
    overrated: tuple[str, ...]  # models with a significantly positive bias
    underrated: tuple[str, ...]
    log_best_model: str
    best_set: tuple[str, ...]  # models that may be the best, by unbiased values
    rms_bias: float  # root mean square over models, sampling noise subtracted; NaN if no model is estimable
    rms_relative_bias: float  # the same after subtracting the mean bias: what distorts the ranking
    max_bias_bound: float  # largest |bias| inside any interval
    level: float
    verdict: LogBiasVerdict

    @property
    def summary(self) -> str:
        """The verdict in plain English."""
        from deconfound.report.decision_text import log_bias_text

        return log_bias_text(self)


def estimate_log_bias(raw_log: Values, values: Values, level: float = 0.95) -> LogBias:
    """Compare the raw averages of a log with unbiased values.

        bias_a = log_a - value_a,      covariance = covariance of log + covariance of unbiased values

    The limits of a difference are those of its two terms, combined in squares: asymmetric where outcomes are near
    an edge or skewed (Zou and Donner, 2008). The covariances add although a reward learned from the log may be part
    of ``values``: given the log, a doubly robust estimate is unbiased, so the two errors are uncorrelated. This is
    not true of direct values. Intervals are those of the unbiased values, extended to contain the difference from
    the values that are reported.
    """
    check_level(level)
    if raw_log.models != values.models:
        raise UsageError(
            f"raw_log has the models {join_names(raw_log.models)}, values has {join_names(values.models)}; "
            "they must agree."
        )
    intervals = _BiasIntervals.estimate(raw_log, values, level)
    overrated = intervals.names(values.models, intervals.low > 0)
    underrated = intervals.names(values.models, intervals.high < 0)
    best_set, log_best_model = values.best_set(level), raw_log.ranking()[0]
    log_has_estimates = not np.isnan(raw_log.estimate).all()
    verdict: LogBiasVerdict = "no bias shown"
    if not intervals.estimable.any():
        verdict = "cannot tell"
    elif log_has_estimates and log_best_model not in best_set:
        verdict = "misleading"
    elif overrated or underrated:
        verdict = "biased"
    return LogBias(
        biases=intervals.by_model(values.models),
        overrated=overrated,
        underrated=underrated,
        log_best_model=log_best_model,
        best_set=best_set,
        rms_bias=intervals.rms(),
        rms_relative_bias=intervals.rms_relative(),
        max_bias_bound=intervals.max_bound(),
        level=level,
        verdict=verdict,
    )


@dataclass(frozen=True, slots=True)
class _BiasIntervals:
    """Biases with simultaneous intervals, and the covariance of those that can be estimated."""

    estimable: NDArray[np.bool_]  # (k,)
    bias: FloatArray  # (k,) of the unbiased values; NaN where not estimable
    reported: FloatArray  # (k,) of the reported values; NaN where not estimable
    low: FloatArray  # (k,)
    high: FloatArray  # (k,)
    covariance: FloatArray  # among estimable models

    @classmethod
    def estimate(cls, raw_log: Values, values: Values, level: float) -> Self:
        log_variance, value_variance = np.diag(raw_log.covariance), np.diag(values.covariance)
        bias = raw_log.center - values.center
        estimable = np.isfinite(bias) & np.isfinite(log_variance) & np.isfinite(value_variance)
        at = np.ix_(estimable, estimable)
        covariance = raw_log.covariance[at] + values.covariance[at]
        standard_error = np.sqrt(np.diag(covariance))
        uncertain = standard_error > 0
        z = max_abs_z_quantile(covariance[np.ix_(uncertain, uncertain)], level)
        log_below, log_above = _distances(raw_log, z)
        value_below, value_above = _distances(values, z)
        reported = np.where(estimable, raw_log.estimate - values.estimate, np.nan)
        low = np.fmin(bias - np.hypot(log_below, value_above), reported)
        high = np.fmax(bias + np.hypot(log_above, value_below), reported)
        low, high = np.where(estimable, np.maximum(low, -1.0), -1.0), np.where(estimable, np.minimum(high, 1.0), 1.0)
        return cls(estimable, np.where(estimable, bias, np.nan), reported, low, high, covariance)

    def names(self, models: tuple[str, ...], mask: NDArray[np.bool_]) -> tuple[str, ...]:
        """Estimable models inside a mask (k,)."""
        return tuple(model for model, inside in zip(models, self.estimable & mask, strict=True) if inside)

    def by_model(self, models: tuple[str, ...]) -> tuple[ModelBias, ...]:
        """One bias per model."""
        columns = (self.reported.tolist(), self.low.tolist(), self.high.tolist())
        return tuple(ModelBias(*row) for row in zip(models, *columns, strict=True))

    def rms(self) -> float:
        """Root mean square bias."""
        return _noise_corrected_rms(self.bias[self.estimable], self.covariance)

    def rms_relative(self) -> float:
        """Root mean square of the biases less their mean."""
        bias = self.bias[self.estimable]
        if not len(bias):
            return float("nan")
        centering_matrix = np.eye(len(bias)) - 1 / len(bias)
        return _noise_corrected_rms(centering_matrix @ bias, centering_matrix @ self.covariance @ centering_matrix)

    def max_bound(self) -> float:
        """Largest absolute end of an interval of an estimable model."""
        if not self.estimable.any():
            return float("nan")
        return float(np.maximum(np.abs(self.low), np.abs(self.high))[self.estimable].max())


def _distances(values: Values, z: float) -> tuple[FloatArray, FloatArray]:
    """From each unbiased value to the lower and to the upper limit of its interval (k,), zero or more."""
    unbiased = replace(values, estimate=values.center, interval_center=None)
    low, high = unbiased.interval_at_z(z).T
    return np.maximum(values.center - low, 0.0), np.maximum(high - values.center, 0.0)


def _noise_corrected_rms(bias: FloatArray, covariance: FloatArray) -> float:
    """sqrt(max(bias' bias - trace(covariance), 0) / k); NaN for no models."""
    if not len(bias):
        return float("nan")
    return float(np.sqrt(max((float(bias @ bias) - float(np.trace(covariance))) / len(bias), 0.0)))

"""The value of each model: estimates, covariance, and the questions they answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import join_names, quote
from deconfound.value.multiple_comparisons import (
    Differences,
    best_set_mask,
    check_level,
    differences,
    max_abs_z_quantile,
    max_t_pairs,
    t_quantile_at_z,
    two_sided_z,
)


@dataclass(frozen=True, slots=True)
class Contrast:
    """The value of one model minus that of a reference model."""

    model: str
    reference: str
    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference excludes zero."""
        return bool(self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Estimated value of each model, with the covariance of the errors.

    The covariance, not a vector of standard errors, is the primary field: two models replayed on the same contexts
    share sampling noise, which cancels in a contrast. A model without evidence of its own has infinite variance; its
    interval is [0, 1].

    ``interval_center`` is set where the point estimates were shrunk toward a biased source. Intervals, contrasts and
    the best set then use the unbiased estimates, to which the covariance belongs.
    """

    models: tuple[str, ...]
    estimate: FloatArray  # (k,)
    covariance: FloatArray  # (k, k)
    method: str
    df: FloatArray | None = None  # (k,) degrees of freedom; None means infinite
    interval_center: FloatArray | None = None  # (k,) None means the estimate
    reward_weight: FloatArray | None = None  # (k,) control-variate weight of the reward, where it was chosen
    shrinkage_fraction: float | None = None  # distance moved / distance to the source of the shrinkage, in [0, 1]

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of each value (k,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def center(self) -> FloatArray:
        """Centers of the intervals (k,): the unbiased estimates."""
        return self.estimate if self.interval_center is None else self.interval_center

    @property
    def df_or_inf(self) -> FloatArray:
        """Degrees of freedom (k,), infinite where none are given."""
        return np.full(len(self.models), np.inf) if self.df is None else self.df

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> FloatArray:
        """Intervals (k, 2): center ± quantile * standard error, clipped to [0, 1].

        Values lie in [0, 1], so clipping loses no coverage. Each interval has coverage ``level``; with
        ``simultaneous`` all of them together have it.
        """
        half_width, center = self.half_width(level, simultaneous), self.center
        bounded = ~np.isnan(center) & np.isfinite(half_width)
        low, high = np.where(bounded, center - half_width, 0.0), np.where(bounded, center + half_width, 1.0)
        return np.asarray(np.clip(np.column_stack([low, high]), 0.0, 1.0))

    def half_width(self, level: float = 0.95, simultaneous: bool = False) -> FloatArray:
        """Quantile * standard error of each interval (k,), before clipping."""
        check_level(level)
        z = self._simultaneous_z(level) if simultaneous else two_sided_z(level)
        return t_quantile_at_z(z, self.df_or_inf) * self.standard_error

    def contrast(self, model: str, reference: str, level: float = 0.95) -> Contrast:
        """Difference of two values; not adjusted for other comparisons."""
        check_level(level)
        at = [self._index(model), self._index(reference)]
        pair = self._differences(at)
        half_width = t_quantile_at_z(two_sided_z(level), pair.df) * pair.standard_error
        p_value = np.where(pair.standard_error > 0, 2 * ndtr(-np.abs(pair.z)), pair.difference == 0)
        return self._contrast(at[0], at[1], pair, (0, 1), half_width, p_value)

    def contrasts(self, level: float = 0.95) -> tuple[Contrast, ...]:
        """Every pair of models, the better one first, with simultaneous intervals and adjusted p-values.

        Single-step max-t: a p-value is below 1 - level exactly where its interval excludes zero. Step-down methods
        such as Holm's have smaller p-values, but no matching intervals.
        """
        check_level(level)
        pairs = self._differences(list(range(len(self.models))))
        half_width, p_value = max_t_pairs(pairs, self.covariance, level)
        order = self._descending(self.center)
        return tuple(
            self._contrast(i, j, pairs, (i, j), half_width, p_value)
            for place, i in enumerate(order)
            for j in order[place + 1 :]
        )

    def best_set(self, level: float = 0.95) -> tuple[str, ...]:
        """Models that may be the best, in order of the ranking; contains the best one with probability ``level``.

        Never empty. A model with infinite variance is always in it.
        """
        check_level(level)
        in_set = best_set_mask(self._differences(list(range(len(self.models)))), self.covariance, level)
        return tuple(name for name in self.ranking() if in_set[self._index(name)])

    def ranking(self) -> tuple[str, ...]:
        """Models from best to worst; ties in the order of ``models``, models without an estimate last."""
        return tuple(self.models[i] for i in self._descending(self.estimate))

    def table(self, level: float = 0.95) -> list[dict[str, str | float]]:
        """One row per model, best first; estimates are clipped to [0, 1], where every true value lies."""
        interval, standard_error = self.interval(level), self.standard_error
        rows: list[dict[str, str | float]] = []
        for name in self.ranking():
            i = self._index(name)
            rows.append(
                {
                    "model": name,
                    "estimate": float(np.clip(self.estimate[i], 0.0, 1.0)),
                    "low": float(interval[i, 0]),
                    "high": float(interval[i, 1]),
                    "standard_error": float(standard_error[i]),
                }
            )
        return rows

    def _simultaneous_z(self, level: float) -> float:
        variance = np.diag(self.covariance)
        uncertain = np.isfinite(variance) & (variance > 0)
        return max_abs_z_quantile(self.covariance[np.ix_(uncertain, uncertain)], level)

    def _differences(self, at: list[int]) -> Differences:
        return differences(self.center[at], self.covariance[np.ix_(at, at)], self.df_or_inf[at])

    def _contrast(
        self, i: int, j: int, pairs: Differences, at: tuple[int, int], half_width: FloatArray, p_value: FloatArray
    ) -> Contrast:
        model, reference = self.models[i], self.models[j]
        difference, standard_error = float(self.center[i] - self.center[j]), float(pairs.standard_error[at])
        if not np.isfinite(standard_error):
            return Contrast(model, reference, difference, standard_error, -1.0, 1.0, 1.0)
        low, high = max(difference - float(half_width[at]), -1.0), min(difference + float(half_width[at]), 1.0)
        return Contrast(model, reference, difference, standard_error, low, high, float(p_value[at]))

    def _descending(self, numbers: FloatArray) -> list[int]:
        nan_last = np.where(np.isnan(numbers), -np.inf, numbers)
        return [int(i) for i in np.argsort(-nan_last, kind="stable")]

    def _index(self, model: str) -> int:
        if model not in self.models:
            raise UsageError(f"No value for model {quote(model)}; there are {join_names(self.models)}.")
        return self.models.index(model)

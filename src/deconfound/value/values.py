"""The value of each model: estimates, covariance, and the questions they answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import join_names, quote
from deconfound.frames import Records, Scalar, html_table, to_frame
from deconfound.value.bounded_interval import inverse_yes_no_rows, mid_p_interval
from deconfound.value.multiple_comparisons import (
    Differences,
    best_set_mask,
    check_level,
    lead_over_others,
    max_abs_z_quantile,
    max_t_pairs,
    pairwise_differences,
    t_quantile_at_z,
    two_sided_z,
)

EQUAL_VALUES_ATOL = 1e-9  # values that differ by less, in outcomes from 0 to 1, are equal but for rounding


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

    def record(self) -> dict[str, Scalar]:
        """One line of a table."""
        return {**asdict(self), "significant": self.significant}


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Estimated value of each model, with the covariance of the errors.

    The covariance, not a vector of standard errors, is the primary field: two models replayed on the same contexts
    share sampling noise, which cancels in a contrast. A model without evidence of its own has infinite variance; its
    interval is [0, 1].

    ``interval_center`` is set where the point estimates also use a biased source. Intervals and p-values are then those
    of the unbiased estimates, to which the covariance belongs, and extended to contain the point estimate.
    ``posterior_covariance`` describes the error of the point estimates themselves, given a prior for the source's bias.

    ``cost`` has been subtracted from estimates and centers (``net_of``): such values lie in [-cost, 1 - cost].
    """

    models: tuple[str, ...]
    estimate: FloatArray  # (k,)
    covariance: FloatArray  # (k, k)
    method: str
    df: FloatArray | None = None  # (k,) degrees of freedom; None means infinite
    difference_df_limit: FloatArray | None = None  # (k, k) at most that of a difference; None means infinite
    binomial_variance: FloatArray | None = None  # (k,) at the estimate; None means symmetric intervals
    independent_rows: FloatArray | None = None  # (k,) effective rows, users or contexts; None means any number
    interval_center: FloatArray | None = None  # (k,) None means the estimate
    posterior_covariance: FloatArray | None = None  # (k, k) None means the covariance
    reward_weight: FloatArray | None = None  # (k,) control-variate weight of the reward, where it was chosen
    shrinkage_fraction: float | None = None  # distance moved / distance to the source of the shrinkage, in [0, 1]
    cost: FloatArray | None = None  # (k,) in outcome units; None means mean outcomes

    def net_of(self, cost: FloatArray) -> Self:
        """These values less a known cost per output of each model (k,), in outcome units."""
        if np.shape(cost) != self.estimate.shape or not np.isfinite(cost).all():
            raise UsageError(f"cost must be one finite number for each of the {len(self.models)} models.")
        center = None if self.interval_center is None else self.interval_center - cost
        total = np.asarray(cost, dtype=np.float64) + self.cost_or_zero
        return replace(self, estimate=self.estimate - cost, interval_center=center, cost=total)

    def shifted(self, step: FloatArray) -> Self:
        """These values with estimates moved by ``step`` (k,); intervals are the same, extended to contain them."""
        return replace(self, estimate=self.estimate + step, interval_center=self.center)

    def with_common_error(self, variance: float) -> Self:
        """These values with an independent error of this variance that all models share."""
        return self if variance == 0.0 else replace(self, covariance=self.covariance + variance)

    @property
    def before_cost(self) -> Self:
        """The mean outcomes: the same values without subtracting the cost."""
        return self if self.cost is None else replace(self.net_of(-self.cost), cost=None)

    @property
    def cost_or_zero(self) -> FloatArray:
        """Cost of each model (k,), zero where none is given."""
        return np.zeros(len(self.models)) if self.cost is None else self.cost

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of each value (k,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def center(self) -> FloatArray:
        """Centers of the intervals (k,): the unbiased estimates."""
        return self.estimate if self.interval_center is None else self.interval_center

    @property
    def error_covariance(self) -> FloatArray:
        """Covariance of the errors of the point estimates (k, k)."""
        return self.covariance if self.posterior_covariance is None else self.posterior_covariance

    @property
    def df_or_inf(self) -> FloatArray:
        """Degrees of freedom (k,), infinite where none are given."""
        return np.full(len(self.models), np.inf) if self.df is None else self.df

    def interval(self, level: float = 0.95, simultaneous: bool = False, *, sets: int = 1) -> FloatArray:
        """Intervals (k, 2) inside [0, 1]; each covers with probability ``level``, with ``simultaneous`` all together.

        ``sets`` is the number of such values, of different segments for instance, whose intervals are to hold together:
        each has the level level^(1 / sets), right for normal errors of any correlation (Sidak, 1967; Royen, 2014).
        Values net of cost have intervals inside [-cost, 1 - cost].
        """
        check_level(level)
        level = level ** (1 / sets)
        return self.interval_at_z(self._simultaneous_z(level) if simultaneous else two_sided_z(level))

    def interval_at_z(self, z: float) -> FloatArray:
        """Intervals (k, 2) that exclude what lies more than ``z`` normal standard errors away: ``interval`` at any z.

        With ``binomial_variance`` they are asymmetric (``mid_p_interval``): the number of yes/no rows with the same
        variance stands in for the number of rows, reduced as far as a t quantile exceeds the normal one, but not
        below ``independent_rows``.
        """
        if self.cost is not None:
            return np.asarray(self.before_cost.interval_at_z(z) - self.cost[:, None])
        quantile, center = t_quantile_at_z(z, self.df_or_inf), self.center
        half_width = quantile * self.standard_error
        bounded = ~np.isnan(center) & np.isfinite(half_width)
        interval = np.tile([0.0, 1.0], (len(center), 1))
        if self.binomial_variance is None:
            symmetric = np.column_stack([center - half_width, center + half_width])
        else:
            inverse_rows = inverse_yes_no_rows(
                np.where(bounded, self.standard_error, 1.0) ** 2,
                (quantile / z) ** 2,
                self.binomial_variance,
                self.independent_rows,
            )
            symmetric = mid_p_interval(center, inverse_rows, z)
        interval[bounded] = symmetric[bounded]
        estimate = np.where(np.isnan(self.estimate), interval[:, 0], self.estimate)
        low, high = np.minimum(interval[:, 0], estimate), np.maximum(interval[:, 1], estimate)
        return np.asarray(np.clip(np.column_stack([low, high]), 0.0, 1.0))

    def differences_at_z(self, z: float) -> FloatArray:
        """Intervals (k, k, 2) of every value, by row, less every other, by column: ``contrast`` at any z."""
        every = list(range(len(self.models)))
        pairs = self.differences(every)
        with np.errstate(invalid="ignore"):
            half_width = t_quantile_at_z(z, pairs.df) * pairs.standard_error
        _, _, low, high, _ = self._all_contrasts(every, pairs, half_width, np.ones_like(half_width))
        return np.stack([low, high], axis=-1)

    def half_width(self, level: float = 0.95, simultaneous: bool = False) -> FloatArray:
        """Half of the width of each interval (k,)."""
        interval = self.interval(level, simultaneous)
        return np.asarray((interval[:, 1] - interval[:, 0]) / 2)

    def contrast(self, model: str, reference: str, level: float = 0.95) -> Contrast:
        """Difference of two values; not adjusted for other comparisons."""
        check_level(level)
        at = [self._index(model), self._index(reference)]
        pair = self.differences(at)
        half_width = t_quantile_at_z(two_sided_z(level), pair.df) * pair.standard_error
        p_value = np.where(pair.standard_error > 0, 2 * ndtr(-np.abs(pair.z)), pair.difference == 0)
        columns = self._all_contrasts(at, pair, half_width, p_value)
        return Contrast(model, reference, *(column[0][1] for column in columns))

    def contrasts(self, level: float = 0.95) -> Records[Contrast]:
        """Every pair of models, the better one first, with simultaneous intervals and adjusted p-values.

        Single-step max-t: a p-value is below 1 - level exactly where its interval excludes zero. Step-down methods
        such as Holm's have smaller p-values, but no matching intervals. The order is that of ``ranking``.
        """
        check_level(level)
        pairs = self.differences()
        half_width, p_value = max_t_pairs(pairs, self.covariance, level)
        columns = self._all_contrasts(list(range(len(self.models))), pairs, half_width, p_value)
        order = self._descending(self.estimate)
        return Records(
            Contrast(self.models[i], self.models[j], *(column[i][j] for column in columns))
            for place, i in enumerate(order)
            for j in order[place + 1 :]
        )

    def best_set(self, level: float = 0.95, *, sets: int = 1) -> tuple[str, ...]:
        """Models that may be the best, in order of the ranking; contains the best one with probability ``level``.

        Contains the first model of the ranking and every model with infinite variance. ``sets`` is the number of such
        sets, of different segments for instance, that are to hold together (Bonferroni).
        """
        check_level(level)
        in_set = best_set_mask(self.differences(), self.covariance, 1 - (1 - level) / sets)
        in_set[self._descending(self.estimate)[0]] = True
        return tuple(name for name in self.ranking() if in_set[self._index(name)])

    def lead_bound(self, level: float = 0.95) -> float:
        """At least so much is the first model ahead of every other, at this confidence; 0 unless it is the best alone.

        Positive exactly where ``best_set`` has one model. Never more than the reported lead over the second.
        """
        best, *rivals = self.best_set(level)
        if rivals or len(self.models) < 2:
            return 0.0
        first, second = self._descending(self.estimate)[:2]
        bound = lead_over_others(self.differences(), self.covariance, level, self._index(best))
        return float(min(bound, self.estimate[first] - self.estimate[second]))

    def ranking(self) -> tuple[str, ...]:
        """Models from best to worst; ties in the order of ``models``, models without an estimate last."""
        return tuple(self.models[i] for i in self._descending(self.estimate))

    def table(self, level: float = 0.95) -> list[dict[str, str | float]]:
        """One row per model, best first; estimates are clipped to the scale, where every true value lies."""
        interval, standard_error, cost = self.interval(level), self.standard_error, self.cost_or_zero
        rows: list[dict[str, str | float]] = []
        for name in self.ranking():
            i = self._index(name)
            rows.append(
                {
                    "model": name,
                    "estimate": float(np.clip(self.estimate[i], -cost[i], 1.0 - cost[i])),
                    "low": float(interval[i, 0]),
                    "high": float(interval[i, 1]),
                    "standard_error": float(standard_error[i]),
                }
            )
        return rows

    def to_frame(self, level: float = 0.95) -> Any:  # noqa: ANN401  (of pandas or polars)
        """``table`` as a pandas or polars data frame."""
        return to_frame(self.table(level))

    def _repr_html_(self) -> str:
        return html_table(self.table())

    def _simultaneous_z(self, level: float) -> float:
        variance = np.diag(self.covariance)
        uncertain = np.isfinite(variance) & (variance > 0)
        return max_abs_z_quantile(self.covariance[np.ix_(uncertain, uncertain)], level)

    def differences(self, at: list[int] | None = None) -> Differences:
        """Differences of the unbiased values of all models, or of those at some places, with standard errors and df."""
        at = list(range(len(self.models))) if at is None else at
        limit = None if self.difference_df_limit is None else self.difference_df_limit[np.ix_(at, at)]
        return pairwise_differences(self.center[at], self.covariance[np.ix_(at, at)], self.df_or_inf[at], limit)

    def _all_contrasts(
        self, at: list[int], pairs: Differences, half_width: FloatArray, p_value: FloatArray
    ) -> tuple[list[list[float]], ...]:
        """``difference`` to ``p_value`` of the contrasts of some models, each as (row, column).

        The difference of the estimates has the interval of the unbiased ones, extended to contain it. Where the two
        differ in sign, or one of them is zero, no order is supported, and the p-value is one.
        """
        difference, unbiased, extra_cost = (
            np.subtract.outer(each[at], each[at]) for each in (self.estimate, self.center, self.cost_or_zero)
        )
        lowest, highest = -1.0 - extra_cost, 1.0 - extra_cost  # mean outcomes differ by at most one
        known = np.isfinite(pairs.standard_error)
        half = np.where(known, half_width, np.inf)
        low = np.maximum(np.minimum(unbiased - half, difference), lowest)
        high = np.minimum(np.maximum(unbiased + half, difference), highest)
        p = np.where(known & (np.sign(unbiased) == np.sign(difference)), p_value, 1.0)
        columns = (difference, pairs.standard_error, np.where(known, low, lowest), np.where(known, high, highest), p)
        return tuple(column.tolist() for column in columns)

    def _descending(self, numbers: FloatArray) -> list[int]:
        nan_last = np.where(np.isnan(numbers), -np.inf, numbers)
        return [int(i) for i in np.argsort(-nan_last, kind="stable")]

    def _index(self, model: str) -> int:
        if model not in self.models:
            raise UsageError(f"No value for model {quote(model)}; there are {join_names(self.models)}.")
        return self.models.index(model)

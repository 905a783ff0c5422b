"""The value of each model, and what can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value.compare import Differences, all_pairs, differences, not_worse
from deconfound.value.joint import check_level, simultaneous, t_quantile, two_sided


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much better one model is than another."""

    better: str
    worse: str
    difference: float
    error: float
    low: float
    high: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference leaves zero out."""
        return bool(self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class Values:
    """Estimated value of each model and how the errors move together.

    The covariance, not a vector of standard errors, is the primary field: two models replayed on the same contexts
    share their luck, and only the covariance lets a contrast cancel it. A model without evidence of its own has
    infinite variance: its interval is all of [0, 1].

    ``centre`` is set where the point estimates lean on a biased source: intervals, contrasts and the best set then
    stay with the unbiased estimates that the covariance belongs to.
    """

    models: tuple[str, ...]
    estimate: FloatArray  # (k,)
    covariance: FloatArray  # (k, k)
    method: str
    df: FloatArray | None = None  # (k,) degrees of freedom of each error; None is infinitely many
    centre: FloatArray | None = None  # (k,) middle of the intervals; None is the estimate
    power: FloatArray | None = None  # (k,) how far the reward was used, where that was a choice
    moved: float | None = None  # share of the way from the centre to the biased source, in [0, 1]

    @property
    def error(self) -> FloatArray:
        """Standard error of each value (k,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> FloatArray:
        """Intervals (k, 2) inside [0, 1]: centre ± quantile * error, cut at the edges.

        Values lie in [0, 1], so cutting there loses no coverage. One interval at a time keeps ``level``; with
        ``simultaneous`` all of them hold together with that probability.
        """
        half, middle = self.half_width(level, simultaneous), self.middle
        known = ~np.isnan(middle) & np.isfinite(half)
        low, high = np.where(known, middle - half, 0.0), np.where(known, middle + half, 1.0)
        return np.asarray(np.clip(np.column_stack([low, high]), 0.0, 1.0))

    def half_width(self, level: float = 0.95, simultaneous: bool = False) -> FloatArray:
        """Quantile * error of each interval (k,), before it is cut at the edges."""
        check_level(level)
        z = self._simultaneous(level) if simultaneous else two_sided(level)
        return t_quantile(z, self.df_or_inf) * self.error

    def contrast(self, better: str, worse: str, level: float = 0.95) -> Contrast:
        """Difference of two values, its error taken from the covariance; one comparison, no others allowed for."""
        check_level(level)
        at = [self._at(better), self._at(worse)]
        found = self._differences(at)
        half = t_quantile(two_sided(level), found.df) * found.error
        p_value = np.where(found.error > 0, 2 * ndtr(-np.abs(found.z)), found.difference == 0)
        return self._contrast(at[0], at[1], found, (0, 1), half, p_value)

    def contrasts(self, level: float = 0.95) -> tuple[Contrast, ...]:
        """Every pair of models, better first, with intervals that hold together and p-values for all pairs at once.

        Single-step max-t: intervals and p-values agree on what is told apart, which step-down methods such as
        Holm's, sharper in their p-values alone, do not offer.
        """
        check_level(level)
        found = self._differences(list(range(len(self.models))))
        half, p_value = all_pairs(found, self.covariance, level)
        order = self._order(self.middle)
        return tuple(
            self._contrast(i, j, found, (i, j), half, p_value) for n, i in enumerate(order) for j in order[n + 1 :]
        )

    def best_set(self, level: float = 0.95) -> tuple[str, ...]:
        """Models, best first, that are not shown to be worse than another; holds the best with probability ``level``.

        Never empty, and a model of which too little is known is always in it.
        """
        check_level(level)
        kept = not_worse(self._differences(list(range(len(self.models)))), self.covariance, level)
        return tuple(name for name in self.ranking() if kept[self._at(name)])

    def ranking(self) -> tuple[str, ...]:
        """Models from best to worst; equal estimates in the order of their names, unknown ones last."""
        return tuple(self.models[i] for i in self._order(self.estimate))

    def table(self, level: float = 0.95) -> list[dict[str, str | float]]:
        """One row a model, best first; estimates cut to [0, 1], where the truth is known to lie."""
        interval, error = self.interval(level), self.error
        rows: list[dict[str, str | float]] = []
        for name in self.ranking():
            i = self._at(name)
            estimate = float(np.clip(self.estimate[i], 0.0, 1.0))
            low, high = (float(edge) for edge in interval[i])
            rows.append({"model": name, "estimate": estimate, "low": low, "high": high, "error": float(error[i])})
        return rows

    @property
    def middle(self) -> FloatArray:
        """Middle of the intervals (k,), which leans on nothing."""
        return self.estimate if self.centre is None else self.centre

    @property
    def df_or_inf(self) -> FloatArray:
        """Degrees of freedom of the errors (k,), infinite where none were counted."""
        return np.full(len(self.models), np.inf) if self.df is None else self.df

    def _simultaneous(self, level: float) -> float:
        variance = np.diag(self.covariance)
        sure = np.isfinite(variance) & (variance > 0)
        return simultaneous(self.covariance[np.ix_(sure, sure)], level)

    def _differences(self, at: list[int]) -> Differences:
        return differences(self.middle[at], self.covariance[np.ix_(at, at)], self.df_or_inf[at])

    def _contrast(
        self, i: int, j: int, found: Differences, at: tuple[int, int], half: FloatArray, p_value: FloatArray
    ) -> Contrast:
        better, worse = self.models[i], self.models[j]
        difference, error = float(self.middle[i] - self.middle[j]), float(found.error[at])
        if not np.isfinite(error):
            return Contrast(better, worse, difference, error, -1.0, 1.0, 1.0)
        low, high = max(difference - float(half[at]), -1.0), min(difference + float(half[at]), 1.0)
        return Contrast(better, worse, difference, error, low, high, float(p_value[at]))

    def _order(self, numbers: FloatArray) -> list[int]:
        known = np.where(np.isnan(numbers), -np.inf, numbers)
        return [int(i) for i in np.argsort(-known, kind="stable")]

    def _at(self, model: str) -> int:
        if model not in self.models:
            raise UsageError(f'No value for model "{model}"; there are {", ".join(self.models)}.')
        return self.models.index(model)

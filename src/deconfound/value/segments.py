"""The value of each model in parts of the contexts: by language, by task, by any column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from deconfound.design import FloatArray, IntArray
from deconfound.value.control_variate import tuned_doubly_robust
from deconfound.value.experiment import ScoredExperiment
from deconfound.value.multiple_comparisons import check_level, t_to_z
from deconfound.value.shrinkage import shrink_toward
from deconfound.value.values import Values


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One part of the contexts.

    ``values`` are those of its own rows, with point estimates moved toward what the other segments and the reward
    predict where rows are few. ``interval`` and ``best_set`` hold for all segments of a column together.
    """

    name: str
    rows: int
    contexts: int
    share: float  # of the experiment
    values: Values
    interval: FloatArray  # (k, 2)
    best_set: tuple[str, ...]
    other_best: bool  # the overall best model is not the best one here, with the stated confidence


@dataclass(frozen=True, slots=True, eq=False)
class SegmentedValues:
    """All segments of one column, the largest first.

    ``p_value`` is that of the hypothesis that no model's difference from the overall best one depends on the segment,
    adjusted for the number of comparisons; one where no difference can be estimated.
    """

    column: str
    overall_best: str
    segments: tuple[Segment, ...]
    p_value: float
    level: float

    @property
    def differ(self) -> bool:
        """Whether the data show that the differences between models depend on the segment."""
        return bool(self.p_value <= 1 - self.level)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentRows:
    """The experiment's rows, and what the calibrated reward predicts for each model on their contexts."""

    data: ScoredExperiment
    predicted: FloatArray  # (n, k)
    context: IntArray  # (n,)


def estimate_segments(
    column: str, names: Sequence[str], code: IntArray, rows: SegmentRows, overall: Values, level: float
) -> SegmentedValues:
    """Evaluate each segment on its own rows.

    ``code`` (n,) is each row's position in ``names``; names without rows are left out. With S segments, intervals have
    the level level^(1/S) and hold for all models of their segment together, so that all of them hold with probability
    ``level`` (Sidak, 1967). Best sets have the level 1 - (1 - level) / S (Bonferroni), so that a claim of another best
    model is wrong in any segment with probability at most 1 - level.
    """
    check_level(level)
    counts = np.bincount(code, minlength=len(names))
    present = [int(at) for at in np.argsort(-counts, kind="stable") if counts[at] > 0]
    parts = [_Part.estimate(rows, code == at, overall.estimate) for at in present]
    best = overall.ranking()[0]
    segments = tuple(part.segment(names[at], best, level, len(parts)) for at, part in zip(present, parts, strict=True))
    return SegmentedValues(column, best, segments, _adjusted_p_value(parts, overall.models.index(best)), level)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A segment's own values, and those of all other rows."""

    own: Values
    others: Values | None  # None where there are no other rows
    shrunken: Values
    rows: int
    contexts: int
    share: float

    @classmethod
    def estimate(cls, rows: SegmentRows, inside: NDArray[np.bool_], overall: FloatArray) -> Self:
        """The point estimates move toward the other segments' values plus the difference that the reward predicts.

        The segment's own rows have no part in that source, so that its agreement with them is evidence.
        """
        data, own = rows.data, tuned_doubly_robust(rows.data.take(inside))
        others, source = None, overall
        if not inside.all():
            others = tuned_doubly_robust(data.take(~inside))
            here, there = (np.average(rows.predicted[at], axis=0, weights=data.weight[at]) for at in (inside, ~inside))
            source = np.where(np.isnan(others.center), overall, others.center) + here - there
        share = float(data.weight[inside].sum() / data.weight.sum())
        contexts = len(np.unique(rows.context[inside]))
        return cls(own, others, shrink_toward(own, source), int(inside.sum()), contexts, share)

    def segment(self, name: str, overall_best: str, level: float, count: int) -> Segment:
        """With levels for ``count`` segments together."""
        best_set = self.shrunken.best_set(1 - (1 - level) / count)
        return Segment(
            name=name,
            rows=self.rows,
            contexts=self.contexts,
            share=self.share,
            values=self.shrunken,
            interval=self.shrunken.interval(level ** (1 / count), simultaneous=True),
            best_set=best_set,
            other_best=overall_best not in best_set,
        )

    def p_values(self, best: int) -> FloatArray:
        """Of equal differences from model ``best`` here and elsewhere, for each other model that shows both."""
        if self.others is None:
            return np.empty(0)
        (here, error, df), (there, other_error, other_df) = (_from_best(one, best) for one in (self.own, self.others))
        variance = error**2 + other_error**2
        known = np.flatnonzero(np.isfinite(variance) & (variance > 0))
        variance, change = variance[known], (here - there)[known]
        welch = variance**2 / ((error**4 / df)[known] + (other_error**4 / other_df)[known])
        return np.asarray(2 * ndtr(-np.abs(t_to_z(change / np.sqrt(variance), welch))))


def _from_best(values: Values, best: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Each model's unbiased value minus that of ``best``: difference, standard error and df (k,)."""
    pairs = values.differences()
    return pairs.difference[:, best], pairs.standard_error[:, best], pairs.df[:, best]


def _adjusted_p_value(parts: Sequence[_Part], best: int) -> float:
    """The smallest p-value of any model and segment times their number (Bonferroni)."""
    p_values = np.concatenate([part.p_values(best) for part in parts])
    return float(min(p_values.min() * len(p_values), 1.0)) if len(p_values) else 1.0

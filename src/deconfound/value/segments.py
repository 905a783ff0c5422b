"""The value of each model in parts of the contexts: by language, by task, by any column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from deconfound.data.segment_codes import SegmentCodes
from deconfound.design import FloatArray, IntArray
from deconfound.frames import Scalar, html_table, to_frame
from deconfound.value.clusters import Influence
from deconfound.value.control_variate import InfluenceTerms, tuned_doubly_robust
from deconfound.value.experiment import ScoredExperiment
from deconfound.value.mean_weights import ModelWeights, sum_squared_weight
from deconfound.value.multiple_comparisons import check_level, t_to_z
from deconfound.value.shrinkage import shrink_toward
from deconfound.value.values import Values

SEGMENT_MEAN_DF = 100.0  # df at which a segment's least dispersion is halfway from all rows to the mean of segments


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One part of the contexts.

    ``values`` are those of its own rows, with point estimates moved toward what the other segments and the reward
    predict where rows are few, and such that their mean over the segments of a column is the reported overall value.
    ``interval`` and ``best_set`` hold for all segments of a result together.
    """

    name: str
    rows: int
    contexts: int
    share: float  # of the experiment; with a target, of its weighted rows
    values: Values
    interval: FloatArray  # (k, 2)
    best_set: tuple[str, ...]
    other_best: bool  # the overall best model is not the best one here, with the stated confidence

    def table(self) -> list[dict[str, str | float]]:
        """One row per model, best first, with the intervals that hold for all segments together."""
        limits = dict(zip(self.values.models, self.interval.tolist(), strict=True))
        rows = self.values.table()
        return [row | {"low": limits[str(row["model"])][0], "high": limits[str(row["model"])][1]} for row in rows]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentedValues:
    """All segments of one column.

    ``p_value`` is that of the hypothesis that no model's difference from the overall best one depends on the segment,
    adjusted for the number of comparisons. Where that model has too few rows, the next one of the ranking is compared;
    NaN where no difference can be estimated both here and elsewhere.
    """

    column: str
    overall_best: str
    segments: tuple[Segment, ...]
    p_value: float
    level: float
    missing_rows: int  # without a value of the column; a segment of their own
    pooled_values: int  # values with few rows, which share a segment

    @property
    def differ(self) -> bool:
        """Whether the data show that the differences between models depend on the segment."""
        return bool(self.p_value <= 1 - self.level)

    @property
    def best_differs(self) -> bool:
        """Whether no model can be the best one in every segment, with the stated confidence."""
        return not set.intersection(*(set(segment.best_set) for segment in self.segments))


class SegmentedColumns(tuple[SegmentedValues, ...]):
    """The segments of all columns; a notebook shows them as one table."""

    __slots__ = ()

    def records(self) -> list[dict[str, Scalar]]:
        """One line per column, segment and model, with the intervals that hold for all segments together."""
        return [
            {
                "column": one.column,
                "segment": part.name,
                "rows": part.rows,
                "share": part.share,
                **row,
                "may_be_best": row["model"] in part.best_set,
            }
            for one in self
            for part in one.segments
            for row in part.table()
        ]

    def to_frame(self) -> Any:  # noqa: ANN401  (of pandas or polars)
        """``records`` as a pandas or polars data frame."""
        return to_frame(self.records())

    def _repr_html_(self) -> str:
        return html_table(self.records())


NO_SEGMENTS = SegmentedColumns()


@dataclass(frozen=True, slots=True, eq=False)
class SegmentRows:
    """The experiment's rows with their contexts."""

    data: ScoredExperiment
    context: IntArray  # (n,)
    common_variance: float = 0.0  # of an error that all values of all rows share; in a segment it is 1 / share of it
    is_population: bool = True  # whether overall values are for these rows' contexts alone


def estimate_segments(
    columns: Sequence[SegmentCodes], rows: SegmentRows, overall: Values, level: float
) -> tuple[SegmentedValues, ...]:
    """Evaluate each segment of each column on its own rows; ``overall`` are values net of cost, if there is any.

    Intervals hold for all models in all segments of all columns with probability ``level``. So do best sets, which
    means that a claim of another best model is wrong in any segment with probability at most 1 - level.
    """
    check_level(level)
    parts = [_Part.all_of(codes, rows, overall) for codes in columns]
    if rows.is_population:
        parts = [_add_up(own, overall) for own in parts]
    sets = sum(map(len, parts))
    best = overall.ranking()[0]
    return tuple(
        SegmentedValues(
            column=codes.column,
            overall_best=best,
            segments=tuple(part.segment(best, level, sets) for part in own),
            p_value=_adjusted_p_value(own, overall.ranking(), len(columns)),
            level=level,
            missing_rows=codes.missing_rows,
            pooled_values=codes.pooled_values,
        )
        for codes, own in zip(columns, parts, strict=True)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A segment's own values, and those of all other rows."""

    name: str
    own: Values
    others: Values | None  # None where there are no other rows
    shrunken: Values
    rows: int
    contexts: int
    share: float
    common_noise: _CommonNoise | None  # of own and other rows; None where no cluster has both

    @classmethod
    def all_of(cls, codes: SegmentCodes, rows: SegmentRows, overall: Values) -> list[Self]:
        """The segments of a column whose rows have any weight."""
        masks = {name: codes.code == at for at, name in enumerate(codes.names)}
        used = {name: inside for name, inside in masks.items() if rows.data.weight[inside].any()}
        dispersion = _Dispersion.from_segments(rows.data, list(used.values()))
        return [cls.estimate(name, rows, inside, overall, dispersion) for name, inside in used.items()]

    @classmethod
    def estimate(
        cls, name: str, rows: SegmentRows, inside: NDArray[np.bool_], overall: Values, dispersion: _Dispersion
    ) -> Self:
        """The point estimates move toward the other segments' values plus the difference that the reward predicts.

        The segment's own rows have no part in that source, so that its agreement with them is evidence.
        """
        weight, gross = rows.data.weight, overall.before_cost.estimate
        share = float(weight[inside].sum() / weight.sum())
        own = dispersion.values(rows.data.take(inside)).with_common_error(rows.common_variance / share)
        others, source = None, gross
        if weight[~inside].any():
            others = dispersion.values(rows.data.take(~inside))
            source = np.where(np.isnan(others.center), gross, others.center) + _predicted_change(rows, inside, others)
        shrunken = shrink_toward(own, source)
        return cls(
            name=name,
            own=own,
            others=others,
            shrunken=shrunken if overall.cost is None else shrunken.net_of(overall.cost),
            rows=int(inside.sum()),
            contexts=len(np.unique(rows.context[inside])),
            share=share,
            common_noise=None if others is None else _CommonNoise.from_rows(rows.data, inside, own, others),
        )

    def segment(self, overall_best: str, level: float, sets: int) -> Segment:
        """With levels for ``sets`` segments together."""
        best_set = self.shrunken.best_set(level, sets=sets)
        return Segment(
            name=self.name,
            rows=self.rows,
            contexts=self.contexts,
            share=self.share,
            values=self.shrunken,
            interval=self.shrunken.interval(level, simultaneous=True, sets=sets),
            best_set=best_set,
            other_best=overall_best not in best_set,
        )

    def p_values(self, best: int) -> FloatArray:
        """Of equal differences from model ``best`` here and elsewhere, for each other model that shows both."""
        if self.others is None:
            return np.empty(0)
        pairs = [one.differences() for one in (self.own, self.others)]
        variances = np.array([one.standard_error[:, best] ** 2 for one in pairs])  # (2, k)
        known = np.isfinite(variances).all(axis=0) & (variances.sum(axis=0) > 0)
        variances, df = variances[:, known], np.array([one.df[known, best] for one in pairs])
        here, there = (one.difference[known, best] for one in pairs)
        variance, welch = variances.sum(axis=0), variances.sum(axis=0) ** 2 / (variances**2 / df).sum(axis=0)
        if self.common_noise is not None:
            variance = self.common_noise.variance(variance, best, known)
            welch = np.minimum(welch, self.common_noise.clusters - 1.0)
        return np.asarray(2 * ndtr(-np.abs(t_to_z((here - there) / np.sqrt(variance), welch))))


@dataclass(frozen=True, slots=True, eq=False)
class _CommonNoise:
    """Errors of the values of a segment and of all other rows, by cluster: users may have rows in both."""

    own: Influence
    others: Influence
    clusters: int

    @classmethod
    def from_rows(cls, data: ScoredExperiment, inside: NDArray[np.bool_], own: Values, others: Values) -> Self | None:
        """Rows of the other part have no weight, so that both have the same clusters."""
        if data.n_clusters == len(data.q):
            return None
        parts = []
        for mask, values in ((inside, own), (~inside, others)):
            terms = InfluenceTerms.from_experiment(replace(data, weight=data.weight * mask), data.q[:0])
            weight = np.zeros(len(data.models)) if values.reward_weight is None else values.reward_weight
            parts.append(terms.outcome_influence + (terms.q_influence - terms.prediction_influence).scaled(weight))
        return cls(parts[0], parts[1], data.n_clusters)

    def variance(self, apart: FloatArray, best: int, models: NDArray[np.bool_]) -> FloatArray:
        """Of how much differences from model ``best`` change, given the sum of variances of the parts."""
        own, others = (one.contrasts(best).take(models) for one in (self.own, self.others))
        together = (own - others).variance()
        return np.asarray(np.maximum(apart + together - own.variance() - others.variance(), together))


@dataclass(frozen=True, slots=True, eq=False)
class _Dispersion:
    """Variance of each model's value, as a share of that of as many yes/no outcomes.

    Few rows may miss the outcomes that vary most: then the mean is off and the variance too small, both at once. At the
    levels of many segments, most misses are of this kind. So no segment counts as less dispersed than all rows are. One
    with few rows is no less dispersed than segments are on average, either: rare failures in a few small segments
    hardly show among all rows.
    """

    of_all_rows: FloatArray  # (k,)
    of_segments: FloatArray  # (k,) their mean

    @classmethod
    def from_segments(cls, data: ScoredExperiment, masks: Sequence[NDArray[np.bool_]]) -> Self:
        """Of all rows, and of each segment."""
        by_segment = np.array([cls._share(data.take(inside)) for inside in masks])  # (segments, k)
        known = np.isfinite(by_segment)
        total = np.where(known, by_segment, 0.0).sum(axis=0)
        mean = np.divide(total, known.sum(axis=0), out=np.zeros_like(total), where=known.any(axis=0))
        return cls(cls._share(data), mean)

    def least(self, df: FloatArray) -> FloatArray:
        """The smallest share (k,) at degrees of freedom (k,): between that of all rows and the mean of segments."""
        few = SEGMENT_MEAN_DF / (SEGMENT_MEAN_DF + df)
        return np.asarray(self.of_all_rows + few * np.fmax(self.of_segments - self.of_all_rows, 0.0))

    @staticmethod
    def _share(data: ScoredExperiment) -> FloatArray:
        values = tuned_doubly_robust(data)
        return np.asarray(np.diag(values.covariance) / _yes_no_variance(values, data))

    def values(self, data: ScoredExperiment) -> Values:
        """Doubly robust values of some of the rows, with variances that are no smaller."""
        values = tuned_doubly_robust(data)
        least = self.least(_weights(data).df) * _yes_no_variance(values, data)
        variance = np.diag(values.covariance)
        raised = np.isfinite(variance) & np.isfinite(least) & (variance < least) & (variance > 0)
        factor = np.sqrt(np.divide(least, variance, out=np.ones_like(least), where=raised))
        return replace(values, covariance=values.covariance * np.outer(factor, factor))


def _add_up(parts: Sequence[_Part], overall: Values) -> list[_Part]:
    """Move all estimates of a model by the same amount, so that their weighted mean is its overall value.

    The overall value is shrunk, too: a segment's rows know nothing of that. Otherwise every segment could lie above it.
    """
    estimates, shares = np.array([part.shrunken.estimate for part in parts]), [part.share for part in parts]
    gap = overall.estimate - np.average(estimates, axis=0, weights=shares)
    step = np.where(np.isfinite(gap), gap, 0.0)
    return [replace(part, shrunken=part.shrunken.shifted(step)) for part in parts]


def _yes_no_variance(values: Values, data: ScoredExperiment) -> FloatArray:
    """Variance of each model's mean (k,), if outcomes were yes/no and independent between clusters."""
    weights = _weights(data)
    possible = np.ones(len(data.models)) if values.binomial_variance is None else values.binomial_variance
    return np.where(weights.inestimable, np.nan, possible * sum_squared_weight(weights))


def _weights(data: ScoredExperiment) -> ModelWeights:
    return ModelWeights.from_rows(data.model, len(data.models), data.weight / data.propensity, data.cluster)


def _predicted_change(rows: SegmentRows, inside: NDArray[np.bool_], others: Values) -> FloatArray:
    """How much larger each value (k,) is here than elsewhere by the reward, at its control-variate weight elsewhere."""
    q, weight = rows.data.q, rows.data.weight
    here, there = (np.average(q[at], axis=0, weights=weight[at]) for at in (inside, ~inside))
    return np.asarray((here - there) * (1.0 if others.reward_weight is None else others.reward_weight))


def _adjusted_p_value(parts: Sequence[_Part], ranking: Sequence[str], columns: int) -> float:
    """The smallest p-value of any model and segment times their number and that of the columns (Bonferroni).

    The reference is the first model of the ranking that can be compared in all segments, or in most of them.
    """
    models = parts[0].own.models
    by_reference = [[part.p_values(models.index(name)) for part in parts] for name in ranking]
    tested = [sum(len(p) > 0 for p in each) for each in by_reference]
    p_values = np.concatenate(by_reference[int(np.argmax(tested))])
    return float(min(p_values.min() * len(p_values) * columns, 1.0)) if len(p_values) else np.nan

"""Values by segment: small pictures side by side on one axis, with the models that may be best in colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent, join_names, pluralize
from deconfound.report.page.chart_axis import ChartAxis, Tick
from deconfound.report.scale import Scale
from deconfound.report.segment_text import ANY_MODEL, candidates, shown_models, whole_percents
from deconfound.report.text import Section
from deconfound.result import Result
from deconfound.value.segments import Segment, SegmentedValues


@dataclass(frozen=True, slots=True)
class SegmentMark:
    """One model in one segment; places in percent."""

    name: str
    is_candidate: bool
    value: float
    low: float | None  # None if the segment has too few rows of the model for an interval
    high: float | None
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class SegmentPanel:
    """One segment, its first models first."""

    name: str
    size: str
    verdict: str
    is_decided: bool
    marks: tuple[SegmentMark, ...]


@dataclass(frozen=True, slots=True)
class SegmentChart:
    """All segments of a column, the sentences about them, and their table."""

    section: Section
    panels: tuple[SegmentPanel, ...]
    ticks: tuple[Tick, ...]
    level: str
    unit: str
    left_out: int  # models of each segment without a mark

    @classmethod
    def all_of(cls, result: Result, sections: Sequence[Section]) -> tuple[Self, ...]:
        """One per column; ``sections`` has their sentences, in the same order."""
        pairs = zip(result.segments, sections, strict=True)
        return tuple(cls.from_segments(one, section, Scale.of(result)) for one, section in pairs)

    @classmethod
    def from_segments(cls, one: SegmentedValues, section: Section, scale: Scale) -> Self:
        """Intervals hold for all segments together."""
        chosen = [shown_models(segment, one.overall_best) for segment in one.segments]
        rows = [
            [row for row in segment.table() if row["model"] in names]
            for segment, names in zip(one.segments, chosen, strict=True)
        ]
        ends = [float(row[key]) for part in rows for row in part for key in ("estimate", "low", "high")]
        axis, level = ChartAxis.around(ends), format_percent(one.level)
        sizes = whole_percents([segment.share for segment in one.segments])
        panels = []
        for segment, part, share in zip(one.segments, rows, sizes, strict=True):
            marks = tuple(_mark(row, segment, axis, scale, level) for row in part)
            size = f"{pluralize(segment.rows, 'row')}, {share}"
            verdict, is_decided = _verdict(segment), len(segment.best_set) == 1
            panels.append(SegmentPanel(join_names([segment.name]), size, verdict, is_decided, marks))
        left_out = len(one.segments[0].values.models) - min(map(len, rows))
        return cls(section, tuple(panels), axis.value_ticks(scale), level, scale.unit, left_out)


def _verdict(segment: Segment) -> str:
    shown = candidates(segment)
    if shown == ANY_MODEL:
        return "Any model may be best"
    return f"{'Best' if len(segment.best_set) == 1 else 'May be best'}: {shown}"


def _mark(row: dict[str, str | float], segment: Segment, axis: ChartAxis, scale: Scale, level: str) -> SegmentMark:
    model, estimate, low, high = (row[key] for key in ("model", "estimate", "low", "high"))
    is_known, is_candidate = bool(np.isfinite(float(row["standard_error"]))), model in segment.best_set
    name, text = escape_name(str(model)), scale.value(float(estimate))
    interval = f"{level} interval {scale.interval(float(low), float(high))}" if is_known else "too few rows"
    title = f"{join_names([segment.name])}, {name}: {text} ({interval}){', may be best' if is_candidate else ''}"
    return SegmentMark(
        name=name,
        is_candidate=is_candidate,
        value=axis.percent(float(estimate)),
        low=axis.percent(float(low)) if is_known else None,
        high=axis.percent(float(high)) if is_known else None,
        text=text,
        title=title,
    )

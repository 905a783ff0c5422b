"""Segments in JSON, and read back."""

from __future__ import annotations

from typing import Any

import numpy as np

from deconfound.formatting import to_jsonable
from deconfound.report.segment_text import segment_summary
from deconfound.report.values_document import number_array, read_values, values_document
from deconfound.result import Result
from deconfound.value.segments import Segment, SegmentedValues


def segments_document(one: SegmentedValues, result: Result) -> dict[str, Any]:
    """The segments of one column; in their tables, intervals hold for all segments together."""
    return {
        "column": one.column,
        "overall_best": one.overall_best,
        "best_differs": one.best_differs,
        "differ": one.differ,
        "p_value": to_jsonable(one.p_value),
        "level": one.level,
        "missing_rows": one.missing_rows,
        "pooled_values": one.pooled_values,
        "summary": segment_summary(one, result),
        "segments": [_segment_document(segment, one.level) for segment in one.segments],
    }


def _segment_document(segment: Segment, level: float) -> dict[str, Any]:
    return {
        "name": segment.name,
        "rows": segment.rows,
        "contexts": segment.contexts,
        "share": segment.share,
        "best_set": list(segment.best_set),
        "other_best": segment.other_best,
        "interval": segment.interval.tolist(),
        "values": {**values_document(segment.values, level), "table": to_jsonable(segment.table())},
    }


def read_segments(stored: dict[str, Any], models: tuple[str, ...]) -> SegmentedValues:
    """The inverse of ``segments_document``."""
    names = ("column", "overall_best", "level", "missing_rows", "pooled_values")
    p_value = np.nan if stored["p_value"] is None else stored["p_value"]
    segments = tuple(
        Segment(
            **{name: one[name] for name in ("name", "rows", "contexts", "share", "other_best")},
            values=read_values(one["values"], models),
            interval=number_array(one["interval"], np.nan),
            best_set=tuple(one["best_set"]),
        )
        for one in stored["segments"]
    )
    return SegmentedValues(**{name: stored[name] for name in names}, p_value=p_value, segments=segments)

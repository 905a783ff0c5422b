"""Segments that no evaluation can have produced."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deconfound.data.segment_codes import MAX_SEGMENTS
from deconfound.loading.segment_columns import MAX_COLUMNS
from deconfound.result import Result
from deconfound.value.segments import Segment, SegmentedValues

EXTRA_SEGMENTS = 2  # rows without a value, and values with few rows
RTOL = 1e-6


def check_segments(result: Result) -> None:
    """Raise a ``ValueError`` at the first name or number that cannot be."""
    columns = [one.column for one in result.segments]
    if len(columns) > MAX_COLUMNS or len(set(columns)) < len(columns) or not all(columns):
        raise ValueError("segments are not by columns that differ")
    rows = result.counts.experiment.rows
    for one in result.segments:
        _check_column(one, result)
        if sum(segment.rows for segment in one.segments) > rows:
            raise ValueError("segments have more rows than the experiment")


def _check_column(one: SegmentedValues, result: Result) -> None:
    names = [segment.name for segment in one.segments]
    if not 0 < len(names) <= MAX_SEGMENTS + EXTRA_SEGMENTS or len(set(names)) < len(names) or not all(names):
        raise ValueError("segments have no names that differ")
    if one.overall_best != result.values.ranking()[0] or one.level != result.level:
        raise ValueError("segments are not those of this result")
    if not (
        (math.isnan(one.p_value) or 0.0 <= one.p_value <= 1.0) and one.missing_rows >= 0 and one.pooled_values >= 0
    ):
        raise ValueError("segments have numbers that cannot be")
    if sum(segment.share for segment in one.segments) > 1 + RTOL:
        raise ValueError("segments are more than the whole")
    for segment in one.segments:
        _check_segment(segment, one.overall_best, result.models)


def _check_segment(segment: Segment, overall_best: str, models: Sequence[str]) -> None:
    interval, cost = segment.interval, segment.values.cost_or_zero
    if interval.shape != (len(models), 2) or not np.isfinite(interval).all() or (interval[:, 0] > interval[:, 1]).any():
        raise ValueError("a segment has intervals that cannot be")
    if (interval[:, 0] < -cost - RTOL).any() or (interval[:, 1] > 1 - cost + RTOL).any():
        raise ValueError("a segment has intervals outside the scale")
    if not (0 < segment.contexts <= segment.rows and math.isfinite(segment.share) and 0.0 < segment.share <= 1 + RTOL):
        raise ValueError("a segment has numbers that cannot be")
    best = segment.best_set
    if not best or len(set(best)) < len(best) or not set(best) <= set(models):
        raise ValueError("the possibly best models of a segment are not among the models")
    if segment.other_best == (overall_best in best):
        raise ValueError("a segment contradicts itself about the best model")

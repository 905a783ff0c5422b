"""Values by segment in plain English: does the best model depend on the segment, and for which?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.data.segment_codes import MIN_SEGMENT_ROWS, MISSING, OTHER
from deconfound.diagnose.randomization import AssignmentBySegment
from deconfound.escaping import escape_name
from deconfound.formatting import format_percent, join_names, join_noted_names, pluralize, quote
from deconfound.report.scale import Scale
from deconfound.report.wording import format_raw_p_value
from deconfound.result import Result
from deconfound.value.segments import Segment, SegmentedValues

ANY_MODEL = "any"


def segment_heading(one: SegmentedValues) -> str:
    """Of the section about one column."""
    return f"Segments by {quote(one.column)}"


def segment_answer(result: Result) -> list[str]:
    """One sentence for the answer where some segment has another best model; otherwise none."""
    trusted = [one for one in result.segments if not _doubt(one, result)]
    columns = [one.column for one in trusted if any(segment.other_best for segment in one.segments)]
    if not columns:
        return []
    return [f"In some segments another model is best: see the segments by {join_names(columns)}."]


def segment_lines(one: SegmentedValues, result: Result) -> list[str]:
    """The answer first: whether the best model differs and where, where it is confirmed, and what was pooled."""
    if len(one.segments) < 2:
        return [f"All rows are in one segment, {quote(one.segments[0].name)}: there is nothing to compare."]
    return [*_doubt(one, result), _answer(one), *_confirmed(one), *_rest(one)]


def segment_scope(result: Result) -> list[str]:
    """Which statements hold together, and for which contexts."""
    together = "of all columns together" if len(result.segments) > 1 else "together"
    lines = [f"Intervals and possibly best models hold for all segments {together}."]
    if result.population.kind == "target":
        lines.append("Rows of a segment are weighted as for the target, which balances all rows, not each segment.")
    elif result.population.kind != "experiment":
        lines.append("Segments are those of the experiment's own contexts.")
    return lines


def segment_summary(one: SegmentedValues, result: Result) -> str:
    """All sentences on one column as one text."""
    return " ".join([*segment_lines(one, result), *segment_scope(result)])


def segment_rows(one: SegmentedValues, result: Result) -> list[tuple[str, ...]]:
    """One row per segment, headings first: its size, its first model with an interval, and which may be best."""
    scale = Scale.of(result)
    value = "value" if result.values.cost is None else "net value"
    head = ("segment", "rows", "share", "first", value, f"{format_percent(one.level)} interval", "may be best")
    return [head, *(_row(segment, scale) for segment in one.segments)]


def _row(segment: Segment, scale: Scale) -> tuple[str, ...]:
    first = segment.table()[0]
    everything = len(segment.best_set) == len(segment.values.models)
    return (
        join_names([segment.name]),
        f"{segment.rows:,}",
        format_percent(segment.share, 0),
        escape_name(str(first["model"])),
        scale.value(float(first["estimate"])),
        scale.interval(float(first["low"]), float(first["high"])),
        ANY_MODEL if everything else join_names(segment.best_set),
    )


def _doubt(one: SegmentedValues, result: Result) -> list[str]:
    """Stands above the answer where segments depend on the assigned model."""
    warned = (finding.details for finding in result.findings if finding.verdict in ("warn", "fail"))
    if not any(isinstance(details, AssignmentBySegment) and details.column == one.column for details in warned):
        return []
    return [
        f"Not to be relied on: {quote(one.column)} depends on the assigned model, as what is known only after the "
        "answer does (see the warnings)."
    ]


def _answer(one: SegmentedValues) -> str:
    best, column, level = escape_name(one.overall_best), quote(one.column), format_percent(one.level)
    others = [segment for segment in one.segments if segment.other_best]
    if others:
        where = join_noted_names((segment.name, f" ({_possible(segment.best_set)})") for segment in others)
        depends = f"The best model depends on {column}: " if one.best_differs else ""
        return f"{depends}{best}, first overall, is not the best model in {where}."
    p_value = format_raw_p_value(one.p_value)
    if one.differ:
        return (
            f"Differences between models depend on {column} ({p_value}), but no segment shows at {level} confidence "
            f"that another model than {best}, first overall, is the best."
        )
    return f"No evidence that the best model depends on {column} ({p_value} for equal differences in all segments)."


def _possible(models: Sequence[str]) -> str:
    names = join_names(models)
    return f"best: {names}" if len(models) == 1 else f"may be best: {names}"


def _confirmed(one: SegmentedValues) -> list[str]:
    """Where the model that is first overall is the only one that may be best, and where nothing is excluded."""
    best = escape_name(one.overall_best)
    sure = [segment.name for segment in one.segments if segment.best_set == (one.overall_best,)]
    open_ones = [segment for segment in one.segments if len(segment.best_set) > 1 and not segment.other_best]
    lines = [f"{best} is the best model in {join_names(sure)}."] if sure else []
    if len(open_ones) == len(one.segments) and all(map(_excludes_nothing, open_ones)):
        return ["No segment alone excludes any model: its rows are too few to compare models."]
    if open_ones:
        count = f"{len(open_ones)} of {len(one.segments)} segments"
        lines.append(f"In {count}, the data do not show whether {best} or another model is best.")
    return lines


def _excludes_nothing(segment: Segment) -> bool:
    return len(segment.best_set) == len(segment.values.models)


def _rest(one: SegmentedValues) -> list[str]:
    """What the segments without a value of their own are."""
    lines = []
    if one.pooled_values:
        pooled = f"{one.pooled_values:,} values, most of them with fewer than {MIN_SEGMENT_ROWS} rows"
        lines.append(f"{OTHER}: {pooled}.")
    if one.missing_rows:
        lines.append(f"{MISSING}: {pluralize(one.missing_rows, 'row')} without a value.")
    unjudged = [segment.name for segment in one.segments if not np.isfinite(segment.values.standard_error).any()]
    if unjudged:
        lines.append(f"Too few randomized rows for any interval: {join_names(unjudged)}.")
    return lines

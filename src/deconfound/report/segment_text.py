"""Values by segment in plain English: does the best model depend on the segment, and for which?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deconfound.data.segment_codes import MAX_SEGMENTS, MIN_SEGMENT_ROWS, MISSING, OTHER
from deconfound.diagnose.randomization import AssignmentBySegment
from deconfound.diagnose.sanity import SegmentLeakage
from deconfound.escaping import escape_name
from deconfound.formatting import (
    format_percent,
    join_choices,
    join_names,
    join_noted_names,
    pluralize,
    quote,
)
from deconfound.report.scale import Scale
from deconfound.report.wording import format_raw_p_value
from deconfound.result import Result
from deconfound.value.segments import Segment, SegmentedValues

ANY_MODEL = "any"
MAX_NAMED_MODELS = 2  # of a segment; more are counted
MAX_SHOWN_MODELS = 5  # in the picture of a segment


def segment_heading(one: SegmentedValues) -> str:
    """Of the section about one column."""
    return f"Segments by {quote(one.column)}"


def segment_answer(result: Result, prefix: str = "") -> list[str]:
    """Which model is best where, column by column; one sentence for all columns that show no difference.

    ``prefix`` stands before each statement, where a check failed.
    """
    compared = [one for one in result.segments if len(one.segments) > 1]
    trusted = [one for one in compared if not _doubt(one, result)]
    deciding = [one for one in trusted if any(segment.other_best for segment in one.segments)]
    lines = [f"{prefix}By {quote(one.column)}: {_by_model(one)}." for one in deciding]
    untested = [quote(one.column) for one in trusted if one not in deciding and math.isnan(one.p_value)]
    if untested:
        lines.append(f"Whether the best model depends on {' or '.join(untested)} could not be tested: too few rows.")
    same = [quote(one.column) for one in trusted if one not in deciding and not one.differ]
    same = [column for column in same if column not in untested]
    if same:
        lines.append(f"{prefix}No evidence that the best model depends on {' or '.join(same)}.")
    unclear = [quote(one.column) for one in trusted if one not in deciding and one.differ]
    if unclear:
        depend = f"Differences between models depend on {' and '.join(unclear)}"
        lines.append(f"{prefix}{depend}, but no segment shows another best model.")
    doubted = [quote(one.column) for one in compared if one not in trusted]
    return lines + [f"Segments by {' and '.join(doubted)} are not to be relied on (see the warnings)."] * bool(doubted)


def _by_model(one: SegmentedValues) -> str:
    """Segments in which one model is best or the overall best one is not, by model; the others are counted."""
    decided: dict[tuple[str, ...], list[str]] = {}
    for segment in one.segments:
        if len(segment.best_set) == 1 or segment.other_best:
            decided.setdefault(segment.best_set, []).append(segment.name)
    parts = []
    for models, names in decided.items():
        is_one, few = len(models) == 1, len(models) <= MAX_NAMED_MODELS
        which = join_choices(models) if few else f"{len(models)} models other than {escape_name(one.overall_best)}"
        parts.append(f"in {join_names(names)}, {which} {'is' if is_one else 'may be'} best")
    rest = len(one.segments) - sum(map(len, decided.values()))
    if rest:
        parts.append(f"{pluralize(rest, 'other segment')} {'does' if rest == 1 else 'do'} not show which")
    return "; ".join(parts)


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
    shares = whole_percents([segment.share for segment in one.segments])
    return [head, *(_row(segment, share, scale) for segment, share in zip(one.segments, shares, strict=True))]


def candidates(segment: Segment) -> str:
    """The models that may be best: their names, or how many they are."""
    count, total = len(segment.best_set), len(segment.values.models)
    if count == total:
        return ANY_MODEL
    return join_names(segment.best_set) if count <= MAX_NAMED_MODELS else f"{count} of {total} models"


def shown_models(segment: Segment, overall_best: str) -> list[str]:
    """The models of a picture: all, or where they are many the first ones and the one that is first overall."""
    ranking = segment.values.ranking()
    if len(ranking) <= MAX_SHOWN_MODELS:
        return list(ranking)
    first = ranking[: MAX_SHOWN_MODELS - 1]
    return [name for name in ranking if name in first or name == overall_best]


def whole_percents(shares: Sequence[float]) -> list[str]:
    """Shares that are the whole as percent without decimals that sum to 100: the largest remainders are rounded up."""
    exact = [100 * share for share in shares]
    floors = [math.floor(each) for each in exact]
    rest = max(round(sum(exact)) - sum(floors), 0)
    order = sorted(range(len(exact)), key=lambda at: floors[at] - exact[at])
    return [f"{floor + (at in order[:rest])} %" for at, floor in enumerate(floors)]


def _row(segment: Segment, share: str, scale: Scale) -> tuple[str, ...]:
    first = segment.table()[0]
    return (
        join_names([segment.name]),
        f"{segment.rows:,}",
        share,
        escape_name(str(first["model"])),
        scale.value(float(first["estimate"])),
        scale.interval(float(first["low"]), float(first["high"])),
        candidates(segment),
    )


def _doubt(one: SegmentedValues, result: Result) -> list[str]:
    """Stands above the answer where segments depend on the assigned model, or decide the outcome."""
    warned = [finding.details for finding in result.findings if finding.verdict in ("warn", "fail")]
    if any(isinstance(details, SegmentLeakage) and details.column == one.column for details in warned):
        return [f"Not to be relied on: {quote(one.column)} nearly decides the outcome (see the warnings)."]
    if not any(isinstance(details, AssignmentBySegment) and details.column == one.column for details in warned):
        return []
    return [
        f"Not to be relied on: {quote(one.column)} predicts the assigned model (see the warnings). Either models were "
        "drawn with other probabilities in some segments, or it is known only after the answer."
    ]


def _answer(one: SegmentedValues) -> str:
    best, column, level = escape_name(one.overall_best), quote(one.column), format_percent(one.level)
    others = [segment for segment in one.segments if segment.other_best]
    if others:
        where = join_noted_names((segment.name, f" ({_possible(segment)})") for segment in others)
        depends = f"The best model depends on {column}: " if one.best_differs else ""
        return f"{depends}{best}, first overall, is not the best model in {where}."
    if math.isnan(one.p_value):
        return (
            f"Whether differences between models depend on {column} could not be tested: no two models have enough "
            "randomized rows both inside and outside a segment."
        )
    p_value = format_raw_p_value(one.p_value)
    if one.differ:
        return (
            f"Differences between models depend on {column} ({p_value}), but no segment shows at {level} confidence "
            f"that another model than {best}, first overall, is the best."
        )
    return f"No evidence that the best model depends on {column} ({p_value} for equal differences in all segments)."


def _possible(segment: Segment) -> str:
    return f"{'best' if len(segment.best_set) == 1 else 'may be best'}: {candidates(segment)}"


def _confirmed(one: SegmentedValues) -> list[str]:
    """Where the model that is first overall is the only one that may be best, and where nothing is excluded."""
    best = escape_name(one.overall_best)
    sure = [segment.name for segment in one.segments if segment.best_set == (one.overall_best,)]
    open_ones = [segment for segment in one.segments if len(segment.best_set) > 1 and not segment.other_best]
    lines = [f"{best} is the best model in {join_names(sure)}."] if sure else []
    if len(open_ones) == len(one.segments) and all(map(_excludes_nothing, open_ones)):
        return ["No segment alone excludes any model: differences are small, or its rows are too few to show them."]
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
        few = f"fewer than {MIN_SEGMENT_ROWS} rows or not among the {MAX_SEGMENTS} most frequent values"
        lines.append(f"{OTHER}: {pluralize(one.pooled_values, 'value')} with {few}.")
    if one.missing_rows:
        lines.append(f"{MISSING}: {pluralize(one.missing_rows, 'row')} without a value.")
    unjudged = [segment.name for segment in one.segments if not np.isfinite(segment.values.standard_error).any()]
    if unjudged:
        lines.append(f"Too few randomized rows for any interval: {join_names(unjudged)}.")
    return [*lines, *_first_without_rows(one, unjudged)]


def _first_without_rows(one: SegmentedValues, unjudged: Sequence[str]) -> list[str]:
    """Where the first model of a segment has no evidence there; one sentence per model."""
    where: dict[str, list[str]] = {}
    for segment in one.segments:
        first = segment.values.ranking()[0]
        known = np.isfinite(segment.values.standard_error[segment.values.models.index(first)])
        if not known and segment.name not in unjudged:
            where.setdefault(first, []).append(segment.name)
    alone = "by other segments and the replay alone: it has too few randomized rows there"
    return [f"{escape_name(model)} is first in {join_names(names)} {alone}." for model, names in where.items()]

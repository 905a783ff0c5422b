"""Assessments of MLflow as scores: feedback counts, expectations and replaced assessments do not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deconfound.traces.call import Author, Score, Target
from deconfound.traces.field_values import first_text, mapping_from, number_from, score_from, seconds_from, text_from
from deconfound.traces.mlflow_spans import hexadecimal
from deconfound.traces.reader import Remarks

AUTHORS: Mapping[str, Author] = {"HUMAN": "human", "LLM_JUDGE": "judge", "AI_JUDGE": "judge", "CODE": "code"}
SESSION = "mlflow.trace.session"  # in the metadata of an assessment of a whole session
MILLISECONDS = 1e3


@dataclass(frozen=True, slots=True)
class Assessment:
    """A score and the id under which MLflow stores it."""

    assessment_id: str
    score: Score


def assessments_in(
    value: list[Any], trace_id: str, calls: Collection[str], origin: str, remarks: Remarks
) -> Iterator[Assessment]:
    """The scores of a trace; ``calls`` are the ids of its spans that are calls."""
    found = [one for one in map(mapping_from, value) if one]
    replaced = {text_from(one.get("overrides")) for one in found} - {""}
    for one in found:
        reason = _reason_to_skip(one, replaced)
        if reason:
            remarks.add(reason, origin)
            continue
        for name, score in _values(one):
            target, target_id = _target(one, trace_id, calls)
            judged = Score(origin, name, score, _author(one), target, target_id, _author_id(one), _time(one))
            judged = replace(judged, trace_id=trace_id if target == "call" else "")
            yield Assessment(text_from(one.get("assessment_id")), judged)


def _reason_to_skip(one: Mapping[str, Any], replaced: Collection[str]) -> str:
    if one.get("valid") is False or text_from(one.get("assessment_id")) in replaced:
        return "assessments were replaced by later ones"
    if one.get("expectation") is not None:
        return "assessments are expectations, not scores"
    if not _name(one) or not any(True for _ in _values(one)):
        return "assessments have no value that is a number, a truth value or a text"
    return ""


def _values(one: Mapping[str, Any]) -> Iterator[tuple[str, float | bool | str]]:
    """The value, or the values of an object under their own names."""
    value = mapping_from(one.get("feedback")).get("value")
    named = (
        {f"{_name(one)}.{key}": part for key, part in value.items()}
        if isinstance(value, Mapping)
        else {_name(one): value}
    )
    for name, part in named.items():
        score = score_from(part)
        if score is not None:
            yield name, score


def _name(one: Mapping[str, Any]) -> str:
    return first_text(one.get("assessment_name"), one.get("name"))


def _author(one: Mapping[str, Any]) -> Author:
    return AUTHORS.get(text_from(mapping_from(one.get("source")).get("source_type")).upper(), "unknown")


def _author_id(one: Mapping[str, Any]) -> str:
    return text_from(mapping_from(one.get("source")).get("source_id"))


def _target(one: Mapping[str, Any], trace_id: str, calls: Collection[str]) -> tuple[Target, str]:
    """What an assessment judges; one of a span around calls judges the trace."""
    session = text_from(mapping_from(one.get("metadata")).get(SESSION))
    if session:
        return "conversation", session
    span_id = hexadecimal(text_from(one.get("span_id")))
    return ("call", span_id) if span_id in calls else ("trace", trace_id)


def _time(one: Mapping[str, Any]) -> float | None:
    milliseconds = number_from(one.get("create_time_ms"))
    return milliseconds / MILLISECONDS if milliseconds is not None else seconds_from(one.get("create_time"))

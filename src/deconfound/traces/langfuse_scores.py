"""Scores of Langfuse: from files, from every version of its API, and from the columns of its own exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deconfound.traces.call import Author, Score, Target
from deconfound.traces.field_values import list_from, mapping_from, number_from, score_from, seconds_from, text_from
from deconfound.traces.langfuse_records import field_of, text_field
from deconfound.traces.reader import Remarks

AUTHORS: dict[str, Author] = {"ANNOTATION": "human", "EVAL": "judge"}  # API is users, programs and judges alike
TARGETS: dict[str, Target] = {"observation": "call", "trace": "trace", "session": "conversation"}
TRUE, FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")
LIST_FIELDS = {
    *("input", "output", "metadata", "tags", "traceTags", "comments", "observations", "scores", "statusMessage"),
    *("toolCalls", "toolCallNames", "toolDefinitions", "modelParameters", "usageDetails", "costDetails", "name"),
}
"""What may be a list in a row without being a score; every other column with a list is one."""


def score_from_record(record: Mapping[str, Any], origin: str, remarks: Remarks) -> Score | None:
    """The score in a record; None, with a remark, if it judges no call or has no value."""
    kind = text_field(record, "data_type")
    if kind == "CORRECTION":
        remarks.add("scores are corrections, which are texts of a better answer", origin)
        return None
    target = _target(record)
    if target is None:
        remarks.add("scores judge no call, trace or session (a run of a dataset, or a page without subjects)", origin)
        return None
    value, name = _value(record, kind), text_field(record, "name")
    if value is None or not name:
        remarks.add("scores have no name or no value", origin)
        return None
    return Score(
        origin=origin,
        name=name,
        value=value,
        author=AUTHORS.get(text_field(record, "source"), "unknown"),
        target=target[0],
        target_id=target[1],
        author_id=text_field(record, "author_user_id", "author_user_name"),
        time=seconds_from(field_of(record, "timestamp")),
    )


def _target(record: Mapping[str, Any]) -> tuple[Target, str] | None:
    subject = mapping_from(record.get("subject"))  # of the third version of the API
    if subject:
        kind, target_id = TARGETS.get(text_from(subject.get("kind"))), text_from(subject.get("id"))
        return (kind, target_id) if kind and target_id else None
    for name, target in TARGETS.items():
        target_id = text_field(record, f"{name}_id")
        if target_id:
            return target, target_id
    return None


def _value(record: Mapping[str, Any], kind: str) -> float | bool | str | None:
    value, text = field_of(record, "value"), text_field(record, "string_value")
    if kind in ("CATEGORICAL", "TEXT"):
        return text or (value if isinstance(value, str) and value else None)
    if kind == "BOOLEAN":
        written = str(value).lower() if isinstance(value, bool) else (text_from(value) or text).lower()
        return True if written in TRUE else False if written in FALSE else None
    return float(value) if isinstance(value, bool) else number_from(value)


def column_scores(row: Mapping[str, Any], target: Target, origin: str) -> Iterator[Score]:
    """Scores in the columns of a row that the user interface exported; nothing says who gave them, or which is newer.

    Several values of one score count as those of several authors, so that they are averaged.
    """
    row_id = text_from(row.get("id"))
    for name, cell in row.items():
        values = map(score_from, list_from(cell) if name and row_id and name not in LIST_FIELDS else ())
        found = [value for value in values if value is not None]
        for number, value in enumerate(found, start=1):
            author_id = f"value {number}" if len(found) > 1 else ""
            yield Score(origin, name, value, "unknown", target, row_id, author_id)

"""Rows of feedback of LangSmith."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deconfound.traces.call import Author
from deconfound.traces.field_values import first_text, mapping_from, score_from, seconds_from, text_from

AUTHORS: Mapping[str, Author] = {"app": "human", "model": "judge", "auto_eval": "judge"}
"""Feedback from the API may come from users and from programs alike."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A score before it is known which runs are calls."""

    origin: str
    feedback_id: str
    name: str
    value: float | bool | str
    author: Author
    author_id: str
    run_id: str
    trace_id: str
    time: float | None


def is_feedback(value: Mapping[str, Any]) -> bool:
    """Whether an object is a row of feedback."""
    return "key" in value and "run_id" in value and any(key in value for key in ("score", "feedback_source"))


def feedback_from(row: Mapping[str, Any], origin: str) -> Feedback | str:
    """A row of feedback, or why it is left out."""
    name, value = text_from(row.get("key")), score_from(row.get("score"))
    if value is None:
        value = score_from(row.get("value"))
    run_id, trace_id = text_from(row.get("run_id")), text_from(row.get("trace_id"))
    if row.get("comparative_experiment_id"):
        return "scores rank an answer against another one, and do not judge it alone"
    if not name or value is None or row.get("error") is True:
        return "rows of feedback have no value that is a number, a truth value or a text"
    if not run_id and not trace_id:
        return "scores do not say what they judge"
    source = mapping_from(row.get("feedback_source"))
    return Feedback(
        origin,
        text_from(row.get("id")),
        name,
        value,
        AUTHORS.get(text_from(source.get("type")), "unknown"),
        first_text(source.get("user_id"), source.get("ls_user_id"), source.get("user_name")),
        run_id,
        trace_id,
        seconds_from(row.get("created_at")),
    )

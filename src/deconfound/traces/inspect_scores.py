"""The scores of a sample of Inspect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deconfound.traces.call import Author, Call, Score
from deconfound.traces.field_values import list_from, mapping_from, score_from, text_from
from deconfound.traces.reader import Remarks

GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partial, incorrect, no answer: the values that Inspect's own metrics use."""
JUDGES = ("model_graded_qa", "model_graded_fact")
PROGRAMS = ("answer", "choice", "exact", "f1", "includes", "match", "math", "pattern")
UNCHANGED = "UNCHANGED"


def scores_of_sample(scores: object, call: Call, remarks: Remarks) -> Iterator[Score]:
    """One score per scorer, or one per key where a scorer gives several values."""
    for scorer, score in mapping_from(scores).items():
        if not scorer or not isinstance(score, Mapping):
            remarks.add("scores are damaged", call.origin)
            continue
        editor = _editor(score)
        if editor is not None:
            remarks.add("scores were edited after the run", call.origin)
        author: Author = _author(scorer, score) if editor is None else "unknown"
        for name, value in _values(scorer, score.get("value")):
            grade = score_from(GRADES.get(value, value) if isinstance(value, str) else value)
            if grade is None:
                remarks.add("scores are lists" if isinstance(value, list) else "scores have no value", call.origin)
                continue
            yield Score(call.origin, name, grade, author, "call", call.call_id, editor or "", call.time)


def _values(scorer: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"{scorer}_{key}", one) for key, one in value.items())
    else:
        yield scorer, value


def _author(scorer: str, score: Mapping[str, Any]) -> Author:
    """By the name of Inspect's own scorers; a scorer that stores how a model graded is a judge, too."""
    name = scorer.rpartition("/")[2].rstrip("0123456789") if scorer not in PROGRAMS else scorer
    if name in JUDGES or "grading" in mapping_from(score.get("metadata")):
        return "judge"
    return "code" if name in PROGRAMS else "unknown"


def _editor(score: Mapping[str, Any]) -> str | None:
    """Who changed the value after the run; none if nobody did."""
    edits = [mapping_from(edit) for edit in list_from(score.get("history"))]
    changed = [edit for edit in edits if edit.get("provenance") and edit.get("value", UNCHANGED) != UNCHANGED]
    return text_from(mapping_from(changed[-1]["provenance"]).get("author")) if changed else None

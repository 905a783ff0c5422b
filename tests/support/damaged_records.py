"""Valid records of traces with random parts replaced, deleted or added, and the check of what readers yield then."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from deconfound.errors import DeconfoundError
from deconfound.traces.call import Call, Score
from deconfound.traces.reader import Reader, Record, Remarks

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just('{"a": [1'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn, valid: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One of the valid records with up to four random changes, or a random object."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
    record = copy.deepcopy(draw(st.sampled_from(list(valid))))
    for _ in range(draw(st.integers(1, 4))):
        parts = _containers(record)
        part = draw(st.sampled_from(parts))
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        if not keys:
            continue
        key = draw(st.sampled_from(keys))
        if draw(st.booleans()):
            part[key] = draw(JSON)
        else:
            del part[key]
    return record


def _containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(found for part in value.values() for found in _containers(part))]
    return [value, *(found for part in value for found in _containers(part))] if isinstance(value, list) else []


def read_all(reader: Reader, values: Sequence[dict[str, Any]]) -> tuple[list[Call | Score], Remarks]:
    """Everything that a reader yields for records with these values, in the places "r1", "r2" and so on."""
    remarks = Remarks()
    records = [Record(value, f"r{at}", Path("x.jsonl")) for at, value in enumerate(values, start=1)]
    return list(reader.read(records, remarks)), remarks


def check_reading(reader: Reader, values: Sequence[dict[str, Any]]) -> None:
    """Whatever the records are, only the package's own errors are raised and every field has its declared type."""
    try:
        found, remarks = read_all(reader, values)
    except DeconfoundError:
        return
    assert all(isinstance(reader.recognizes(value), bool) for value in values)
    for one in found:
        _check_call(one) if isinstance(one, Call) else _check_score(one)
    assert all(isinstance(what, str) and count > 0 for what, count in remarks.counts.items())


def _check_call(call: Call) -> None:
    texts = (call.origin, call.call_id, call.model, call.requested_model, call.group, call.response_id)
    assert all(isinstance(text, str) for text in (*texts, call.trace_id, call.conversation, call.user, *call.outputs))
    assert call.model
    assert isinstance(call.outputs, tuple)
    assert all(isinstance(message.text, str) and isinstance(message.role, str) for message in call.messages)
    assert call.time is None or (isinstance(call.time, float) and math.isfinite(call.time))
    assert all(isinstance(name, str) and isinstance(text, str) for name, text in call.attributes.items())


def _check_score(score: Score) -> None:
    assert all(isinstance(text, str) for text in (score.origin, score.name, score.target_id, score.author_id))
    assert score.name
    assert isinstance(score.value, bool | str) or (isinstance(score.value, float) and math.isfinite(score.value))
    assert score.time is None or math.isfinite(score.time)

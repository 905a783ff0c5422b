"""Records of traces for tests: from files, from values, and damaged in every way."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from hypothesis import strategies as st

from deconfound.traces.call import Call, Message, Score
from deconfound.traces.reader import Reader, Record, Remarks

SAMPLES = Path(__file__).parents[1] / "traces" / "samples"


def from_lines(path: Path) -> list[Record]:
    """Every line of a JSONL file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Record(json.loads(line), f"{path.name} line {number}", path) for number, line in enumerate(lines, 1)]


def from_document(path: Path) -> list[Record]:
    """A file that is one object."""
    return [Record(json.loads(path.read_text(encoding="utf-8")), path.name, path)]


def from_values(*values: dict, path: str = "x.jsonl") -> list[Record]:
    """Objects as the lines of a file."""
    return [Record(value, f"{Path(path).name} line {number}", Path(path)) for number, value in enumerate(values, 1)]


def read(reader: Reader, records: Iterable[Record]) -> tuple[list[Call], list[Score], dict[str, int]]:
    """What a reader yields, calls and scores apart, and its remarks."""
    remarks = Remarks()
    found = list(reader.read(records, remarks))
    calls = [one for one in found if isinstance(one, Call)]
    return calls, [one for one in found if isinstance(one, Score)], remarks.counts


KEYS = ["id", "model", "content", "role", "results", "messages", "choices", "score", "output", "metadata", "error"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, "\ud800", math.nan, "attachment://" + "0" * 32]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner),
    max_leaves=6,
)


def _places(value: object, path: tuple = ()) -> Iterable[tuple]:
    """The path of every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from _places(one, (*path, key))


@st.composite
def damaged(draw: st.DrawFn, valid: Sequence[dict]) -> list[dict]:
    """Some valid objects, with values replaced by anything or removed, and objects of another kind among them."""
    values = copy.deepcopy(draw(st.lists(st.sampled_from(valid), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(0, 3))):
        value = draw(st.sampled_from(values))
        places = list(_places(value))
        if not places:
            continue
        *parents, last = draw(st.sampled_from(places))
        for key in parents:
            value = value[key]
        if draw(st.booleans()):
            value[last] = draw(JSON)
        else:
            del value[last]
    return values + draw(st.lists(st.dictionaries(st.text(max_size=3) | st.sampled_from(KEYS), JSON), max_size=1))


def require_types(found: Iterable[Call | Score]) -> None:
    """Every field has the type that it declares, whatever the record said."""
    for one in found:
        assert one.time is None or (isinstance(one.time, float) and math.isfinite(one.time))
        assert isinstance(one.origin, str)
        if isinstance(one, Score):
            texts = (one.name, one.author, one.target, one.target_id, one.author_id)
            assert isinstance(one.value, str | bool) or (isinstance(one.value, float) and math.isfinite(one.value))
        else:
            texts = (one.call_id, one.model, one.requested_model, one.group, one.response_id, one.trace_id)
            texts = (*texts, one.conversation, one.user, one.context_id, *one.attributes, *one.attributes.values())
            assert isinstance(one.messages, tuple)
            assert all(isinstance(part, Message) for part in one.messages)
            assert isinstance(one.outputs, tuple)
            texts = (*texts, *one.outputs, *(text for part in one.messages for text in (part.role, part.text)))
            assert one.draw is None or type(one.draw) is int
        assert all(isinstance(text, str) for text in texts)

"""Records of traces that are damaged at random, and what holds for everything that is read from them."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from hypothesis import strategies as st

from deconfound.chat.conversation import Message
from deconfound.traces.call import Author, Call, Flag, Score, Target
from deconfound.traces.reader import Reader, Record, Remarks

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["[", '{"a":1}', '{"a": [1', 10**400, "\ud800", math.nan, "attachment://" + "0" * 32])
)


def json_values(keys: Iterable[str]) -> st.SearchStrategy[Any]:
    """Any JSON, with these names of keys among others."""
    return st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | objects(keys, inner), max_leaves=8)


def objects(keys: Iterable[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Small objects, mostly with these names of keys."""
    return st.dictionaries(st.sampled_from(sorted(keys)) | st.text(max_size=3), values, max_size=4)


def keys_in(value: object) -> set[str]:
    """All names of keys in a value."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_in, value.values()))
    return set().union(*map(keys_in, value)) if isinstance(value, list) else set()


@st.composite
def damaged(draw: st.DrawFn, valid: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Some valid objects with values replaced by any JSON, also as text, or removed, and perhaps a random object."""
    keys = keys_in(list(valid))
    junk = json_values(keys)
    values = copy.deepcopy(draw(st.lists(st.sampled_from(valid), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(draw(st.sampled_from(values))))
        if not places:
            continue
        parent, key = draw(st.sampled_from(places))
        what = draw(st.sampled_from(["replace", "encode", "delete"]))
        if what == "delete":
            del parent[key]
        else:
            replacement = draw(junk)
            parent[key] = json.dumps(replacement) if what == "encode" else replacement
    return values + draw(st.lists(objects(keys, junk), max_size=1))


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)


def require_valid(reader: Reader, records: Sequence[Record]) -> None:
    """Nothing is raised, and every field of what is read has its declared type, whatever the records are."""
    remarks = Remarks()
    assert all(isinstance(reader.recognizes(record.value), bool) for record in records)
    for one in reader.read(records, remarks):
        assert isinstance(one, Call | Score)
        assert isinstance(one.origin, str)
        assert one.time is None or (isinstance(one.time, float) and math.isfinite(one.time))
        _require_call(one) if isinstance(one, Call) else _require_score(one)
    assert all(isinstance(what, str) and count > 0 for what, count in remarks.counts.items())


def _require_call(call: Call) -> None:
    texts = [call.call_id, call.model, call.requested_model, call.group, call.response_id, call.trace_id, call.turn_id]
    texts += [call.conversation, call.user, call.context_id, *call.attributes, *call.attributes.values(), *call.outputs]
    texts += [text for message in call.messages for text in (message.role, message.text)]
    assert all(isinstance(text, str) for text in texts)
    assert isinstance(call.messages, tuple)
    assert all(isinstance(message, Message) for message in call.messages)
    assert isinstance(call.outputs, tuple)
    assert call.flags <= set(get_args(Flag))
    assert call.draw is None or type(call.draw) is int


def _require_score(score: Score) -> None:
    assert all(isinstance(text, str) for text in (score.name, score.target_id, score.author_id))
    assert score.name
    assert score.target_id
    assert score.author in get_args(Author)
    assert score.target in get_args(Target)
    assert isinstance(score.value, str | bool) or (isinstance(score.value, float) and math.isfinite(score.value))

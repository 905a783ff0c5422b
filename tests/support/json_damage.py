"""Records of trace formats: from sample files, damaged at random, and checks of what a reader yields."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any, get_args

from hypothesis import strategies as st

from deconfound.traces.call import Author, Call, Flag, Message, Score, Target
from deconfound.traces.reader import Reader, Record, Remarks

SAMPLES = Path(__file__).parents[1] / "traces" / "samples"


def sample_values(*names: str) -> list[dict[str, Any]]:
    """The objects of sample files in JSON Lines."""
    return [json.loads(line) for name in names for line in (SAMPLES / name).read_text(encoding="utf-8").splitlines()]


def records_of(values: Iterable[object]) -> list[Record]:
    """Values as records of one file."""
    return [Record(value, f"x.jsonl line {at}", Path("x.jsonl")) for at, value in enumerate(values, 1)]  # type: ignore[arg-type]


def read_all(reader: Reader, values: Iterable[object]) -> tuple[list[Call], list[Score], Remarks]:
    """Calls, scores and remarks of all values."""
    remarks = Remarks()
    found = list(reader.read(records_of(values), remarks))
    calls = [one for one in found if isinstance(one, Call)]
    return calls, [one for one in found if isinstance(one, Score)], remarks


def json_values(keys: Iterable[str]) -> st.SearchStrategy[Any]:
    """Any JSON, with these names of keys among others."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=8)
        | st.sampled_from(["[", '{"a":1}'])
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(sorted(keys)) | st.text(max_size=3), inner, max_size=4)
        ),
        max_leaves=12,
    )


def keys_in(value: object) -> set[str]:
    """All names of keys in a value."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_in, value.values()))
    return set().union(*map(keys_in, value)) if isinstance(value, list) else set()


def damaged(value: object, random: Random, junk: object) -> object:
    """A copy in which one place at random is replaced by something else, or deleted."""
    whole = copy.deepcopy(value)
    places = list(_places(whole))
    if places:
        parent, key = random.choice(places)
        if random.random() < 0.2:
            del parent[key]
        else:
            parent[key] = junk
    return whole


def _places(value: object) -> Iterable[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)


def check_types(found: Iterable[object]) -> None:
    """Every field of calls and scores has its declared type; numbers are finite."""
    for one in found:
        assert isinstance(one, Call | Score)
        assert one.time is None or (isinstance(one.time, float) and math.isfinite(one.time))
        if isinstance(one, Score):
            _check_score(one)
        else:
            _check_call(one)


def _check_call(call: Call) -> None:
    names = (
        "origin",
        "call_id",
        "model",
        "requested_model",
        "response_id",
        "trace_id",
        "conversation",
        "user",
        "group",
    )
    assert all(isinstance(getattr(call, name), str) for name in names)
    assert call.call_id
    assert isinstance(call.messages, tuple)
    assert isinstance(call.outputs, tuple)
    assert all(
        isinstance(one, Message) and isinstance(one.role, str) and isinstance(one.text, str) for one in call.messages
    )
    assert all(isinstance(one, str) for one in call.outputs)
    assert call.flags <= set(get_args(Flag))
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in call.attributes.items())


def _check_score(score: Score) -> None:
    assert all(isinstance(one, str) for one in (score.origin, score.name, score.target_id, score.author_id))
    assert score.name
    assert score.target_id
    assert score.author in get_args(Author)
    assert score.target in get_args(Target)
    assert isinstance(score.value, str | bool) or (isinstance(score.value, float) and math.isfinite(score.value))

"""Values of records: what is not of the expected kind is missing, never an error."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from deconfound.traces.answers import Answer
from deconfound.traces.record_values import (
    answer_flags,
    attributes_from,
    number_from,
    score_from,
    seconds_from,
    text_from,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (5, "5"), (2**60 + 1, str(2**60 + 1)), (5.0, "5"), (1.5, "1.5"), (True, "true"), (False, "false")]
    + [(value, "") for value in (None, math.nan, math.inf, 10**400, [1], {"a": 1})],
)
def test_text(value, text):
    assert text_from(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5.0), (1.5, 1.5)] + [(value, None) for value in (True, "5", None, math.nan, -math.inf, 10**400, [])],
)
def test_numbers(value, number):
    assert number_from(value) == number


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1790000000.5, 1790000000.5),
        ("2026-10-02T08:11:04Z", 1790928664.0),
        ("2026-10-02 08:11:04.120000", 1790928664.12),
        ("2026-10-02T10:11:04+02:00", 1790928664.0),
        (datetime(2026, 10, 2, 8, 11, 4), 1790928664.0),
        (datetime(2026, 10, 2, 8, 11, 4, tzinfo=UTC), 1790928664.0),
        *((value, None) for value in (True, None, "", "yesterday", "2026-13-45", math.nan, [], {})),
    ],
)
def test_times(value, seconds):
    assert seconds_from(value) == seconds


@pytest.mark.parametrize(
    ("value", "score"),
    [(True, True), (1, 1.0), ("good", "good"), (" ", None), (math.nan, None), (None, None), ([1], None)],
)
def test_scores(value, score):
    assert score_from(value) == score
    assert type(score_from(value)) is type(score)


def test_attributes_are_flat_texts():
    value = {"a": {"b": 1, "c": {}, "d": None}, "e": ["x", 2], "f": "", "g": True}
    assert attributes_from(value, "m") == {"m.a.b": "1", "m.e": '["x", 2]', "m.g": "true"}
    assert attributes_from("x", "m") == {"m": "x"}
    assert attributes_from(None, "m") == {}


def test_flags_of_answers():
    assert answer_flags(()) == {"no content"}
    assert answer_flags((Answer("x"),)) == set()
    assert answer_flags((Answer("f({})", tool_call_only=True), Answer("x"))) == set()
    assert answer_flags((Answer("f({})", tool_call_only=True, truncated=True),)) == {"tool call", "truncated"}

"""Fields of records, whatever somebody wrote into them."""

from __future__ import annotations

import time

import pytest

from deconfound.traces.record_fields import (
    attributes_from,
    list_of,
    number_of,
    object_of,
    seconds_of,
    tags_from,
    text_of,
)

MOMENT = 1790928664.12


@pytest.mark.parametrize(
    "value",
    [
        MOMENT,
        MOMENT * 1e3,
        MOMENT * 1e6,
        MOMENT * 1e9,
        str(MOMENT),
        "2026-10-02 08:11:04.120000",
        "2026-10-02T08:11:04.120Z",
        "2026-10-02T10:11:04.120+02:00",
        " 2026-10-02T08:11:04.120000000Z ",
    ],
)
def test_times_of_every_spelling_are_seconds_in_utc(monkeypatch, value):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert seconds_of(value) == pytest.approx(MOMENT, abs=1e-3)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("value", [None, "", "soon", True, [], {}, float("nan"), 10**400, "1e999", "9999-99-99"])
def test_what_is_no_time_is_none(value):
    assert seconds_of(value) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (7, "7"), (0.5, "0.5"), (None, ""), (True, ""), ([1], ""), (float("inf"), ""), (10**400, "")],
)
def test_texts_and_finite_numbers_are_text(value, text):
    assert text_of(value) == text


def test_numbers_may_be_text_and_must_be_finite():
    assert [number_of(value) for value in (1, "2.5", "x", True, "inf", None)] == [1.0, 2.5, None, None, None, None]


def test_objects_and_lists_may_be_text():
    assert object_of('{"a": 1}') == {"a": 1}
    assert list_of("[1]") == [1]
    assert (object_of("{"), object_of([1]), list_of("["), list_of({}), object_of(None)) == ({}, {}, [], [], {})
    assert object_of('{"a":' * 9000) == {}


def test_attributes_are_flat_and_have_text():
    value = {"a": {"b": 1, "c": None, "d": False}, "e": [1, "x"], "f": "", "g": [], "h": float("nan")}
    assert attributes_from(value, "m") == {"m.a.b": "1", "m.a.d": "false", "m.e": '[1, "x"]'}
    assert tags_from(["a", 1, None, ""]) == {"tag.a": "true", "tag.1": "true"}

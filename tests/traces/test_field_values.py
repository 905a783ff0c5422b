"""Fields of records, whatever is written into them: what is not of the expected kind is missing, never an error."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from deconfound.traces.field_values import (
    attributes_from,
    first_text,
    json_from,
    list_from,
    mapping_from,
    number_from,
    objects_from,
    plain_model,
    score_from,
    seconds_from,
    seconds_from_nanoseconds,
    tags_from,
    text_from,
)

MOMENT = 1790928664.12
ID = "00000000-0000-0000-0000-000000000007"


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (" ", " "), (7, "7"), (2**60 + 1, str(2**60 + 1)), (5.0, "5"), (-0.5, "-0.5"), (1e22, "1e+22")]
    + [(UUID(ID), ID)]
    + [(value, "") for value in (None, True, False, math.nan, math.inf, 10**400, [1], {"a": 1})],
)
def test_texts_numbers_and_uuids_are_text(value, text):
    assert text_from(value) == text


def test_the_first_text_that_is_not_empty():
    assert first_text(None, "", True, 5.0, "x") == "5"
    assert first_text() == first_text(None, "") == ""


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5.0), (1.5, 1.5), ("2.5", 2.5), (" 3 ", 3.0)]
    + [(value, None) for value in (True, "x", "", "inf", "1e999", None, math.nan, -math.inf, 10**400, [])],
)
def test_numbers_may_be_text_and_must_be_finite(value, number):
    assert number_from(value) == number


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
        "2026-10-02 08:11:04.120 UTC",
        "2026-10-02 10:11:04.120 +0200",
        "2026-10-02T10:11:04.120+02:00",
        " 2026-10-02T08:11:04.120000000Z ",
        datetime(2026, 10, 2, 8, 11, 4, 120000),
        datetime(2026, 10, 2, 8, 11, 4, 120000, tzinfo=UTC),
        datetime(2026, 10, 2, 10, 11, 4, 120000, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_times_of_every_spelling_are_seconds_in_utc(monkeypatch, value):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert seconds_from(value) == pytest.approx(MOMENT, abs=1e-3)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("value", [None, "", "soon", True, [], {}, math.nan, 10**400, "1e999", "9999-99-99"])
def test_what_is_no_time_is_none(value):
    assert seconds_from(value) is None


def test_nanoseconds_of_zero_are_an_unknown_time():
    assert seconds_from_nanoseconds("1790928664120000000") == pytest.approx(MOMENT)
    assert [seconds_from_nanoseconds(value) for value in (0, "0", -1, None, "x")] == [None] * 5


@pytest.mark.parametrize(
    ("value", "content"),
    [(' {"a": 1}', {"a": 1}), ("[1]", [1]), ('"CHAT"', "CHAT"), ("null", None), ({"a": 1}, {"a": 1}), (5, 5)]
    + [(text, text) for text in ("5.0", "007", "true", "NaN", "no", "{", "", "x", '{"a":' * 9000)],
)
def test_json_in_a_text_is_decoded_and_numbers_stay_as_they_are_written(value, content):
    assert json_from(value) == content


@pytest.mark.parametrize(
    "value", [{"a": 1}, '{"a": 1}', [["a", 1]], [("a", 1)], [{"key": "a", "value": 1}], '[{"key": "a", "value": 1}]']
)
def test_objects_may_be_json_or_lists_of_pairs(value):
    assert mapping_from(value) == {"a": 1}


@pytest.mark.parametrize("value", [None, "", "{", "x", 5, [1], ["ab"], [{}], [[None, 1]], '{"a":' * 9000])
def test_what_is_no_object_is_empty(value):
    assert mapping_from(value) == {}


def test_lists_may_be_json():
    assert list_from([1]) == list_from((1,)) == list_from("[1]") == [1]
    assert [list_from(value) for value in (None, "[", "x", {}, 5)] == [[]] * 5
    assert objects_from([{"a": 1}, 2, None, [{}]]) == objects_from('[{"a": 1}]') == [{"a": 1}]


@pytest.mark.parametrize(
    ("value", "score"),
    [(True, True), (1, 1.0), ("good", "good"), ("5", "5")]
    + [(value, None) for value in ("", " ", math.nan, 10**400, None, [1], {"a": 1})],
)
def test_scores_keep_their_kind(value, score):
    assert score_from(value) == score
    assert type(score_from(value)) is type(score)


def test_attributes_are_flat_texts():
    value = {"a": {"b": 1, "c": {}, "d": None, "e": False}, "f": [1, "x"], "g": "", "h": [], "i": math.nan, "j": 5.0}
    assert attributes_from(value, "m") == {"m.a.b": "1", "m.a.e": "false", "m.f": '[1, "x"]', "m.j": "5"}
    assert attributes_from("x", "m") == {"m": "x"}
    assert attributes_from(None, "m") == {}


def test_attributes_below_the_limit_of_depth_are_json():
    value: object = {"z": 1}
    for _ in range(12):
        value = {"a": value}
    assert attributes_from(value, "m") == {"m" + ".a" * 12: '{"z": 1}'}


def test_tags_are_attributes():
    assert tags_from(["a", 1, None, "", True]) == tags_from('["a", 1]') == {"tag.a": "true", "tag.1": "true"}
    assert tags_from("a") == tags_from(None) == {}


@pytest.mark.parametrize(
    ("model", "provider", "plain"),
    [
        ("openai/cedar", "openai", "cedar"),
        ("OpenAI/cedar", "openai", "cedar"),
        ("openai/org/cedar", "openai", "org/cedar"),
        ("azure/eu/cedar", "azure/eu", "cedar"),
        ("openai/cedar", "", "openai/cedar"),
        ("openai/cedar", "azure", "openai/cedar"),
        ("openai/", "openai", "openai/"),
        ("/cedar", "", "/cedar"),
        ("cedar", "openai", "cedar"),
    ],
)
def test_a_model_has_no_provider_where_the_record_names_it(model, provider, plain):
    assert plain_model(model, provider) == plain

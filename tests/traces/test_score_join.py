"""Scores find the answer that they judge, and become one number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deconfound.chat.conversation import Message
from deconfound.errors import DataError, UsageError
from deconfound.loading.outcome_words import OutcomeScale
from deconfound.traces.call import Call, Score
from deconfound.traces.call_table import CallSummary
from deconfound.traces.score_join import choose_outcomes, join_scores


def summary(number, **fields):
    return CallSummary.from_call("r", Call("o", f"c{number}", "ant", (Message("user", "q"),), ("a",), **fields))


CALLS = [
    summary(0, trace_id="t0", conversation="s", time=1.0, response_id="r0"),
    summary(1, trace_id="t1", conversation="s", time=2.0, response_id="r1"),
    summary(2, trace_id="t1", conversation="s", time=1.5),
]
UNITS = np.array([0, 1])


def score(target, target_id, value=1.0, name="thumb", author="human", **fields):
    return Score("o", name, value, author, target, target_id, **fields)


def joined(*scores, words=None):
    return join_scores(CALLS, UNITS, scores, words or {})


@pytest.mark.parametrize(
    ("target", "target_id", "unit"),
    [("call", "c0", 0), ("response", "r1", 1), ("trace", "t1", 1), ("trace", "t0", 0), ("conversation", "s", 1)],
)
def test_a_score_judges_the_answer_of_its_target(target, target_id, unit):
    values = joined(score(target, target_id)).values["thumb"]
    assert values[unit] == 1.0
    assert math.isnan(values[1 - unit])


def test_scores_without_a_row_are_counted_by_reason():
    result = joined(score("call", "c2"), score("call", "nowhere"), score("call", "c0"))
    assert (result.not_units, result.unmatched) == (1, 1)


def test_the_last_score_of_an_author_counts_and_authors_are_averaged():
    scores = [
        score("call", "c0", 0.0, author_id="x", time=5.0),
        score("call", "c0", 1.0, author_id="x", time=3.0),
        score("call", "c0", 1.0, author_id="y", time=1.0),
    ]
    assert joined(*scores).values["thumb"][0] == 0.5
    assert joined(*scores[::-1]).values["thumb"][0] == 0.5


def test_words_are_numbers_and_unknown_words_are_counted():
    result = joined(score("call", "c0", "👍🏽"), score("call", "c1", "meh"))
    assert result.values["thumb"][0] == 1.0
    assert result.words == {"meh": 1}
    assert joined(score("call", "c1", "meh"), words={"meh": 0.5}).values["thumb"][1] == 0.5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes", 1.0),
        ("no", 0.0),
        (" 👎 ", 0.0),
        ("85 %", 0.85),
        ("12,5%", 0.125),
        ("4.5", 4.5),
        ("-1", -1.0),
        ("1e3", 1e3),
    ],
)
def test_known_words(text, value):
    assert OutcomeScale().value(text) == value


@pytest.mark.parametrize("text", ["", "perhaps", "nan", "inf", "1,5", "0x1", "1_000"])
def test_other_words_are_no_numbers(text):
    assert math.isnan(OutcomeScale().value(text))


def test_the_only_human_score_is_the_outcome_and_in_doubt_the_user_is_asked():
    human, judge = score("call", "c0"), score("call", "c0", name="judge", author="judge")
    assert choose_outcomes(joined(human, judge)) == ("thumb",)
    assert choose_outcomes(joined(human, judge), ["judge"]) == ("judge",)
    assert choose_outcomes(joined()) == ()
    with pytest.raises(UsageError, match=r"Which score is the outcome\?"):
        choose_outcomes(joined(human, score("call", "c1", name="stars")))
    with pytest.raises(UsageError, match=r"Which score is the outcome\?"):
        choose_outcomes(joined(judge))


@pytest.mark.parametrize("value", ["1", 0, 1.0, "0"])
def test_numbers_may_stand_beside_the_words_that_mean_them(value):
    result = joined(score("call", "c0", "yes"), score("call", "c1", value))
    assert choose_outcomes(result) == ("thumb",)
    assert result.values["thumb"].tolist() == [1.0, float(value)]


@pytest.mark.parametrize(("word", "number"), [("yes", "4"), ("90%", "1"), ("good", 1), ("no", 0.5)])
def test_other_numbers_beside_words_are_no_outcome(word, number):
    with pytest.raises(DataError, match="has words and numbers"):
        choose_outcomes(joined(score("call", "c0", word), score("call", "c1", number)))


def test_codes_for_missing_scores_are_no_scores():
    result = joined(score("call", "c0", -1), score("call", "c1", "yes"), words={"-1": None})
    assert math.isnan(result.values["thumb"][0])
    assert result.values["thumb"][1] == 1.0
    with pytest.raises(DataError, match="no score is -1"):
        joined(score("call", "c0", 1), words={"-1": None})

"""An experiment whose contexts are not in the replay: the message says so and shows what is there instead."""

from __future__ import annotations

import pytest

from tests.support.studies import Good, refused, tables


def replayed_as(change, column="context", rows=None):
    """The message for a study whose replay has changed contexts."""
    good = Good()
    for row in good.replay[:rows]:
        row[column] = change(row[column])
    return refused(**tables(good))


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (str.upper, "only in case"),
        (lambda text: text.replace(" ", "  "), "only in spaces"),
        (lambda text: f"system: Be kind.\n\nuser: {text}", "only in a system message"),
        (lambda text: f"user: {text}", "only in the mark of the role"),
        (lambda text: f"Q. {text}", 'only in the added "Q. "'),
        (lambda text: f"{text} Answer briefly.", 'only in the added " Answer briefly."'),
    ],
)
def test_a_difference_that_all_contexts_have_is_named(change, difference):
    message = replayed_as(change)
    assert "none of the experiment's 6 contexts is in replay (Table)" in message
    assert f'Contexts differ from replayed ones {difference}: "question 0" here, ' in message
    assert "--drop-incomplete" not in message


def test_the_experiment_may_have_the_longer_contexts():
    good = Good()
    for row in good.experiment:
        row["context"] = f"Q. {row['context']}"
    assert 'only in the added "Q. ": "Q. question 0" here, "question 0" there' in refused(**tables(good))


def test_ids_that_lost_their_zeros_are_named():
    good = Good()
    for row in good.all_rows():
        row["context_id"] = f"00{row.pop('context')[-1]}7"
    for row in good.replay:
        row["context_id"] = row["context_id"].lstrip("0")
    for row in good.all_rows():
        row |= {"feature_x": 1.0}
    assert "only in leading zeros" in refused(**tables(good))


def test_without_a_common_difference_the_nearest_context_is_shown():
    message = replayed_as(lambda text: f"{text[::-1]} in other words" if text[-1] != "0" else "question zero")
    assert 'this row has "question 0". The nearest context there is "question zero".' in message
    assert "deconfound replay" in message


@pytest.mark.parametrize(("rows", "count"), [(12, "only 2 of the experiment's 6 contexts are"), (15, "only 1 of")])
def test_contexts_that_are_there_are_counted(rows, count):
    assert count in replayed_as(str.upper, rows=rows)


def test_where_most_contexts_are_replayed_the_others_are_named_as_before():
    message = replayed_as(str.upper, rows=3)
    assert 'context "question 0" has no replay' in message
    assert "--drop-incomplete" in message

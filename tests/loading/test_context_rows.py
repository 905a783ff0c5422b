"""The contexts of any table: the ids and texts that ``load`` gives them, and the exact messages."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from deconfound.data import text_ids
from deconfound.errors import DataError
from deconfound.loading import load_context_rows, load_replay

ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is it?"}]
ANSWER = {"role": "assistant", "content": "In Graz."}


def rows(table, **options):
    return load_context_rows(table, **options).rows


def test_plain_texts_once_each_in_their_order():
    found = rows(pa.table({"context": ["b", "a", "b"], "model": ["x", "y", "z"]}))
    assert [row.text for row in found] == ["b", "a"]
    assert [row.context_id for row in found] == text_ids(pa.chunked_array([["b", "a"]])).to_pylist()
    assert [row.messages for row in found] == [None, None]


def test_names_and_conditions_are_those_of_other_commands():
    table = pa.table({"question": ["a", "b"], "nr": [1, 2], "country": ["DE", "AT"]})
    (found,) = rows(table, columns={"context": "question", "context_id": "nr"}, where="country=AT")
    assert (found.context_id, found.text) == ("2", "b")


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("shape", [lambda messages: messages, lambda messages: {"messages": messages}])
def test_messages_are_returned_exactly(as_json, shape):
    cell = shape(ASKED)
    table = pa.table({"messages": [json.dumps(cell)] if as_json else [cell], "output": ["x"]})
    (found,) = rows(table)
    assert found.messages == cell
    assert found.text == "system: Be kind.\n\nuser: Where is it?"


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("with_output", [False, True])
def test_an_answer_at_the_end_is_no_part_of_the_context(as_json, with_output):
    """Otherwise the models would be asked to go on after the log's answer."""
    cell = [*ASKED, ANSWER]
    columns = {"messages": [json.dumps(cell)] if as_json else [cell]}
    (found,) = rows(pa.table(columns | ({"output": ["In Graz."]} if with_output else {})))
    assert found.messages == ASKED
    assert found.text == "system: Be kind.\n\nuser: Where is it?"


def test_an_answer_that_is_to_be_continued_stays():
    cell = [*ASKED, {"role": "assistant", "content": "In"}]
    (found,) = rows(pa.table({"messages": [cell], "output": ["In Graz."]}))
    assert found.messages == cell


def test_contexts_match_those_of_the_loader():
    """A replay of these contexts must meet the same contexts of the log."""
    table = pa.table({"messages": [[*ASKED, ANSWER], [ASKED[1], ANSWER]], "model": ["a", "a"]})
    loaded = load_replay(table).arrow
    assert [row.context_id for row in rows(table)] == loaded["context_id"].to_pylist()
    assert [row.text for row in rows(table)] == loaded["context"].to_pylist()


def test_a_question_in_messages_is_the_context_of_the_same_text():
    (found,) = rows(pa.table({"messages": [[ASKED[1]]]}))
    assert found.text == "Where is it?"


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"model": ["a"]}, "there is no column for the context"),
        ({"context_id": ["a"]}, "there is no column for the context"),
        ({"context": ["a", None]}, "row 2"),
        ({"context": ["a", " "]}, "row 2"),
        ({"context": ["a", "b"], "context_id": ["1", "1"]}, 'context_id "1" has a different text'),
        ({"prompt": ["a"], "query": ["b"]}, "several columns could be the context"),
    ],
)
def test_faults(table, what):
    with pytest.raises(DataError, match=what):
        rows(pa.table(table))


def test_a_mapping_to_nothing_is_a_fault():
    with pytest.raises(DataError, match="absent"):
        rows(pa.table({"context": ["a"]}), columns={"context": "absent"})

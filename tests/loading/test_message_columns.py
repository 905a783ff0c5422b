"""Contexts and outputs that are messages give the same text, whatever shape they are recorded in."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from deconfound.loading import load, load_contexts
from tests.support.studies import Good, as_csv, as_jsonl, good_with, refused, same, tables, write_study

SYSTEM = {"role": "system", "content": "Be short."}


def user(text):
    return {"role": "user", "content": text}


def with_messages(row, *, shape=list, name="messages"):
    row[name] = shape([SYSTEM, user(row.pop("context"))])


def as_text(row):
    row["context"] = f"system: Be short.\n\nuser: {row['context']}"


SHAPES = {
    "nested": list,
    "JSON": json.dumps,
    "request": lambda messages: json.dumps({"messages": messages}),
    "Python": str,
    "NumPy": lambda messages: "[" + "\n ".join(map(str, messages)) + "]",
    "parts": lambda messages: [m | {"content": [{"type": "text", "text": m["content"]}]} for m in messages],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["messages", "context", "prompt", "Messages"])
def test_the_same_conversation_is_the_same_context(shape, name):
    def change(row):
        with_messages(row, shape=SHAPES[shape], name=name)

    study = load(**tables(good_with(log=change, experiment=as_text, replay=as_text)))
    expected = load(**tables(good_with(log=as_text, experiment=as_text, replay=as_text)))
    assert same(study, expected)


@pytest.mark.parametrize("writer", [as_csv, as_jsonl])
def test_messages_are_read_from_files(tmp_path, writer):
    shape = json.dumps if writer is as_csv else list
    good = good_with(**dict.fromkeys(("log", "experiment", "replay"), lambda row: with_messages(row, shape=shape)))
    expected = good_with(**dict.fromkeys(("log", "experiment", "replay"), as_text))
    study = load(**write_study(tmp_path, good, "csv" if writer is as_csv else "jsonl"))
    assert same(study, load(**tables(expected)))
    assert sum(finding.check == "messages" for finding in study.findings) == 3


def test_the_last_answer_is_the_output_where_there_is_no_other():
    def change(row):
        row["messages"] = [user(row.pop("context")), {"role": "assistant", "content": row.pop("output")}]

    assert same(load(**tables(good_with(log=change))), load(**tables(Good())))


def test_an_answer_that_is_the_output_is_no_part_of_the_context():
    """Otherwise no context of the log would be one of the experiment, and contexts would name their models."""

    def change(row):
        row["messages"] = [user(row.pop("context")), {"role": "assistant", "content": row["output"] + " \n"}]

    assert same(load(**tables(good_with(log=change))), load(**tables(Good())))


def test_another_answer_stays_in_the_context():
    def change(row):
        row["messages"] = [user(row.pop("context")), {"role": "assistant", "content": "Sure:"}]

    study = load(**tables(good_with(log=change)))
    assert study.log.arrow["context"][0].as_py() == "user: question 0\n\nassistant: Sure:"


def test_outputs_may_be_messages_too():
    def change(row):
        row["output"] = json.dumps([{"role": "assistant", "content": row["output"]}])

    assert same(load(**tables(good_with(log=change))), load(**tables(Good())))


def test_keys_that_only_other_rows_have_change_nothing():
    """Arrow gives every row all keys of the column."""
    good = good_with(log=with_messages, experiment=as_text, replay=as_text)
    good.log[0]["messages"] = [SYSTEM | {"tool_calls": None, "name": "x"}, user("question 0") | {"parts": None}]
    expected = load(**tables(good_with(log=as_text, experiment=as_text, replay=as_text)))
    assert same(load(**tables(good)), expected)


def test_objects_that_are_no_messages_are_refused_with_their_row():
    good = good_with(log=lambda row: row.update(context={"question": row["context"], "page": 3}))
    assert "is a list or an object, not text" in refused(**tables(good))


def test_a_number_of_messages_is_no_context():
    good = good_with(**dict.fromkeys(("log", "experiment", "replay"), lambda row: row.update(messages=3)))
    study = load(**tables(good))
    assert "messages" in study.log.unused_columns
    assert same(study, load(**tables(Good())))


def test_json_that_is_no_conversation_stays_as_it_is():
    good = good_with(**dict.fromkeys(("log", "experiment", "replay"), lambda row: row.update(output='{"a": [1, 2]}')))
    assert set(load(**tables(good)).log.arrow["output"].to_pylist()) == {'{"a": [1, 2]}'}


def test_an_empty_conversation_is_a_missing_context():
    good = good_with(log=with_messages)
    good.log[2]["messages"] = []
    assert "row 3: messages has no value" in refused(**tables(good))


def test_a_row_without_an_answer_is_named():
    def change(row):
        row["messages"] = [user(row.pop("context")), {"role": "assistant", "content": row.pop("output")}]

    good = good_with(log=change)
    del good.log[4]["messages"][1]
    assert "row 5: output has no value" in refused(**tables(good))


def test_a_row_that_is_no_message_is_named():
    good = good_with(log=with_messages)
    good.log[3]["messages"] = [{"page": 3}]
    assert "row 4: messages has no value" in refused(**tables(good))


def test_messages_are_recognized_below_many_rows_without_any():
    good = good_with(**dict.fromkeys(("log", "experiment", "replay"), with_messages))
    for _ in range(250):
        good.log.insert(0, good.log[0] | {"messages": None, "outcome": None})
    assert "row 1: messages has no value" in refused(**tables(good))


def test_an_ignored_column_of_messages_is_no_context():
    good = good_with(log=with_messages)
    message = refused(**tables(good), ignore=["messages"])
    assert "context" in message
    assert "messages has no value" not in message


def test_a_finished_conversation_as_target_is_the_context_before_its_answer():
    """A log may name the contexts to generalize to; with its answers in them, none would be one of the study."""
    rows = [{"messages": [SYSTEM, user(f"question {i}"), {"role": "assistant", "content": "Yes."}]} for i in range(5)]
    rows[4]["messages"].pop()
    texts = load_contexts(pa.Table.from_pylist(rows))["context"].to_pylist()
    assert texts == [f"system: Be short.\n\nuser: question {i}" for i in range(5)]


def test_a_start_of_an_answer_in_few_contexts_of_a_target_stays():
    rows = [{"messages": [SYSTEM, user(f"question {i}")]} for i in range(5)]
    rows[0]["messages"].append({"role": "assistant", "content": "Sure:"})
    texts = load_contexts(pa.Table.from_pylist(rows))["context"].to_pylist()
    assert texts[0].endswith("assistant: Sure:")


def test_messages_that_python_printed_are_noted(tmp_path):
    """Texts with quotes, line breaks and backslashes survive."""

    def change(row):
        row["context"] = repr([SYSTEM, user(f'it\'s "{row["context"]}"\n\\d }}\n {{')])

    study = load(**write_study(tmp_path, good_with(log=change, experiment=change, replay=change), "csv"))
    assert 'user: it\'s "question 0"\n\\d }\n {' in study.log.arrow["context"].to_pylist()[0]
    notes = [finding for finding in study.findings if "what Python prints" in finding.message]
    assert len(notes) == 3
    assert "json.dumps" in notes[0].remedy


@pytest.mark.parametrize(
    "text",
    [
        "{'role': __import__('os').system('true')}",
        "{'role': open('x')}",
        "[{'a'" + "[" * 5_000,
        "{'a': " + "-" * 500_000 + "1}",
        "{'role': 'user', 'content': '" + "x" * 2_000_000 + "'}",
        "{'just': 'an object'}",
        "{'a': '\\d'}",
        "{'unclosed",
    ],
)
def test_other_texts_that_look_like_python_stay_texts(text):
    good = Good()
    for row in good.all_rows():
        row["context"] = text if row["context"] == "question 0" else row["context"]
    assert text in load(**tables(good)).log.unique_values("context")


def test_a_cell_that_cannot_be_read_among_others_is_warned_of():
    good = good_with(**dict.fromkeys(("log", "experiment", "replay"), lambda row: with_messages(row, shape=str)))
    good.log[3]["messages"] = good.log[3]["messages"][:-1]
    warnings = [finding for finding in load(**tables(good)).findings if "cannot be read as such" in finding.message]
    assert [finding.verdict for finding in warnings] == ["warn"]
    assert "log (Table) row 4: messages looks like messages" in warnings[0].message


def test_many_brackets_in_a_text_are_no_nesting():
    def change(row):
        row["context"] = repr([SYSTEM, user(row["context"] + " :(" * 300)])

    study = load(**tables(good_with(log=change, experiment=change, replay=change)))
    assert study.log.arrow["context"].to_pylist()[0].startswith("system: Be short.")

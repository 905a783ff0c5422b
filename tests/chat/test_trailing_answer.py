"""An answer at the end of its own messages is no part of what was asked."""

from __future__ import annotations

import json

import pytest

from deconfound.chat.conversation import Message
from deconfound.chat.trailing_answer import without_answer
from deconfound.loading import load
from tests.support.litellm_calls import START, call, converted
from tests.support.studies import good_with, same, tables

ASKED = (Message("system", "Be short."), Message("user", "Where is it?"))


@pytest.mark.parametrize("said", ["It is in Graz.", "It is in **Graz**. \n", "# It is\n\nin _Graz_."])
def test_the_output_is_removed_whatever_its_markup(said):
    assert without_answer((*ASKED, Message("assistant", said)), ["no", "It is in Graz."]) == ASKED


@pytest.mark.parametrize(
    "messages",
    [(Message("assistant", "Yes"),), (*ASKED, Message("assistant", "Well, ")), (*ASKED, Message("user", "Yes"))],
)
def test_other_messages_stay(messages):
    assert without_answer(messages, ["Yes"]) == messages


def test_emphasis_alone_is_no_answer():
    messages = (*ASKED, Message("assistant", "***"))
    assert without_answer(messages, ["___"]) == messages


def messages_of(answer):
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": answer}]


def test_gateways_that_record_the_answer_among_the_messages(tmp_path, capsys):
    records = [
        call("c0", "t0", "s", "oak", "", "a", START, messages=messages_of("a")),
        call("c1", "t1", "s", "oak", "", "a", START + 1, messages=messages_of("**a**")),
        call("c2", "t2", "s", "oak", "", "a", START + 2, messages=messages_of("b")),
    ]
    _, study = converted(tmp_path, records)
    assert [row["context"] for row in study["log"]] == ["q", "q", "user: q\n\nassistant: b"]
    text = " ".join(capsys.readouterr().out.split())
    assert "calls have their answer at the end of their messages, where it was removed: 2" in text
    assert "calls have messages that end with another answer than theirs: 1" in text


def test_observations_of_langfuse_with_the_answer_in_their_input(tmp_path):
    observation = {
        **{"id": "o1", "trace_id": "t1", "type": "GENERATION", "start_time": "2026-10-02 08:11:04.120000"},
        **{"provided_model_name": "oak", "user_id": "u", "session_id": "s", "metadata": {}},
        **{"input": json.dumps(messages_of("a")), "output": json.dumps({"role": "assistant", "content": "a"})},
    }
    _, study = converted(tmp_path, [observation])
    assert [row["context"] for row in study["log"]] == ["q"]


def test_tidy_contexts_lose_an_output_of_other_markup():
    def change(row):
        row["context"] = json.dumps(
            [{"role": "user", "content": row["context"]}, {"role": "assistant", "content": f"**{row['output']}**\n"}]
        )

    assert same(load(**tables(good_with(log=change))), load(**tables(good_with())))


def test_tidy_contexts_that_mostly_end_with_another_answer_are_reported():
    def change(row):
        row["context"] = json.dumps(
            [{"role": "user", "content": row["context"]}, {"role": "assistant", "content": f"<p>{row['output']}</p>"}]
        )

    found = load(**tables(good_with(log=change))).findings
    warned = [one for one in found if one.check == "messages" and one.verdict == "warn"]
    assert len(warned) == 1

"""Battles: two calls and a preference for each, from every release of the arena."""

from __future__ import annotations

import json

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.arena import Arena
from tests.support.litellm_calls import converted
from tests.support.trace_records import from_values, read

QUESTION = "Where is my parcel?"


def spoken(role, text):
    return {"role": role, "content": [{"type": "text", "text": text, "image": None, "mimeType": None}]}


def battle_140k(**changes):
    asked, a, b = spoken("user", QUESTION), spoken("assistant", "In Graz."), spoken("assistant", "No idea.")
    return {
        "id": "b-1",
        "model_a": "cedar",
        "model_b": "oak",
        "winner": "model_a",
        "evaluation_session_id": "s-1",
        "evaluation_order": 1,
        "conversation_a": [asked, a],
        "conversation_b": [asked, b],
        "full_conversation": [{"user": asked, "model_side_a": a, "model_side_b": b}],
        "conv_metadata": {"sum_assistant_a_tokens": 3},
        "category_tag": {"math_v0.1": {"math": False}},
        "language": "en",
        "is_code": False,
        "timestamp": "2025-05-01T00:00:00",
        **changes,
    }


def battle_55k(**changes):
    return {
        "id": 30192,
        "model_a": "cedar",
        "model_b": "oak",
        "prompt": json.dumps([QUESTION]),
        "response_a": json.dumps(["In Graz."]),
        "response_b": json.dumps(["No idea."]),
        "winner_model_a": 1,
        "winner_model_b": 0,
        "winner_tie": 0,
        **changes,
    }


def battle_fastchat(**changes):
    return {
        "question_id": "q-1",
        "model_a": "cedar",
        "model_b": "oak",
        "winner": "model_a",
        "judge": "arena_user_7",
        "conversation_a": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "In Graz."}],
        "conversation_b": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "No idea."}],
        "turn": 1,
        "anony": True,
        "language": "English",
        "tstamp": 1700000000.5,
        **changes,
    }


BATTLES = [battle_140k, battle_55k, battle_fastchat]


@pytest.mark.parametrize("battle", BATTLES)
def test_a_battle_is_two_calls_and_two_preferences(battle):
    calls, scores, remarks = read(Arena(), from_values(battle()))
    assert [(call.model, call.outputs, call.attributes["opponent"], call.attributes["side"]) for call in calls] == [
        ("cedar", ("In Graz.",), "oak", "a"),
        ("oak", ("No idea.",), "cedar", "b"),
    ]
    assert {(call.messages, call.flags) for call in calls} == {((Message("user", QUESTION),), frozenset())}
    assert [(score.target_id, score.name, score.value, score.author) for score in scores] == [
        (calls[0].call_id, "preference", 1.0, "human"),
        (calls[1].call_id, "preference", 0.0, "human"),
    ]
    assert calls[0].call_id != calls[1].call_id
    assert len({call.context_id for call in calls}) == 1
    assert remarks == {}


def test_sessions_users_times_and_attributes():
    new, old, cleaned = (read(Arena(), from_values(battle()))[0][0] for battle in BATTLES)
    assert (new.conversation, new.context_id, new.time, new.user) == ("s-1", "b-1", 1746057600.0, "")
    assert new.attributes == {
        "opponent": "oak",
        "side": "a",
        "evaluation_order": "1",
        "category_tag.math_v0.1.math": "false",
        "language": "en",
        "is_code": "false",
    }
    assert (old.conversation, old.context_id, old.time) == ("30192", "30192", None)
    assert (cleaned.conversation, cleaned.time, cleaned.user) == ("q-1", 1700000000.5, "arena_user_7")
    assert cleaned.attributes["anony"] == "true"
    assert read(Arena(), from_values(battle_fastchat(judge_hash="h")))[0][0].user == "h"


@pytest.mark.parametrize(
    ("winner", "values", "bad"),
    [
        ("model_b", [0.0, 1.0], 0),
        ("tie", [0.5, 0.5], 0),
        ("both_bad", [0.5, 0.5], 1),
        ("tie (bothbad)", [0.5, 0.5], 1),
    ],
)
def test_winners_and_ties(winner, values, bad):
    for battle in (battle_140k, battle_fastchat):
        _, scores, remarks = read(Arena(), from_values(battle(winner=winner)))
        assert [score.value for score in scores] == values
        assert remarks.get("battles have two bad answers; they count as ties", 0) == bad


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ((0, 1, 0), [0.0, 1.0]),
        ((0, 0, 1), [0.5, 0.5]),
        (("1", "0", "0"), [1.0, 0.0]),
        ((True, False, False), [1.0, 0.0]),
        ((1.0, 0.0, 0.0), [1.0, 0.0]),
        ((1, 1, 0), []),
        ((0, 0, 0), []),
        ((None, None, None), []),
    ],
)
def test_the_winner_may_be_in_three_columns(columns, values):
    names = ("winner_model_a", "winner_model_b", "winner_tie")
    _, scores, remarks = read(Arena(), from_values(battle_55k(**dict(zip(names, columns, strict=True)))))
    assert [score.value for score in scores] == values
    assert remarks == ({} if values else {"records are not battles of two models with a winner": 1})


@pytest.mark.parametrize(
    ("judge", "author"),
    [
        ("arena_user_7", "human"),
        ("expert_3", "human"),
        (None, "human"),
        (["gpt-4", "pair-v2"], "judge"),
        ("x", "unknown"),
    ],
)
def test_the_judge_of_a_battle_is_the_author(judge, author):
    assert {score.author for score in read(Arena(), from_values(battle_fastchat(judge=judge)))[1]} == {author}


def test_the_context_of_several_turns_is_what_the_user_said():
    """The models said different things in between, so that only the user's turns are common to both."""
    turns = [("user", "a"), ("assistant", "1"), ("user", "b"), ("assistant", "2")]
    conversation = [{"role": role, "content": text} for role, text in turns]
    calls, _, remarks = read(Arena(), from_values(battle_fastchat(conversation_a=conversation)))
    assert (calls[0].messages, calls[0].outputs) == ((Message("user", "a"), Message("user", "b")), ("1\n\n2",))
    assert remarks == {"battles have several turns; the output is all answers of the model": 1}
    columns = {"prompt": '["a", "b"]', "response_a": '["1", null]', "response_b": '["1", "2"]'}
    calls, _, _ = read(Arena(), from_values(battle_55k(**columns)))
    assert (calls[0].messages, [call.outputs for call in calls]) == (
        (Message("user", "a"), Message("user", "b")),
        [("1",), ("1\n\n2",)],
    )


def test_a_later_battle_of_a_session_has_what_the_user_said_before():
    earlier = {"user": spoken("user", "Hi"), "model_side_a": spoken("assistant", "?"), "model_side_b": None}
    now = {"user": spoken("user", QUESTION)}
    calls, _, _ = read(Arena(), from_values(battle_140k(full_conversation=[earlier, now], evaluation_order=2)))
    assert calls[0].messages == (Message("user", "Hi"), Message("user", QUESTION))
    calls, _, _ = read(Arena(), from_values(battle_140k(full_conversation=[earlier])))
    assert calls[0].messages == (Message("user", QUESTION),)


def test_conversations_may_be_json_and_have_images():
    image = [{"role": "user", "content": [{"type": "image", "image": "x"}, {"type": "text", "text": "?"}]}]
    conversation = json.dumps([*image, {"role": "assistant", "content": "A cat"}])
    calls, _, _ = read(Arena(), from_values(battle_fastchat(conversation_a=conversation)))
    assert (calls[0].messages, calls[0].outputs) == ((Message("user", "[image]\n?"),), ("A cat",))


def test_a_question_of_many_battles_has_calls_of_different_ids():
    calls, _, _ = read(Arena(), from_values(battle_fastchat(), battle_fastchat(model_a="elm")))
    assert len({call.call_id for call in calls}) == 4
    assert {call.context_id for call in calls} == {"q-1"}


def test_battles_without_conversations_and_with_errors_of_the_server():
    (a, b), scores, _ = read(Arena(), from_values(battle_fastchat(conversation_a=None, conversation_b=None)))
    assert (a.flags, b.flags, a.outputs) == ({"no content"}, {"no content"}, ())
    assert len(scores) == 2
    failed = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "$MODERATION$ YOUR INPUT VIOLATES"}]
    (a, b), _, _ = read(Arena(), from_values(battle_fastchat(conversation_a=failed)))
    assert (a.flags, b.flags) == ({"error"}, frozenset())


@pytest.mark.parametrize("changes", [{"model_a": None}, {"model_b": ""}, {"winner": "draw"}, {"winner": None}])
def test_records_without_models_or_winner_are_counted(changes):
    assert read(Arena(), from_values(battle_140k(**changes))) == (
        [],
        [],
        {"records are not battles of two models with a winner": 1},
    )


@pytest.mark.parametrize("battle", [battle_140k(), battle_55k(), battle_fastchat()])
def test_a_battle_that_is_in_two_files_is_read_once(battle):
    calls, scores, remarks = read(Arena(), from_values(battle, battle))
    assert (len(calls), len(scores)) == (2, 2)
    assert remarks["battles are in the files more than once"] == 1


def test_votes_of_two_judges_judge_one_battle():
    battles = [battle_140k(judge="arena_user_1"), battle_140k(judge="arena_user_2", winner="model_b")]
    calls, scores, _ = read(Arena(), from_values(*battles))
    assert [call.call_id for call in calls] == ["b-1/a", "b-1/b"]
    assert [(score.target_id, score.value) for score in scores] == [
        ("b-1/a", 1.0),
        ("b-1/b", 0.0),
        ("b-1/a", 0.0),
        ("b-1/b", 1.0),
    ]


@pytest.mark.parametrize("unit", ["turn", "call", "first"])
def test_both_sides_of_a_battle_are_rows_whatever_the_unit(tmp_path, unit):
    battles = [battle_140k(), battle_140k(id="b-2", evaluation_session_id="s-2"), battle_fastchat()]
    later = battle_140k(id="b-3", timestamp="2025-05-02T00:00:00")  # of the session of the first
    code, tables = converted(tmp_path, [*battles, later], "--unit", unit)
    assert code == 0
    found = [row["call_id"].rpartition("/")[2] for row in tables["log"]]
    assert found == ["a", "b"] * (3 if unit == "first" else 4)
    assert None not in [row["outcome"] for row in tables["log"]]

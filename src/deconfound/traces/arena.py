"""Battles of two models: arena-human-preference, and the files of FastChat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar, Literal

from deconfound.chat.answers import Answer
from deconfound.chat.conversation import Message, messages_from
from deconfound.chat.message_content import canonical_json
from deconfound.traces.call import Author, Call, Score
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    attributes_from,
    json_from,
    list_from,
    objects_from,
    seconds_from,
    text_from,
)
from deconfound.traces.reader import Record, Remarks, collect

Side = Literal["a", "b"]
SIDES: tuple[Side, ...] = ("a", "b")

WINNERS: dict[str, float] = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5, "both_bad": 0.5}
"""The preference for model a."""
BOTH_BAD = ("tie (bothbad)", "both_bad")
WINNER_COLUMNS = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
PEOPLE = ("arena_user", "expert", "author")  # how judges that are people begin
SERVER_ERRORS = (
    "NETWORK ERROR DUE TO HIGH TRAFFIC",
    "**NETWORK ERROR DUE TO HIGH TRAFFIC",
    "$MODERATION$",
    "API REQUEST ERROR",
    "**API REQUEST ERROR",
)
"""Text that FastChat shows in place of an answer."""
ATTRIBUTES = ("anony", "turn", "language", "is_code", "is_refusal", "evaluation_order", "category_tag")


@dataclass(frozen=True, slots=True)
class _Spoken:
    """One side of a battle: what the user said, and what the model answered in all turns."""

    messages: tuple[Message, ...]
    answers: tuple[str, ...]


class Arena:
    """Battles, each of two calls and a preference between them: 1 for the winner, 0 for the other, 0.5 for a tie."""

    name: ClassVar[str] = "arena battles"
    content_switch: ClassVar[str] = (
        "Files of battles that were cleaned for ratings have no conversations; use the release with conversations."
    )

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record names two models and a winner."""
        return {"model_a", "model_b"} <= value.keys() and any(key in value for key in ("winner", *WINNER_COLUMNS))

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Two calls and two scores per battle; a battle that is there twice is read once."""
        seen = _Seen()
        for record in records:
            yield from collect(_battle(record, seen, remarks), remarks, record.origin)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Battles that were read, and their votes: several judges may vote on one battle."""

    battles: set[str] = field(default_factory=set)
    votes: set[bytes] = field(default_factory=set)


def _battle(record: Record, seen: _Seen, remarks: Remarks) -> Iterator[Call | Score]:
    value, origin = record.value, record.origin
    models: dict[Side, str] = {"a": text_from(value.get("model_a")), "b": text_from(value.get("model_b"))}
    winner = _winner(value)
    if not all(models.values()) or winner not in WINNERS:
        remarks.add("records are not battles of two models with a winner", origin)
        return
    battle, vote = _battle_id(record), _vote(value, winner)
    if vote in seen.votes:
        remarks.add("battles are in the files more than once", origin)
        return
    seen.votes.add(vote)
    is_new = battle not in seen.battles
    seen.battles.add(battle)
    if winner in BOTH_BAD:
        remarks.add("battles have two bad answers; they count as ties", origin)
    spoken: dict[Side, _Spoken] = {"a": _spoken(value, "a"), "b": _spoken(value, "b")}
    if any(len(one.answers) > 1 for one in spoken.values()):
        remarks.add("battles have several turns; the output is all answers of the model", origin)
    for side in SIDES:
        call = _call(record, side, models, spoken[side])
        if is_new:
            yield call
        preference = WINNERS[winner] if side == "a" else 1.0 - WINNERS[winner]
        author_id = text_from(value.get("judge"))
        yield Score(origin, "preference", preference, _author(value), "call", call.call_id, author_id, call.time)


def _battle_id(record: Record) -> str:
    """The id of a battle, else its place: a question may have several battles."""
    return text_from(record.value.get("id")) or record.origin


def _vote(value: Mapping[str, Any], winner: str) -> bytes:
    """What makes a vote: of a battle with an id the judge and the winner, otherwise the whole record."""
    battle = text_from(value.get("id"))
    told = [battle, value.get("judge"), value.get("judge_hash"), winner] if battle else value
    return blake2b(canonical_json(told).encode(errors="surrogatepass"), digest_size=16).digest()


def _winner(value: Mapping[str, Any]) -> str:
    """The value of ``winner``, or the one column of 0 and 1 that is 1; otherwise empty."""
    if "winner" in value:
        return text_from(value["winner"]).strip()
    won = [winner for column, winner in WINNER_COLUMNS.items() if _is_true(value.get(column))]
    return won[0] if len(won) == 1 else ""


def _is_true(value: object) -> bool:
    return value is True or text_from(value).lower() in ("1", "1.0", "true")


def _author(value: Mapping[str, Any]) -> Author:
    """A vote is of a person unless the battle names another judge; a model is a list of its name and its prompt."""
    judge = value.get("judge")
    if judge is None or (isinstance(judge, str) and judge.startswith(PEOPLE)):
        return "human"
    return "judge" if isinstance(judge, list) else "unknown"


def _call(record: Record, side: Side, models: Mapping[Side, str], spoken: _Spoken) -> Call:
    value = record.value
    battle = text_from(value.get("id"))
    context_id = battle or text_from(value.get("question_id"))
    failed = any(answer.startswith(SERVER_ERRORS) for answer in spoken.answers)
    attributes = {"opponent": models["b" if side == "a" else "a"], "side": side}
    for name in ATTRIBUTES:
        attributes.update(attributes_from(value.get(name), name))
    time = value.get("tstamp") if value.get("tstamp") is not None else value.get("timestamp")
    return Call(
        origin=record.origin,
        call_id=f"{_battle_id(record)}/{side}",
        model=models[side],
        messages=spoken.messages,
        outputs=("\n\n".join(spoken.answers),) if spoken.answers else (),
        conversation=text_from(value.get("evaluation_session_id")) or context_id,
        user=text_from(value.get("judge_hash")) or text_from(value.get("judge")),
        time=seconds_from(time),
        context_id=context_id,
        flags=flags_from(spoken.messages, tuple(map(Answer, spoken.answers)), {"error": failed}),
        attributes=attributes,
    )


def _spoken(value: Mapping[str, Any], side: Side) -> _Spoken:
    conversation = messages_from(value.get(f"conversation_{side}"))
    if conversation:
        asked = tuple(message for message in conversation if message.role in ("system", "user"))
        answers = tuple(message.text for message in conversation if message.role == "assistant")
        return _Spoken(_with_earlier_turns(asked, value.get("full_conversation")), answers)
    asked = tuple(Message("user", text) for text in _texts(value.get("prompt")) if text.strip())
    return _Spoken(asked, tuple(_texts(value.get(f"response_{side}"))))


def _with_earlier_turns(asked: tuple[Message, ...], full_conversation: object) -> tuple[Message, ...]:
    """What the user said in the whole session, if the record has it: the models of later battles saw it, too."""
    turns = [turn.get("user") for turn in objects_from(full_conversation)]
    session = tuple(message for turn in turns for message in messages_from(turn))
    return session if session[-len(asked) :] == asked else asked


def _texts(value: object) -> list[str]:
    """The turns of a column: a list, JSON of a list, or a single text; a turn that is missing is left out."""
    turns = json_from(value)
    if isinstance(value, str) and not isinstance(turns, list):
        turns = [value]
    return [text_from(one) for one in list_from(turns) if one is not None]

"""What every reader of traces yields: calls of models, and scores that judge them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from deconfound.chat.conversation import Message

Flag = Literal["cached", "error", "fallback", "internal", "no content", "replaced", "tool call", "truncated"]
"""Why a call may not be used.

cached: the answer came from a cache. error: the call failed. fallback: another model answered than the one that was
drawn. internal: a judge, a router or an embedding, not an answer to a user. no content: the record does not have the
messages. replaced: a later record has a newer version of the call. tool call: the answer is nothing but calls of tools.
truncated: the answer ends at the limit of its length.
"""

Author = Literal["human", "judge", "code", "unknown"]
"""Who gave a score: a person, a language model, a program, or nobody says."""

Target = Literal["call", "response", "trace", "conversation"]
"""What a score judges: ``Call.call_id``, ``Call.response_id``, ``Call.trace_id`` or ``Call.conversation``."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model and its answers; what the record does not say is empty.

    ``model`` is the name of the model that answered, ``requested_model`` the one that was asked for, ``group`` the
    name under which a router draws one of several models. ``outputs`` has one text per choice. ``turn_id`` groups the
    calls that led to one answer; where it is empty, those of one trace did. ``context_id`` and ``draw`` are those of a
    replay or an evaluation. ``attributes`` are tags and metadata, by dotted name. ``replaces`` says that the call is a
    newer version of one with the same id, which does not count any more.
    """

    origin: str  # place in the user's files, such as "spans.jsonl line 12"
    call_id: str
    model: str
    messages: tuple[Message, ...]
    outputs: tuple[str, ...]
    requested_model: str = ""
    group: str = ""
    response_id: str = ""
    trace_id: str = ""
    turn_id: str = ""
    conversation: str = ""
    user: str = ""
    time: float | None = None  # seconds since 1970
    context_id: str = ""
    draw: int | None = None
    flags: frozenset[Flag] = frozenset()
    attributes: Mapping[str, str] = field(default_factory=dict)
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """A judgement of a call, of a trace or of a whole conversation, as it was recorded.

    ``trace_id`` is that of the call which is judged, where ids of calls are unique only within a trace. ``declared``
    scores are from a file that the user gave as outcomes, and that does not say who gave them.
    """

    origin: str
    name: str
    value: float | bool | str
    author: Author
    target: Target
    target_id: str
    author_id: str = ""
    time: float | None = None
    trace_id: str = ""
    declared: bool = False
    is_dated: bool = False  # where the source has times: a score without one is then a gap

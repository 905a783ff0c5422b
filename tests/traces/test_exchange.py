"""What the contents of a call say about its use."""

from __future__ import annotations

import pytest

from deconfound.chat.answers import Answer
from deconfound.chat.conversation import Message
from deconfound.traces.exchange import flags_from

ASKED = (Message("user", "Hi"),)
SAID = (Answer("x"),)
TOOL = Answer("f({})", tool_call_only=True)


@pytest.mark.parametrize(
    ("messages", "answers", "stated", "flags"),
    [
        (ASKED, SAID, {}, set()),
        (ASKED, (), {}, {"no content"}),
        ((), SAID, {}, {"no content"}),
        ((Message("user", ""),), SAID, {}, {"no content"}),
        ((Message("system", ""), *ASKED), SAID, {}, set()),
        (ASKED, (), {"error": True}, {"error"}),
        (ASKED, (), {"internal": True}, {"internal"}),
        ((), (), {"error": True}, {"error", "no content"}),
        (ASKED, (), {"error": False, "cached": True}, {"cached", "no content"}),
        (ASKED, SAID, {"no content": True, "truncated": True}, {"no content", "truncated"}),
        (ASKED, (TOOL, *SAID), {}, set()),
        (ASKED, (TOOL,), {}, {"tool call"}),
        (ASKED, (Answer("x"), Answer("y", truncated=True)), {}, {"truncated"}),
    ],
)
def test_flags_are_what_the_record_states_and_what_the_contents_show(messages, answers, stated, flags):
    assert flags_from(messages, answers, stated) == flags

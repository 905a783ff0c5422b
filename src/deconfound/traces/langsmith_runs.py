"""Runs of LangSmith: nested fields are objects, or JSON in texts in its export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deconfound.chat.answers import Answer, answers_from, names_a_limit
from deconfound.chat.conversation import Message, messages_from
from deconfound.traces.call import Call
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    attributes_from,
    first_text,
    list_from,
    mapping_from,
    plain_model,
    seconds_from,
    tags_from,
    text_from,
)

CONVERSATION_KEYS = ("thread_id", "session_id", "conversation_id")
TECHNICAL = ("ls_", "langgraph_", "LANGSMITH_", "LANGCHAIN_", "revision_id", "checkpoint_")
REASON_KEYS = ("finish_reason", "stop_reason")


def is_run(value: Mapping[str, Any]) -> bool:
    """Whether an object is a run."""
    return (
        "run_type" in value
        and bool(text_from(value.get("id")))
        and any(key in value for key in ("dotted_order", "trace_id", "session_id", "inputs"))
    )


def conversation_of(run: Mapping[str, Any]) -> str:
    """The conversation that the metadata of a run names; its ``session_id`` is the project."""
    metadata = _metadata(run)
    return first_text(*(metadata.get(key) for key in CONVERSATION_KEYS))


def user_of(run: Mapping[str, Any]) -> str:
    """The user that the metadata of a run names."""
    return first_text(_metadata(run).get("user_id"))


def has_not_ended(run: Mapping[str, Any]) -> bool:
    """Whether a run was still waiting for its answer when it was exported."""
    return run.get("status") == "pending" and not mapping_from(run.get("outputs"))


def call_from_run(run: Mapping[str, Any], origin: str) -> Call:
    """The call of a run."""
    asked, said = mapping_from(run.get("inputs")), mapping_from(run.get("outputs"))
    messages, answers = _messages(asked), _answers(said)
    requested, provider = _requested(run), text_from(_metadata(run).get("ls_provider"))
    return Call(
        origin=origin,
        call_id=text_from(run.get("id")),
        model=plain_model(_served(said) or requested, provider),
        messages=messages,
        outputs=tuple(answer.text for answer in answers),
        requested_model=plain_model(requested, provider),
        response_id=_response_id(said),
        trace_id=first_text(run.get("trace_id"), run.get("id")),
        conversation=conversation_of(run),
        user=user_of(run),
        time=seconds_from(run.get("start_time")),
        flags=flags_from(messages, answers, {"error": _failed(run), "truncated": names_a_limit(_reasons(said))}),
        attributes=_attributes(run),
    )


def _messages(asked: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of the inputs; models of plain text get a list of prompts."""
    prompts = asked.get("prompts")
    return messages_from(prompts if isinstance(prompts, list) and prompts else asked)


def _answers(said: Mapping[str, Any]) -> tuple[Answer, ...]:
    """The answers of the outputs; a call that failed has ``{"output": null}``."""
    inner = said.get("output")
    if all(one is None for one in said.values()):
        return ()
    return answers_from(inner if isinstance(inner, Mapping) else said)


def _requested(run: Mapping[str, Any]) -> str:
    parameters = mapping_from(mapping_from(run.get("extra")).get("invocation_params"))
    named = _metadata(run).get("ls_model_name")
    return first_text(named, parameters.get("model"), parameters.get("model_name"))


def _served(said: Mapping[str, Any]) -> str:
    """The model that the answer names."""
    told = mapping_from(said.get("llm_output"))
    inside = (mapping_from(one.get("response_metadata")) for one in _generated(said))
    names = (first_text(one.get("model_name"), one.get("model")) for one in inside)
    return first_text(said.get("model"), told.get("model_name"), told.get("model"), *names)


def _response_id(said: Mapping[str, Any]) -> str:
    inside = (mapping_from(one.get("response_metadata")).get("id") for one in _generated(said))
    return first_text(said.get("id"), mapping_from(said.get("llm_output")).get("id"), *inside)


def _reasons(said: Mapping[str, Any]) -> Iterator[object]:
    """Why the answers ended, as LangChain writes it beside and inside its messages."""
    for one in _generated(said):
        for told in (one, mapping_from(one.get("generation_info")), mapping_from(one.get("response_metadata"))):
            yield from (told.get(key) for key in REASON_KEYS)


def _generated(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Generations of LangChain, and the messages inside them."""
    rows = [row if isinstance(row, list) else [row] for row in list_from(said.get("generations"))]
    outer = [one for row in rows for one in row if isinstance(one, Mapping)]
    messages = [mapping_from(one.get("message")) for one in outer]
    return [*outer, *(mapping_from(one.get("kwargs")) or one for one in messages)]


def _failed(run: Mapping[str, Any]) -> bool:
    return bool(run.get("error")) or run.get("status") == "error"


def _metadata(run: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping_from(mapping_from(run.get("extra")).get("metadata"))


def _attributes(run: Mapping[str, Any]) -> dict[str, str]:
    own = {key: value for key, value in _metadata(run).items() if not key.startswith(TECHNICAL)}
    return {**attributes_from(own, "metadata"), **tags_from(run.get("tags"))}

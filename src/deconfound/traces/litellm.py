"""LiteLLM: the payload of its logging callbacks, and rows of its table of spend logs.

One record is one call. A router's group is the name the caller asked for; the model is the deployment that answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import Message, messages_from
from deconfound.traces.call import Call, Flag, Score
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    attributes_from,
    first_text,
    json_from,
    list_from,
    mapping_from,
    number_from,
    plain_model,
    seconds_from,
    tags_from,
    text_from,
)
from deconfound.traces.litellm_repeats import CallsSeen
from deconfound.traces.reader import Record, Remarks, collect

REQUIRED = {"call_type", "model", "startTime"}
OWN_KEYS = {"litellm_call_id", "model_map_information", "model_group", "request_id"}
ANSWER_TYPES = {
    "completion",
    "text_completion",
    "responses",
    "anthropic_messages",
    "generate_content",
    "generate_content_stream",
    "pass_through_endpoint",
    "llm_passthrough_route",
    "",
}
"""Types of calls that answer somebody, without the "a" of the asynchronous ones; embeddings do not."""
HEALTH_CHECK = "litellm-internal-health-check"
REDACTED = "redacted-by-litellm"
CUT = "litellm_truncated"  # in the middle of a text that was too long for the table of spend logs
NOT_STORED: tuple[object, ...] = (None, "", "{}", "[]", {}, [])
SYSTEM_PARAMETERS = ("instructions", "system", "system_instruction")
PLAIN_ATTRIBUTES = ("call_type", "custom_llm_provider", "model_id")
KEY_ATTRIBUTES = ("user_api_key_alias", "user_api_key_team_alias", "user_api_key_user_id")
NESTED_ATTRIBUTES = {
    "requester_metadata": "metadata",
    "spend_logs_metadata": "spend_logs_metadata",
    "routing_decision": "routing_decision",
}


class LiteLlm:
    """Reads ``StandardLoggingPayload``, also inside ``standard_logging_object``, and rows of ``LiteLLM_SpendLogs``."""

    name: ClassVar[str] = "LiteLLM"
    content_switch: ClassVar[str] = (
        "Set store_prompts_in_spend_logs: true in the general_settings of LiteLLM's config.yaml, with a large "
        "MAX_STRING_LENGTH_PROMPT_IN_DB in the environment; for logging callbacks, set "
        "turn_off_message_logging: false in litellm_settings."
    )

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record is a payload or a row of spend logs."""
        keys = _unwrapped(value).keys()
        return keys >= REQUIRED and not keys.isdisjoint(OWN_KEYS)

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """One call per record; rows of feedback are scores. A call that is there twice is read once.

        The payload of a callback and the row of the spend logs are two records of one call.
        """
        seen = CallsSeen()
        for record in records:
            value = _unwrapped(record.value)
            if "call_type" in value:
                yield from collect(_calls(value, record.origin, seen, remarks), remarks, record.origin)
            else:
                yield from _scores(value, record.origin, remarks)


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = value.get("standard_logging_object")
    return mapping_from(inner) if inner is not None else value


def _calls(value: Mapping[str, Any], origin: str, seen: CallsSeen, remarks: Remarks) -> Iterator[Call]:
    payload = _Payload.from_record(value)
    if not payload.model:
        remarks.add("calls have no name of a model", origin)
        return
    call = _call(payload, origin)
    moment = text_from(value.get("startTime")) if call.time is None else call.time
    has_content = "no content" not in call.flags
    if seen.add(payload.response_id, payload.model, moment, _litellm_call_id(payload), has_content=has_content):
        remarks.add("records are repeated", origin)
        return
    _remark_on(call, remarks)
    yield call


def _litellm_call_id(payload: _Payload) -> str:
    return first_text(payload.value.get("litellm_call_id"), payload.metadata.get("litellm_call_id"))


@dataclass(frozen=True, slots=True)
class _Payload:
    """A record, those of its objects that spend logs have as JSON text, and what several fields depend on."""

    value: Mapping[str, Any]
    metadata: Mapping[str, Any]
    parameters: Mapping[str, Any]
    response: Mapping[str, Any]
    headers: Mapping[str, Any]
    model: str
    response_id: str  # of the first answer where this one is from the cache: feedback may refer to it

    @classmethod
    def from_record(cls, value: Mapping[str, Any]) -> _Payload:
        response = mapping_from(value.get("response"))
        model, provider = text_from(value.get("model")), text_from(value.get("custom_llm_provider"))
        return cls(
            value=value,
            metadata=mapping_from(value.get("metadata")),
            parameters=mapping_from(value.get("model_parameters")),
            response=response,
            headers=mapping_from(mapping_from(value.get("hidden_params")).get("additional_headers")),
            model=plain_model(model, provider),
            response_id=first_text(response.get("id"), value.get("id"), value.get("request_id")),
        )

    @property
    def failed(self) -> bool:
        status = first_text(self.value.get("status"), self.metadata.get("status"))
        return status == "failure" or (not status and bool(text_from(self.value.get("error_str"))))

    def attempts(self, what: str) -> int:
        """How many retries or fallbacks there were."""
        number = number_from(self.headers.get(f"x-litellm-attempted-{what}"))
        return int(number or number_from(self.metadata.get(f"attempted_{what}")) or 0)


def _call(payload: _Payload, origin: str) -> Call:
    value, metadata = payload.value, payload.metadata
    messages, answers = _messages(payload), _answers(payload)
    group, original = text_from(value.get("model_group")), text_from(metadata.get("original_model_group"))
    session = first_text(value.get("session_id"), metadata.get("session_id"))
    trace = first_text(value.get("trace_id"), session)
    users = (value.get("end_user"), metadata.get("user_api_key_end_user_id"), payload.parameters.get("user"))
    return Call(
        origin=origin,
        call_id=_litellm_call_id(payload) or first_text(value.get("id"), payload.response_id),
        model=payload.model,
        messages=messages,
        outputs=tuple(answer.text for answer in answers),
        requested_model=original or group or payload.model,
        group=group,
        response_id=payload.response_id,
        trace_id=trace,
        turn_id=_turn_id(trace, messages),
        conversation=session or trace,
        user=first_text(*users),
        time=seconds_from(value.get("startTime")),
        flags=flags_from(messages, answers, _stated_flags(payload, messages, answers)),
        attributes=_attributes(payload),
    )


def _turn_id(trace: str, messages: tuple[Message, ...]) -> str:
    """Calls of one trace that answer the same question: a trace may be a call and its retries, or a whole session."""
    questions = [message.text for message in messages if message.role == "user"]
    if not (trace and questions):
        return ""
    return f"{trace} {len(questions)} {_digest(questions[-1])}"


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _messages(payload: _Payload) -> tuple[Message, ...]:
    given = payload.value.get("messages")
    if given in NOT_STORED:  # newer spend logs have the whole request instead
        stored = (holder.get("proxy_server_request") for holder in (payload.value, payload.metadata))
        request = next(filter(None, map(mapping_from, stored)), {})
        return messages_from(request.get("body") or request)
    system = next((payload.parameters[key] for key in SYSTEM_PARAMETERS if payload.parameters.get(key)), None)
    return messages_from({"instructions": system, "messages": given} if system else given)


def _answers(payload: _Payload) -> tuple[Answer, ...]:
    given = payload.value.get("response")
    return () if payload.failed or given in NOT_STORED else answers_from(given)


def _stated_flags(payload: _Payload, messages: tuple[Message, ...], answers: tuple[Answer, ...]) -> dict[Flag, bool]:
    cache_hit = payload.value.get("cache_hit")
    texts = [*(message.text for message in messages), *(answer.text for answer in answers)]
    return {
        "error": payload.failed,
        "cached": cache_hit is True or text_from(cache_hit).lower() == "true",
        "fallback": payload.attempts("fallbacks") > 0 or _left_its_group(payload),
        "internal": _is_internal(payload),
        "no content": any(text == REDACTED or CUT in text for text in texts),
    }


def _left_its_group(payload: _Payload) -> bool:
    original = text_from(payload.metadata.get("original_model_group"))
    return bool(original) and original != first_text(payload.value.get("model_group"), original)


def _is_internal(payload: _Payload) -> bool:
    kind = text_from(payload.value.get("call_type"))
    answers = kind in ANSWER_TYPES or (kind.startswith("a") and kind[1:] in ANSWER_TYPES)
    probe = HEALTH_CHECK in list_from(payload.value.get("request_tags"))
    return not answers or probe or bool(payload.metadata.get("internal_call_origin"))


def _attributes(payload: _Payload) -> dict[str, str]:
    value, metadata, served = payload.value, payload.metadata, text_from(payload.response.get("model"))
    attributes = {name: text for name in PLAIN_ATTRIBUTES if (text := text_from(value.get(name)))}
    attributes |= {f"metadata.{name}": text for name in KEY_ATTRIBUTES if (text := text_from(metadata.get(name)))}
    for name, prefix in NESTED_ATTRIBUTES.items():
        if metadata.get(name):
            attributes |= attributes_from(json_from(metadata[name]), prefix)
    retries, internal_origin = payload.attempts("retries"), text_from(metadata.get("internal_call_origin"))
    if retries:
        attributes["attempted_retries"] = str(retries)
    if internal_origin:
        attributes["internal_call_origin"] = internal_origin
    if served and served != payload.model:
        attributes["response.model"] = served
    return attributes | tags_from(value.get("request_tags"))


def _remark_on(call: Call, remarks: Remarks) -> None:
    if "attempted_retries" in call.attributes:
        remarks.add("calls were retried, and another model may have been drawn first", call.origin)
    if any(CUT in text for text in (*(message.text for message in call.messages), *call.outputs)):
        remarks.add("calls have texts that LiteLLM cut before it stored them", call.origin)


def _scores(value: Mapping[str, Any], origin: str, remarks: Remarks) -> Iterator[Score]:
    """Feedback as ``PUT /lens/feedback`` takes it; who gave it is not recorded as a person or a program."""
    score = number_from(value.get("score"))
    trace, session = text_from(value.get("trace_id")), text_from(value.get("session_id"))
    if score is None or not (trace or session):
        remarks.add("records are neither calls nor feedback", origin)
        return
    yield Score(
        origin=origin,
        name=first_text(value.get("name"), "feedback"),
        value=score,
        author="unknown",
        target="trace" if trace else "conversation",
        target_id=trace or session,
        author_id=text_from(value.get("user")),
        time=seconds_from(value.get("created_at") or value.get("timestamp")),
    )

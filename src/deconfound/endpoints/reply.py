"""What a model answered, from the body of a response; a body that is no answer raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from deconfound.chat.answers import answers_from, names_a_limit
from deconfound.endpoints.endpoint import Api
from deconfound.endpoints.redaction import Redaction
from deconfound.endpoints.token_costs import estimate_tokens

Status = Literal["ok", "refusal", "empty", "truncated"]
STATUSES: tuple[Status, ...] = get_args(Status)
REFUSAL_REASONS = ("content_filter", "refusal", "safety", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST")
MAX_TOKEN_COUNT = 2**53
MAX_NAME_CHARACTERS = 200


class GarbledReplyError(ValueError):
    """The body of a response is no answer of a model; the text says why."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. Each status is an output of the model: this is what a user would have seen."""

    text: str
    status: Status
    finish_reason: str
    served_model: str
    input_tokens: int
    output_tokens: int
    tokens_estimated: bool
    seconds: float

    def redacted(self, redaction: Redaction) -> Reply:
        """The same without keys, should a server repeat them."""
        if not redaction.forms:
            return self
        clean = redaction.clean
        return replace(
            self,
            text=clean(self.text),
            finish_reason=clean(self.finish_reason),
            served_model=clean(self.served_model),
        )


def parse_reply(body: object, api: Api, sent: bytes, seconds: float) -> Reply:
    """The answer in a decoded body; ``sent`` is the request, for an estimate of its tokens."""
    if not isinstance(body, Mapping):
        raise GarbledReplyError("the answer is not a JSON object")
    if body.get("error") and not body.get("choices"):
        raise GarbledReplyError("the answer is an error with the status of a success")
    first = _first_choice(body, api)
    reason = _text(first.get("finish_reason") if api == "openai" else body.get("stop_reason"))
    found = answers_from(body)
    text = found[0].text if found else ""
    refused = reason in REFUSAL_REASONS or _has_refusal(first)
    status: Status = "ok"
    if refused:
        status = "refusal"
    elif names_a_limit([reason]):
        status = "truncated"
    elif not text.strip():
        status = "empty"
    input_tokens, output_tokens, estimated = _tokens(body, sent, text)
    served = _text(body.get("model"))
    return Reply(_storable(text), status, reason, served, input_tokens, output_tokens, estimated, seconds)


def refused_prompt(detail: str, sent: bytes, seconds: float) -> Reply:
    """The reply to a prompt that a filter before the model refused: no output, and the reason."""
    return Reply("", "refusal", detail, "", estimate_tokens(sent), 0, tokens_estimated=True, seconds=seconds)


def _first_choice(body: Mapping[str, Any], api: Api) -> Mapping[str, Any]:
    """Where the answer is, which every answer has."""
    if api == "anthropic":
        if not isinstance(body.get("content"), list):
            raise GarbledReplyError("the answer has no content")
        return body
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise GarbledReplyError("the answer has no choices")
    if not isinstance(choices[0].get("message"), Mapping):
        raise GarbledReplyError("the answer has no message")
    first: Mapping[str, Any] = choices[0]
    return first


def _has_refusal(choice: Mapping[str, Any]) -> bool:
    message = choice.get("message")
    return isinstance(message, Mapping) and bool(message.get("refusal")) and not message.get("content")


def _tokens(body: Mapping[str, Any], sent: bytes, text: str) -> tuple[int, int, bool]:
    """Tokens in and out, and whether one of the two is an estimate."""
    usage = body.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    given = _count(counts, ("prompt_tokens", "input_tokens"))
    if given is not None:  # of Anthropic, which counts what its cache saves or reads apart
        given += sum(_count(counts, (f"cache_{kind}_input_tokens",)) or 0 for kind in ("creation", "read"))
    made = _count(counts, ("completion_tokens", "output_tokens"))
    return (
        estimate_tokens(sent) if given is None else given,
        estimate_tokens(text) if made is None else made,
        given is None or made is None,
    )


def _count(counts: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    value = next((counts[name] for name in names if counts.get(name) is not None), None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_TOKEN_COUNT:
        return None
    return int(value)


def _text(value: object) -> str:
    return _storable(value[:MAX_NAME_CHARACTERS]) if isinstance(value, str) else ""


def _storable(text: str) -> str:
    """A text that can be written as UTF-8: half a surrogate pair becomes a question mark, as servers themselves do."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

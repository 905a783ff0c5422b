"""What a model answered, from the body of a response; a body that is no answer raises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from deconfound.chat.answers import answers_from, names_a_limit
from deconfound.endpoints.endpoint import Api
from deconfound.endpoints.redaction import Redaction
from deconfound.endpoints.token_costs import estimate_request_tokens, estimate_tokens

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
    """The answer in a body that was decoded from JSON; ``sent`` is the request, for an estimate of its tokens."""
    if not isinstance(body, dict):
        raise GarbledReplyError("the answer is not a JSON object")
    if body.get("error") and not body.get("choices"):
        raise GarbledReplyError("the answer is an error with the status of a success")
    first = _first_choice(body, api)
    reason = _text(first.get("finish_reason") if api == "openai" else body.get("stop_reason"))
    text, refused = _output(body, first)
    status: Status = "ok"
    if refused or reason in REFUSAL_REASONS:
        status = "refusal"
    elif names_a_limit((reason,)):
        status = "truncated"
    elif not text or text.isspace():
        status = "empty"
    input_tokens, output_tokens, estimated = _tokens(body, sent, text)
    served = _text(body.get("model"))
    return Reply(_storable(text), status, reason, served, input_tokens, output_tokens, estimated, seconds)


def _output(body: dict[str, Any], first: dict[str, Any]) -> tuple[str, bool]:
    """The text of an answer, and whether it is a refusal."""
    message = first.get("message")
    if isinstance(message, dict):
        content = message.get("content")
        if isinstance(content, str) and content:  # by far the most frequent shape
            return content, False
        if message.get("refusal") and not content:
            return str(message["refusal"]), True
    found = answers_from(body)
    return (found[0].text if found else ""), False


def refused_prompt(detail: str, sent: bytes, seconds: float) -> Reply:
    """The reply to a prompt that a filter before the model refused: no output, and the reason."""
    return Reply("", "refusal", detail, "", estimate_request_tokens(sent), 0, tokens_estimated=True, seconds=seconds)


def _first_choice(body: dict[str, Any], api: Api) -> dict[str, Any]:
    """Where the answer is, which every answer has."""
    if api == "anthropic":
        if not isinstance(body.get("content"), list):
            raise GarbledReplyError("the answer has no content")
        return body
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise GarbledReplyError("the answer has no choices")
    first: dict[str, Any] = choices[0]
    if not isinstance(first.get("message"), dict):
        raise GarbledReplyError("the answer has no message")
    return first


def _tokens(body: dict[str, Any], sent: bytes, text: str) -> tuple[int, int, bool]:
    """Tokens in and out, and whether one of the two is an estimate."""
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    given = _count(counts, "prompt_tokens", "input_tokens")
    made = _count(counts, "completion_tokens", "output_tokens")
    if (
        given is not None and "input_tokens" in counts
    ):  # of Anthropic, which counts apart what its cache stores and reads
        given += sum(_count(counts, f"cache_{kind}_input_tokens") or 0 for kind in ("creation", "read"))
    return (
        estimate_request_tokens(sent) if given is None else given,
        estimate_tokens(text) if made is None else made,
        given is None or made is None,
    )


def _count(counts: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = counts.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and is_number and 0 <= value < MAX_TOKEN_COUNT:
            return int(value)
    return None


def _text(value: object) -> str:
    return _storable(value[:MAX_NAME_CHARACTERS]) if isinstance(value, str) else ""


def _storable(text: str) -> str:
    """A text that can be written as UTF-8: half a surrogate pair becomes a question mark, as servers themselves do."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

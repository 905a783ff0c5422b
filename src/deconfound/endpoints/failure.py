"""Why a call has no reply, whether to try again, and when: from statuses, headers and errors of the connection."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from deconfound.formatting import ELLIPSIS

Retry = Literal["never", "once", "yes"]
MAX_DETAIL_CHARACTERS = 200  # of a server's own words
RETRIED_STATUSES = (408, 409, 425, 429)
NOT_RETRIED_SERVER_ERRORS = (501, 505, 511)
REFUSING_STATUSES = (401, 402, 403, 404, 405, 407, 410, 421)
"""What answers every call alike: a wrong key, no credit, no permission, no such model or address."""
KEY_STATUSES = (401, 403)
EXHAUSTED = ("insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low")
FILTERED = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")
MEANINGS = {
    400: "the request is not accepted",
    401: "the key is not accepted",
    402: "there is no credit",
    403: "the key has no permission",
    404: "there is no such model or address",
    408: "timeout of the server",
    413: "the request is too large",
    422: "the request is not accepted",
    429: "too many requests",
    500: "error of the server",
    502: "error of a gateway",
    503: "the server is not available",
    504: "timeout of a gateway",
    529: "the server is overloaded",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a reply.

    ``cause`` is the same for failures that are counted together; ``detail`` are the words of the server, cut and
    without keys, but not yet escaped. ``wait`` is what the server asked for, in seconds. ``refuses_all``: other calls
    of the model would fail alike. ``status`` is that of the response, 0 without one.
    """

    cause: str
    detail: str = ""
    retry: Retry = "never"
    wait: float | None = None
    refuses_all: bool = False
    status: int = 0

    def __str__(self) -> str:
        return f"{self.cause}: {self.detail}" if self.detail else self.cause


def from_status(
    status: int, headers: Mapping[str, str], body: str, date: float, clean: Callable[[str], str] = str
) -> Failure:
    """The failure that a response with another status than 200 means; ``date`` is now, for dates in headers."""
    code, detail = error_detail(body, clean)
    meaning = MEANINGS.get(status, "")
    cause = f"HTTP {status}" + (f", {meaning}" if meaning else "")
    if 300 <= status < 400:
        where = _redirect_target(headers.get("location", ""))
        cause = f"HTTP {status}, a redirect{where}, which is not followed"
        return Failure(cause, detail, refuses_all=True, status=status)
    if code in EXHAUSTED:
        return Failure(f"HTTP {status}, the account has no credit left", detail, refuses_all=True, status=status)
    told_not_to = headers.get("x-should-retry", "").lower() == "false"
    retried = status in RETRIED_STATUSES or (status >= 500 and status not in NOT_RETRIED_SERVER_ERRORS)
    if retried and not told_not_to:
        return Failure(cause, detail, "yes", retry_after(headers, date), status=status)
    return Failure(cause, detail, refuses_all=status in REFUSING_STATUSES, status=status)


def with_key_name(failure: Failure, key_env: str | None) -> Failure:
    """The same failure; one about the key says where that comes from, and never what it is."""
    if failure.status not in KEY_STATUSES:
        return failure
    source = "no key was sent: key_env is not set" if key_env is None else f"key: environment variable {key_env}"
    return replace(failure, cause=f"{failure.cause} ({source})")


def _redirect_target(location: str) -> str:
    """The host of a redirect, without its path and query, which may have a key; nothing for one on the same host."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    return f" to {cut(f'{parts.scheme}://{parts.hostname}')}" if parts.hostname else ""


def is_filtered(status: int, body: str) -> bool:
    """Whether a filter before the model refused the prompt, which some services report as a wrong request."""
    if status not in (400, 403, 422):
        return False
    error = _error(body)
    inner = error.get("innererror") if isinstance(error, Mapping) else None
    codes = [each.get(key) for each in (error, inner) if isinstance(each, Mapping) for key in ("code", "type")]
    return any(code in FILTERED for code in codes if isinstance(code, str))


def retry_after(headers: Mapping[str, str], date: float) -> float | None:
    """How long the server asks to wait: in seconds, in milliseconds, or until a date; None where it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        until = parsedate_to_datetime(text)
        return max(0.0, (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - date)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _number(text: str | None) -> float | None:
    """A finite number of at least 0."""
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _error(body: str) -> Any:  # noqa: ANN401  (what a server may write)
    """The innermost ``error`` of a JSON object; None if the body is none."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = value if isinstance(value, Mapping) else None
    while isinstance(error, Mapping) and error.get("error"):
        error = error["error"]
    return error


def error_detail(body: str, clean: Callable[[str], str] = str) -> tuple[str, str]:
    """The code and the words of an error, in the shapes of the interfaces; else the beginning of the body.

    ``clean`` removes keys. It is applied here, because JSON may have escaped their characters before.
    """
    code, words = "", body
    error = _error(body)
    if isinstance(error, Mapping):
        code = str(error.get("code") or error.get("type") or "")
        words = str(error.get("message") or error.get("detail") or code)
    elif isinstance(error, str):
        words = error
    return code, cut(clean(words))


def cut(words: str) -> str:
    """The beginning of a server's words, on one line."""
    line = " ".join(words[: 4 * MAX_DETAIL_CHARACTERS].split())
    return line if len(line) <= MAX_DETAIL_CHARACTERS else line[:MAX_DETAIL_CHARACTERS] + ELLIPSIS

"""Lines of the result files of batches, of OpenAI, Anthropic and servers that follow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIRST_ERROR_STATUS = 400
EXPIRED, CANCELED, FAILED = "requests expired before they were answered", "requests were canceled", "requests failed"
ENDINGS = {
    "expired": EXPIRED,
    "batch_expired": EXPIRED,
    "canceled": CANCELED,
    "batch_cancelled": CANCELED,
    "batch_canceled": CANCELED,
}


def response_body(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """The completion: of Anthropic under ``message``, of OpenAI under ``body``, of some servers without either."""
    outer = _mapping(line.get("result")) or _mapping(line.get("response"))
    return next((outer[key] for key in ("message", "body") if isinstance(outer.get(key), Mapping)), outer)


def batch_failure(line: Mapping[str, Any]) -> str:
    """Why a line has no answer, which completes "12 "; empty where it has one."""
    result, response = _mapping(line.get("result")), _mapping(line.get("response"))
    if result:
        kind = result.get("type")
        return "" if kind in ("succeeded", "", None) else _ending(kind)
    if line.get("error") or response.get("error") or _is_error(response.get("status_code")):
        return _ending(_mapping(line.get("error")).get("code"))
    return "" if response else FAILED


def _ending(code: object) -> str:
    return ENDINGS.get(code.strip(), FAILED) if isinstance(code, str) else FAILED


def _is_error(status: object) -> bool:
    try:
        return float(status) >= FIRST_ERROR_STATUS if isinstance(status, int | float | str) else False
    except (ValueError, OverflowError):
        return False


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

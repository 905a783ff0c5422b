"""Requests as files for the batch interfaces of OpenAI and Anthropic, instead of calls."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.endpoint import Api
from deconfound.endpoints.request import Request

MAX_REQUESTS: dict[Api, int] = {"openai": 50_000, "anthropic": 100_000}
MAX_FILE_BYTES: dict[Api, int] = {"openai": 190_000_000, "anthropic": 240_000_000}
"""Below the limits of 200 and 256 MB, which count what the services add, too."""
ID_PREFIX = "dc-"  # ids have letters, digits and hyphens only, and at most 64 characters, as Anthropic requires


@dataclass(frozen=True, slots=True)
class BatchFile:
    """One file of requests: all of one model, as OpenAI requires it."""

    name: str
    model: str
    api: Api
    requests: int
    content: bytes


def custom_id(key: bytes) -> str:
    """The name of a request in a batch, by which its answer is found again."""
    return f"{ID_PREFIX}{key.hex()}"


def batch_files(chat: ChatModel, requests: Iterable[Request]) -> list[BatchFile]:
    """The files for the requests of one model, each within the limits of its service."""
    api = chat.endpoint.api
    files: list[BatchFile] = []
    lines: list[bytes] = []
    size = 0
    for request in requests:
        line = batch_line(request)
        if lines and (len(lines) >= MAX_REQUESTS[api] or size + len(line) > MAX_FILE_BYTES[api]):
            files.append(_file(chat, lines, len(files)))
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    return [*files, _file(chat, lines, len(files))] if lines else files


def batch_line(request: Request) -> bytes:
    """One line of a file; the body is the very bytes that a call would send."""
    name = custom_id(request.key).encode()
    if request.chat.endpoint.api == "anthropic":
        return b'{"custom_id":"%s","params":%s}\n' % (name, request.body)
    url = urlsplit(request.chat.endpoint.call_url).path.encode()
    return b'{"custom_id":"%s","method":"POST","url":"%s","body":%s}\n' % (name, url, request.body)


def _file(chat: ChatModel, lines: list[bytes], number: int) -> BatchFile:
    api, safe = chat.endpoint.api, re.sub(r"[^A-Za-z0-9.-]+", "_", chat.name).strip("._") or "model"
    return BatchFile(f"{api}-{safe[:60]}-{number + 1:03}.jsonl", chat.name, api, len(lines), b"".join(lines))

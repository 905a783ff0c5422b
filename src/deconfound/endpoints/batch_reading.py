"""Result files of batches -> replies by the keys of their requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from deconfound.chat.batch_lines import batch_failure, response_body
from deconfound.endpoints.batch_writing import ID_PREFIX
from deconfound.endpoints.endpoint import Api
from deconfound.endpoints.failure import error_detail
from deconfound.endpoints.redaction import Redaction
from deconfound.endpoints.reply import GarbledReplyError, Reply, parse_reply
from deconfound.endpoints.request import KEY_BYTES
from deconfound.errors import DataError, Problem
from deconfound.escaping import readable_path

MAX_LINE_BYTES = 64_000_000
NOT_RESULTS = "Name the output file of the batch: one JSON object per line, each with a custom_id."


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What a line says about one request: a reply, or why there is none."""

    key: bytes
    reply: Reply | None
    failure: str = ""
    detail: str = ""


@final
@dataclass(slots=True)
class BatchReader:
    """Reads result files; lines of other batches are counted and left out."""

    redaction: Redaction
    foreign: int = 0

    def read(self, path: Path) -> Iterator[BatchAnswer]:
        """The answers in one file; a line that cannot be read raises with its place."""
        source = readable_path(path.name)
        try:
            with path.open("rb") as stream:
                number = 0
                while line := stream.readline(MAX_LINE_BYTES + 1):
                    number += 1
                    if line.strip():
                        answer = self._answer(_object(line, f"{source} line {number}"))
                        self.foreign += answer is None
                        if answer is not None:
                            yield answer
        except OSError as error:
            what = f"the file cannot be opened: {error.strerror}"
            raise DataError([Problem(source, what, "Check the name and the folder.")]) from None

    def _answer(self, line: Mapping[str, Any]) -> BatchAnswer | None:
        key = _key(line.get("custom_id"))
        if key is None:
            return None
        failure = batch_failure(line)
        if failure:
            return BatchAnswer(key, None, failure, self._detail(line))
        try:
            body = response_body(line)
            api: Api = "anthropic" if "result" in line else "openai"
            reply = parse_reply(dict(body), api, b"", 0.0).redacted(self.redaction)
        except (GarbledReplyError, RecursionError) as error:
            return BatchAnswer(key, None, "answers cannot be read", str(error))
        return BatchAnswer(key, reply)

    def _detail(self, line: Mapping[str, Any]) -> str:
        found = (response_body(line), line.get("error"), line.get("result"))
        error = next((one for one in found if isinstance(one, Mapping) and one), {})
        return error_detail(json.dumps(error, default=str), self.redaction.clean)[1]


def _object(line: bytes, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if len(line) > MAX_LINE_BYTES or not isinstance(value, Mapping):
        raise DataError([Problem(place, "this is not a line of a batch's results", NOT_RESULTS)])
    return value


def _key(custom_id: object) -> bytes | None:
    """The key in the name of a request; None for names that others gave."""
    if not isinstance(custom_id, str) or not custom_id.startswith(ID_PREFIX):
        return None
    try:
        key = bytes.fromhex(custom_id.removeprefix(ID_PREFIX))
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None

"""Answers of batches -> the cache, as if the calls had been made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deconfound.endpoints.batch_reading import BatchReader
from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.redaction import Redaction
from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache

BATCH_ROWS = 1_000  # stored in one step


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What was read from the result files of batches."""

    replies: int
    failures: Mapping[str, int]
    details: Mapping[str, str]
    others: int


def store_answers(
    keys: Collection[bytes], chats: Iterable[ChatModel], paths: Sequence[Path], cache: ReplyCache
) -> BatchReport:
    """Put the answers to some requests into the cache; those to other requests are counted and left out."""
    reader = BatchReader(Redaction.of_keys(chat.endpoint.key() for chat in chats))
    failures: dict[str, int] = {}
    details: dict[str, str] = {}
    waiting: dict[bytes, Reply] = {}
    stored = others = 0
    for path in paths:
        for answer in reader.read(path):
            if answer.key not in keys:
                others += 1
            elif answer.reply is None:
                failures[answer.failure] = failures.get(answer.failure, 0) + 1
                details.setdefault(answer.failure, answer.detail)
            else:
                waiting[answer.key] = answer.reply
                stored += 1
            if len(waiting) >= BATCH_ROWS:
                cache.put(list(waiting.items()))
                waiting = {}
    cache.put(list(waiting.items()))
    return BatchReport(stored, failures, details, others + reader.foreign)

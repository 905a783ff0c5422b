"""The interface of a trace format: recognize one of its records, and read many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from deconfound.traces.call import Call, Score

TOO_DEEP = "records are nested too deeply to be read"


@dataclass(frozen=True, slots=True)
class Record:
    """One object of a file: a line of JSONL, an element of a JSON list, a row of a table, or a whole document."""

    value: dict[str, Any]
    origin: str  # for messages, such as "spans.jsonl line 12"
    path: Path


@dataclass(slots=True)
class Remarks:
    """What a reader skipped or had to decide: how often, and where first."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, origin: str) -> None:
        """Count one more case; ``what`` completes "12 " as in "12 spans are not calls of a model"."""
        self.counts[what] = self.counts.get(what, 0) + 1
        self.first.setdefault(what, origin)

    def replaced(self, what: str, origins: Sequence[str]) -> Remarks:
        """The same remarks, but one of them only for these places."""
        counts = {each: count for each, count in self.counts.items() if each != what}
        counts |= {what: len(origins)} if origins else {}
        return Remarks(counts, {**self.first, what: origins[0] if origins else ""})


@contextmanager
def skip_if_too_deep(remarks: Remarks, origin: str) -> Iterator[None]:
    """Leave a record out, with a remark, where it is nested too deeply for the functions inside."""
    try:
        yield
    except RecursionError:
        remarks.add(TOO_DEEP, origin)


def collect(found: Iterable[Call | Score], remarks: Remarks, origin: str) -> list[Call | Score]:
    """All that is found in one record; nothing, and a remark, where the record is nested too deeply."""
    try:
        return list(found)
    except RecursionError:
        remarks.add(TOO_DEEP, origin)
        return []


class Reader(Protocol):
    """A trace format."""

    name: ClassVar[str]
    """As its users call it, such as "LiteLLM"."""

    content_switch: ClassVar[str]
    """How to record messages where a file has none: a complete sentence. Empty if files always have them."""

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record has the keys of this format."""
        ...

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls and scores of all records, in one pass where the format allows it.

        A record that is damaged or of another kind is skipped and added to the remarks; nothing but the package's own
        errors is ever raised.
        """
        ...

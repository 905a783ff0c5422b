"""How much of the files has been read: asked for at every record, reported a few times per second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from deconfound.traces.reader import Record
from deconfound.traces.trace_files import TraceFile

REPORT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class ReadingState:
    """The file that is read now, the share of all bytes that were read, and what was found so far."""

    file: str
    share: float
    total_bytes: int
    records: int
    calls: int


Report = Callable[[ReadingState], None]


def no_report(state: ReadingState) -> None:
    """Ignore the state."""


@dataclass(slots=True)
class ReadMeter:
    """Counts while files are read one after the other. Compressed files count with their compressed bytes."""

    report: Report = no_report
    calls: int = 0
    _records: int = 0
    _total_bytes: int = 0
    _bytes_before: int = 0  # of the files that are finished
    _file_bytes: int = 0
    _source: str = ""
    _position: Callable[[], int] = int
    _next: float = 0.0

    def expect(self, files: Iterable[TraceFile]) -> None:
        """Declare what will be read."""
        self._total_bytes = sum(_size(file) for file in files)

    def follow(self, position: Callable[[], int]) -> None:
        """Say how to ask for the position in the current file."""
        self._position = position

    def records(self, file: TraceFile, records: Iterable[Record]) -> Iterator[Record]:
        """The records of a file, counted as they are read."""
        self._source, self._position, self._file_bytes = file.source, int, _size(file)
        self.tick()
        for record in records:
            yield record
            self._records += 1
            self.tick()
        self._bytes_before += self._file_bytes
        self._file_bytes = 0

    def tick(self) -> None:
        """Report, unless the last report was just now."""
        now = monotonic()
        if now < self._next:
            return
        self._next = now + REPORT_SECONDS
        read = 0
        with suppress(ValueError):  # the file is closed already
            read = min(self._position(), self._file_bytes)
        share = (self._bytes_before + read) / max(1, self._total_bytes)
        self.report(ReadingState(self._source, min(1.0, share), self._total_bytes, self._records, self.calls))


def _size(file: TraceFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:  # reading it will say what is wrong
        return 0

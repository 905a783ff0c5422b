"""Where a row of a text file ends: at a line break, in a CSV one outside quoted cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from deconfound.loading.csv import any_field_size, quotes_balanced
from deconfound.loading.files import byte_positions

MIN_BREAKS = 100  # line breaks that are hardly all inside one quoted cell: the quote may stand in an unquoted one


def end_of_lines(data: bytes) -> int:
    """The number of bytes that are whole lines."""
    return data.rfind(b"\n") + 1


def end_of_rows(data: bytes, delimiter: str, line_break: bytes) -> int:
    """The number of bytes that are whole rows of a CSV; the data begin with a row."""
    if b'"' not in data:
        return data.rfind(line_break) + 1
    quotes, breaks = byte_positions(data, b'"'), byte_positions(data, line_break)
    outside = breaks[np.searchsorted(quotes, breaks) % 2 == 0]
    end = int(outside[-1]) + 1 if len(outside) else 0
    is_balanced = quotes_balanced(data[:end], delimiter) if end else len(breaks) < MIN_BREAKS
    return end if is_balanced else _end_by_reader(data, delimiter, line_break)


def _end_by_reader(data: bytes, delimiter: str, line_break: bytes) -> int:
    """The same where a quote stands inside an unquoted cell: row by row, without the last one, which may go on."""
    ends = byte_positions(data, line_break) + 1
    reader = csv.reader(_lines(data, ends), delimiter=delimiter)
    with any_field_size():
        lines = [reader.line_num for _ in reader]
    complete = lines[-2] if len(lines) > 1 else 0
    return int(ends[complete - 1]) if complete else 0


def _lines(data: bytes, ends: np.ndarray) -> Iterator[str]:
    start = 0
    for end in [*ends.tolist(), len(data)]:
        if end > start:
            yield data[start:end].decode(errors="replace")
        start = end

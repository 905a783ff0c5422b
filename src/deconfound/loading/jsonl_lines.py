"""The lines of a JSON Lines file, and whether each of them can be one object by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from deconfound.loading.files import byte_positions

MAX_NESTING = 500  # Arrow's parser overflows the stack, and ends the process, near 20,000 levels
JSON_SPACE = b" \t\r"
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?')


class Lines:
    """Starts and ends of the lines of a file, or of those after the first ones; blank lines are skipped.

    ``whole`` says that every line starts with ``{`` and ends with ``}``. An object that continues on the next line is
    then no JSON, since ``}`` and ``{`` follow each other only between objects: Arrow, which does not end an object at
    the end of a line, sees no object and no nesting that a single line does not have.
    """

    def __init__(self, data: bytes, first: int = 0) -> None:
        self.data = data
        self._first = first
        ends = byte_positions(data, b"\n")
        self.ends: NDArray[np.int64] = ends if data.endswith(b"\n") else np.append(ends, len(data))
        self.starts: NDArray[np.int64] = np.concatenate([[0], self.ends[:-1] + 1])
        unusual = [(row, data[self.starts[row] : self.ends[row]]) for row in self._unusual_rows()]
        blank = [row for row, line in unusual if not line.strip()]
        self.whole = all(_is_whole(line) for _, line in unusual if line.strip())
        numbers = np.delete(np.arange(first + 1, first + len(self.ends) + 1), blank)
        self.numbers: NDArray[np.int64] | None = numbers if blank or first else None
        self.count = len(numbers)

    def _unusual_rows(self) -> NDArray[np.int64]:
        """The lines that do not simply start with ``{`` and end with ``}``, in front of an optional carriage return."""
        letters = np.frombuffer(self.data, np.uint8)
        last = np.maximum(self.ends - 1, self.starts)
        last = np.minimum(last - (letters[np.minimum(last, len(letters) - 1)] == ord("\r")), len(letters) - 1)
        first = np.minimum(self.starts, len(letters) - 1)
        usual = (letters[first] == ord("{")) & (letters[last] == ord("}")) & (last > self.starts)
        return np.flatnonzero(~usual)

    @property
    def longest(self) -> int:
        """Bytes of the longest line."""
        return int((self.ends - self.starts).max())

    def line(self, index: int) -> bytes:
        """The line with this place among those that are not blank."""
        row = index if self.numbers is None else int(self.numbers[index]) - 1 - self._first
        return self.data[self.starts[row] : self.ends[row]]

    def non_blank(self) -> Iterable[bytes]:
        """Every line that is not blank."""
        return map(self.line, range(self.count))

    def too_deep(self) -> bool:
        """Whether some line nests deeper than ``MAX_NESTING``; brackets inside strings do not count."""
        if self.data.count(b"[") + self.data.count(b"{") <= self.count + MAX_NESTING:
            return False
        suspects = (line for line in self.non_blank() if line.count(b"[") + line.count(b"{") > MAX_NESTING)
        return any(_depth(line) > MAX_NESTING for line in suspects)


def _is_whole(line: bytes) -> bool:
    stripped = line.strip(JSON_SPACE)
    return stripped.startswith(b"{") and stripped.endswith(b"}")


def _depth(line: bytes) -> int:
    marks = np.frombuffer(STRING.sub(b"", line), np.uint8)
    steps = np.isin(marks, list(b"[{")).astype(int) - np.isin(marks, list(b"]}")).astype(int)
    return int(np.cumsum(steps).max(initial=0))

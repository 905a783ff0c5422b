"""The distinct outputs of all tables: an output to a context is judged once, however many rows have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Self

import numpy as np

from deconfound.design import IntArray
from deconfound.loading import OutputTable


class OutputPair(NamedTuple):
    """A context and an output."""

    context: str
    output: str


@dataclass(frozen=True, slots=True, eq=False)
class OutputPairs:
    """The distinct pairs in their order, the pair of every row of every table, and which models wrote a pair."""

    pairs: tuple[OutputPair, ...]
    rows: tuple[IntArray, ...]
    writers: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, tables: Sequence[OutputTable]) -> Self:
        """Number the pairs by their first row."""
        index: dict[OutputPair, int] = {}
        writers: list[set[str]] = []
        rows = []
        for table in tables:
            at = np.empty(len(table), dtype=np.int64)
            for row, pair in enumerate(map(OutputPair, table.contexts, table.outputs)):
                at[row] = number = index.setdefault(pair, len(index))
                if number == len(writers):
                    writers.append(set())
                writers[number].add(table.models[row])
            rows.append(at)
        return cls(tuple(index), tuple(rows), tuple(map(frozenset, writers)))

    def sample(self, size: int) -> list[int]:
        """Pairs for the probes: chosen by their content, so that neither the order nor the number of rows matters."""
        return sorted(range(len(self.pairs)), key=lambda at: _digest(self.pairs[at]))[:size]

    def contexts(self) -> IntArray:
        """The number of the context of every pair."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(pair.context, len(numbers)) for pair in self.pairs], dtype=np.int64)


def _digest(pair: OutputPair) -> bytes:
    digest = blake2b(digest_size=16)
    for text in pair:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d\n" % len(content))
        digest.update(content)
    return digest.digest()

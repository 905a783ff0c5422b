"""Sums over the rows of a log: all that fits need of it. Those of two parts of a log add up to those of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.linalg.sparse_gram import add_gram


@dataclass(frozen=True, slots=True)
class SumsLayout:
    """Numbers of columns: hashed text, dense features, targets (the outcome, then labels) and effect modifiers."""

    text: int
    dense: int
    targets: int
    modifiers: int

    @property
    def shared(self) -> int:
        """Dense features, one, and targets: what is not text and the same for all models."""
        return self.dense + 1 + self.targets


@dataclass(frozen=True, slots=True, eq=False)
class LogBatch:
    """Some rows of a log as numbers. Targets that are missing are zero; ``model`` counts into ``names``."""

    text: sparse.csr_matrix | None  # (n, text), columns ascending in each row
    dense: FloatArray  # (n, dense)
    targets: FloatArray  # (n, targets)
    modifiers: FloatArray  # (n, modifiers)
    model: IntArray  # (n,)
    names: tuple[str, ...]

    def take(self, rows: IntArray) -> LogBatch:
        """Some of the rows."""
        text = None if self.text is None else self.text[rows]
        return LogBatch(text, self.dense[rows], self.targets[rows], self.modifiers[rows], self.model[rows], self.names)


@dataclass(slots=True, eq=False)
class ModelSums:
    """Sums over the rows of one model: outer products of the columns with [1, modifiers]."""

    text: FloatArray  # (text, 1 + modifiers)
    shared: FloatArray  # (shared, 1 + modifiers)
    modifiers: FloatArray  # (1 + modifiers, 1 + modifiers)

    @classmethod
    def zero(cls, layout: SumsLayout) -> ModelSums:
        """No rows."""
        own = 1 + layout.modifiers
        return cls(np.zeros((layout.text, own)), np.zeros((layout.shared, own)), np.zeros((own, own)))

    def add(self, other: ModelSums) -> None:
        """Add the rows of another part."""
        self.text += other.text
        self.shared += other.shared
        self.modifiers += other.modifiers


@dataclass(slots=True, eq=False)
class LogSums:
    """Sums of outer products over rows, of a size that does not depend on their number.

    The columns are those of ``SumsLayout``; ``shared`` stands for [dense, 1, targets].
    """

    layout: SumsLayout
    text: FloatArray  # (text, text), the upper triangle
    text_by_shared: FloatArray  # (text, shared)
    shared: FloatArray  # (shared, shared)
    models: dict[str, ModelSums] = field(default_factory=dict)

    @classmethod
    def zero(cls, layout: SumsLayout) -> LogSums:
        """No rows."""
        text, shared = layout.text, layout.shared
        return cls(layout, np.zeros((text, text)), np.zeros((text, shared)), np.zeros((shared, shared)))

    @property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.shared[self.layout.dense, self.layout.dense])

    def add_rows(self, batch: LogBatch) -> None:
        """Add the rows of a batch."""
        ones = np.ones((len(batch.model), 1))
        shared, own = np.hstack([batch.dense, ones, batch.targets]), np.hstack([ones, batch.modifiers])
        self.shared += shared.T @ shared
        if batch.text is not None:
            add_gram(batch.text, self.text)
            self.text_by_shared += batch.text.T @ shared
        for code in np.unique(batch.model).tolist():
            at = np.flatnonzero(batch.model == code)
            sums = self.models.setdefault(batch.names[code], ModelSums.zero(self.layout))
            sums.shared += shared[at].T @ own[at]
            sums.modifiers += own[at].T @ own[at]
            if batch.text is not None:
                sums.text += batch.text[at].T @ own[at]

    def add(self, other: LogSums) -> None:
        """Add the rows of another part of the log."""
        if self.layout != other.layout:
            raise UsageError("Sums of logs with different features cannot be added.")
        self.text += other.text
        self.text_by_shared += other.text_by_shared
        self.shared += other.shared
        for name, sums in other.models.items():
            self.models.setdefault(name, ModelSums.zero(self.layout)).add(sums)

    def gram(self) -> FloatArray:
        """All sums of outer products of [text, dense, 1, targets], both triangles."""
        upper = np.triu(self.text)
        text = upper + np.triu(self.text, 1).T
        return np.block([[text, self.text_by_shared], [self.text_by_shared.T, self.shared]])


def total(parts: Mapping[object, LogSums] | tuple[LogSums, ...]) -> LogSums:
    """The sums over several parts together, in their order."""
    first, *rest = parts.values() if isinstance(parts, Mapping) else parts
    everything = LogSums.zero(first.layout)
    for part in (first, *rest):
        everything.add(part)
    return everything

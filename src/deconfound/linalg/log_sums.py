"""Sums over the rows of a log: all that fits need of it. Those of two parts of a log add up to those of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError


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
    """Some rows of a log as numbers, those of one model next to each other.

    Targets that are missing are zero; ``model`` counts into ``names``.
    """

    text: sparse.csr_matrix | None  # (n, text), columns ascending in each row
    dense: FloatArray  # (n, dense)
    targets: FloatArray  # (n, targets)
    modifiers: FloatArray  # (n, modifiers)
    model: IntArray  # (n,)
    names: tuple[str, ...]


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

    def of_model(self, name: str) -> ModelSums:
        """The sums of one model, to be added to."""
        return self.models.setdefault(name, ModelSums.zero(self.layout))

    def add(self, other: LogSums) -> None:
        """Add the rows of another part of the log."""
        if self.layout != other.layout:
            raise UsageError("Sums of logs with different features cannot be added.")
        self.text += other.text
        self.text_by_shared += other.text_by_shared
        self.shared += other.shared
        for name, sums in other.models.items():
            self.of_model(name).add(sums)

    def gram(self) -> FloatArray:
        """All sums of outer products of [text, dense, 1, targets], both triangles."""
        upper = np.triu(self.text)
        text = upper + np.triu(self.text, 1).T
        return np.block([[text, self.text_by_shared], [self.text_by_shared.T, self.shared]])


def total(parts: Iterable[LogSums]) -> LogSums:
    """The sums over several parts together, in their order; at least one."""
    first, *rest = parts
    everything = LogSums.zero(first.layout)
    for part in (first, *rest):
        everything.add(part)
    return everything

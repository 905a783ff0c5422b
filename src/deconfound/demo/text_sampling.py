"""Fast random choices for programs that write text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")

BLOCK = 4096  # draws per call of numpy: a scalar draw costs many list pops, and one text needs dozens


class TextSampler:
    """Uniform draws from a numpy generator, made in blocks and returned one by one."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._pool: list[float] = []

    def roll(self) -> float:
        """A uniform number in [0, 1)."""
        if not self._pool:
            self._pool = self._rng.random(BLOCK).tolist()
        return self._pool.pop()

    def bernoulli(self, probability: float) -> bool:
        """True with this probability."""
        return self.roll() < probability

    def between(self, low: int, high: int) -> int:
        """A uniform integer from ``low`` to ``high``, both included."""
        return low + int(self.roll() * (high - low + 1))

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, each equally likely."""
        return items[int(self.roll() * len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """``count`` different items in random order."""
        rest = list(items)
        return [rest.pop(int(self.roll() * len(rest))) for _ in range(count)]

    def keep(self, items: Sequence[Item], probability: float) -> list[Item]:
        """Each item with this probability, in the given order."""
        return [item for item in items if self.roll() < probability]

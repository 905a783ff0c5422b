"""What shared outputs add to the values of a study: how far outputs overlap, the exclusion test, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np

from deconfound.value.efficient import EfficientValues
from deconfound.value.output_overlap import OutputOverlap

Obstacle: TypeAlias = Literal[
    "unknown propensities", "no shared outputs", "exclusion untestable", "exclusion rejected", "no gain"
]
"""Why shared outputs are not used; values are then doubly robust."""


@dataclass(frozen=True, slots=True, eq=False)
class EfficientSummary:
    """Efficient values with what stands against their use.

    ``requested`` is False where doubly robust values are reported, and the summary shows what efficient ones would be.
    """

    requested: bool
    obstacle: Obstacle | None  # None if shared outputs can be used
    overlap: OutputOverlap | None  # None if the propensities of some models are unknown
    result: EfficientValues | None  # as ``overlap``

    @classmethod
    def unknown_propensities(cls) -> Self:
        """Without the propensity of every model there are no efficient values."""
        return cls(requested=True, obstacle="unknown propensities", overlap=None, result=None)

    @classmethod
    def from_values(cls, result: EfficientValues, overlap: OutputOverlap, *, requested: bool) -> Self:
        """Name the first obstacle, if there is one."""
        obstacle: Obstacle | None = None
        if not overlap.shared_rows:
            obstacle = "no shared outputs"
        elif not result.exclusion.df:
            obstacle = "exclusion untestable"
        elif result.exclusion.rejects():
            obstacle = "exclusion rejected"
        elif not result.uses_shared_outputs.any():
            obstacle = "no gain"
        return cls(requested, obstacle, overlap, result)

    @property
    def used(self) -> bool:
        """Whether the reported values use shared outputs."""
        return self.requested and self.obstacle is None

    def narrowing(self, level: float = 0.95) -> float:
        """How much narrower efficient intervals are than doubly robust ones, as a share of their summed widths."""
        if self.result is None:
            return 0.0
        finite = np.isfinite(self.result.doubly_robust.standard_error)
        widths = [values.half_width(level)[finite].sum() for values in (self.result.values, self.result.doubly_robust)]
        return float(1 - widths[0] / widths[1]) if widths[1] > 0 else 0.0

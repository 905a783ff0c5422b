"""A horizontal axis: where a number stands, in percent of the picture's width, and round numbers to label it with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from deconfound.report.scale import Scale

INSET = 3.0  # percent left free at both ends, so that no mark is cut
TICKS = 7  # at most about
ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MARGIN = 0.04  # of the range of the numbers, added at both ends
MIN_WIDTH = 1e-6  # of an axis; numbers that are all equal would have none


@dataclass(frozen=True, slots=True)
class Tick:
    """A label at a place in percent."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """From ``low`` at the left to ``high`` at the right, in numbers of the result; better is to the right."""

    low: float
    high: float

    @classmethod
    def around(cls, numbers: Iterable[float]) -> Self:
        """An axis that has all finite numbers, with a margin."""
        finite = [number for number in numbers if math.isfinite(number)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        margin = max(MARGIN * (high - low), MIN_WIDTH)
        return cls(low - margin, high + margin)

    def percent(self, number: float) -> float:
        """Where a number stands; beyond an end, at that end."""
        share = (number - self.low) / (self.high - self.low)
        return round(INSET + (100.0 - 2 * INSET) * min(max(share, 0.0), 1.0), 2)

    def percent_or_none(self, number: float) -> float | None:
        """The same; None for a number that could not be estimated."""
        return self.percent(number) if math.isfinite(number) else None

    def value_ticks(self, scale: Scale) -> tuple[Tick, ...]:
        """Round numbers on the user's scale."""
        return self._ticks(scale.low, scale.width)

    def difference_ticks(self, scale: Scale) -> tuple[Tick, ...]:
        """Round differences, positive where they are good."""
        return self._ticks(0.0, abs(scale.width))

    def _ticks(self, zero: float, unit: float) -> tuple[Tick, ...]:
        ends = sorted((zero + unit * self.low, zero + unit * self.high))
        step = round_step((ends[1] - ends[0]) / TICKS)
        first, last = math.ceil(ends[0] / step), math.floor(ends[1] / step)
        return tuple(Tick(self.percent((n * step - zero) / unit), f"{n * step:.12g}") for n in range(first, last + 1))


def round_step(step: float) -> float:
    """The smallest round number that is at least a step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(size * power for size in ROUND_STEPS if size * power >= step * (1 - 1e-9))

"""How strong a violation would change the answer, in units of the largest difference observed between two sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from deconfound.report.page.chart_axis import ChartAxis, Tick
from deconfound.report.scale import UNIT, Scale
from deconfound.report.sensitivity_text import ratio_text, sensitivity_text
from deconfound.result import Result
from deconfound.value.sensitivity import Sensitivity

NAMES = {"A2": "Replay fidelity", "A3": "Outcome consistency"}
MIN_AXIS, MAX_AXIS = 1.25, 4.0  # ratios; a larger one stands at the right end


@dataclass(frozen=True, slots=True)
class SensitivityMark:
    """One assumption; places in percent, None where there is nothing to show.

    That is the case if no violation changes the answer, if any does, or if no difference was observed to compare with.
    """

    name: str
    tipping: float | None
    tipping_text: str
    is_beyond: bool
    best_set: float | None
    title: str

    @property
    def is_drawn(self) -> bool:
        """Whether the picture has any mark."""
        return self.tipping is not None or self.best_set is not None


@dataclass(frozen=True, slots=True)
class SensitivityChart:
    """All assumptions, on one axis of ratios."""

    marks: tuple[SensitivityMark, ...]
    observed: float  # where the ratio is 1
    start: float
    ticks: tuple[Tick, ...]

    @property
    def has_best_set(self) -> bool:
        """Whether any mark says from where on another model may be the best."""
        return any(mark.best_set is not None for mark in self.marks)

    @property
    def has_beyond(self) -> bool:
        """Whether any ratio is larger than the axis."""
        return any(mark.is_beyond for mark in self.marks)

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """The axis begins at no violation."""
        ratios = [one.tipping_ratio for one in result.sensitivity]
        high = max([MIN_AXIS, *(1.1 * min(ratio, MAX_AXIS) for ratio in ratios if math.isfinite(ratio))])
        axis, scale = ChartAxis(0.0, high), Scale.of(result)
        marks = tuple(_mark(one, axis, result.level, scale) for one in result.sensitivity)
        return cls(marks, axis.percent(1.0), axis.percent(0.0), axis.difference_ticks(UNIT))


def _mark(one: Sensitivity, axis: ChartAxis, level: float, scale: Scale) -> SensitivityMark:
    ratio = one.tipping_ratio
    shown = 0 < ratio < math.inf
    return SensitivityMark(
        name=f"{NAMES[one.assumption]} ({one.assumption})",
        tipping=axis.percent(ratio) if shown else None,
        tipping_text=ratio_text(ratio) if shown else _without_ratio(one, scale),
        is_beyond=shown and ratio > axis.high,
        best_set=axis.percent(one.best_set_ratio) if 0 < one.best_set_ratio <= axis.high else None,
        title=sensitivity_text(one, level, scale),
    )


def _without_ratio(one: Sensitivity, scale: Scale) -> str:
    if math.isinf(one.tipping_shift):
        return "no violation changes the order"
    return "equal values" if one.tipping_shift == 0 else f"from {scale.with_unit(scale.difference(one.tipping_shift))}"

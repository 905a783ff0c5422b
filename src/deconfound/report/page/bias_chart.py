"""How far the raw log overrates or underrates each model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent
from deconfound.report.page.chart_axis import ChartAxis, Tick
from deconfound.report.scale import NO_NUMBER, Scale
from deconfound.result import Result
from deconfound.value.log_bias import ModelBias

Direction: TypeAlias = Literal["overrated", "underrated", "unclear"]


@dataclass(frozen=True, slots=True)
class BiasMark:
    """One model; places in percent, None where the bias cannot be estimated."""

    name: str
    direction: Direction
    bias: float | None
    low: float | None
    high: float | None
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class BiasChart:
    """All models, in the order of their values."""

    marks: tuple[BiasMark, ...]
    zero: float
    ticks: tuple[Tick, ...]
    level: str

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Intervals are simultaneous over models."""
        biases = {bias.model: bias for bias in result.log_bias.biases}
        scale, level = Scale.of(result), format_percent(result.log_bias.level)
        estimable = [bias for bias in biases.values() if bias.is_estimable]
        axis = ChartAxis.around([0.0, *(end for bias in estimable for end in (bias.low, bias.high))])
        marks = [_mark(biases[name], axis, scale, level) for name in result.values.ranking() if name in biases]
        return cls(tuple(marks), axis.percent(0.0), axis.difference_ticks(scale), level)


def _mark(bias: ModelBias, axis: ChartAxis, scale: Scale, level: str) -> BiasMark:
    name = escape_name(bias.model)
    if not bias.is_estimable:
        return BiasMark(name, "unclear", None, None, None, NO_NUMBER, f"{name}: too few rows in log or experiment")
    direction: Direction = "overrated" if bias.low > 0 else "underrated" if bias.high < 0 else "unclear"
    text = scale.improvement(bias.estimate)
    meaning = {"overrated": "the log overrates it", "underrated": "the log underrates it", "unclear": "not significant"}
    title = (
        f"{name}: log bias {scale.with_unit(text)} ({level} interval {scale.improvement(bias.low)} to "
        f"{scale.improvement(bias.high)}): {meaning[direction]}"
    )
    ends = axis.percent(bias.low), axis.percent(bias.high)
    return BiasMark(name, direction, axis.percent(bias.estimate), *ends, text, title)

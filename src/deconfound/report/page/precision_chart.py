"""Where the precision comes from: standard errors with and without log and replay, and the shares of the sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.escaping import escape_name
from deconfound.report.page.chart_axis import ChartAxis
from deconfound.report.precision_text import precision_sentence
from deconfound.report.scale import Scale
from deconfound.result import Result
from deconfound.reward import Attribution
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES

VIEW_NAMES = {"model": "averages per model", "model by context": "which model suits which context"}
WRITTEN = "what the models wrote"


@dataclass(frozen=True, slots=True)
class PrecisionMark:
    """Two standard errors of one model, in percent of the largest."""

    name: str
    alone: float | None
    combined: float | None
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class SourceShare:
    """The part of one source and view in the estimated differences between models."""

    source: str
    view: str
    text: str
    width: float  # percent of the axis
    start: float
    title: str


@dataclass(frozen=True, slots=True)
class PrecisionChart:
    """All models, best first, and the shares of the sources where the family has them."""

    marks: tuple[PrecisionMark, ...]
    shares: tuple[SourceShare, ...]
    zero: float  # where bars of shares begin, in percent
    summary: str

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Values net of cost have the same standard errors."""
        alone, combined = result.experiment.standard_error, result.values.standard_error
        both = np.isfinite(alone) & np.isfinite(combined)
        largest = float(max(alone[both].max(initial=0.0), combined[both].max(initial=0.0))) or 1.0
        scale = Scale.of(result)
        marks = []
        for name in result.values.ranking():
            i = result.models.index(name)
            texts = scale.difference(float(alone[i])), scale.difference(float(combined[i]))
            marks.append(
                PrecisionMark(
                    escape_name(name),
                    round(100 * float(alone[i]) / largest, 2) if both[i] else None,
                    round(100 * float(combined[i]) / largest, 2) if both[i] else None,
                    f"{texts[0]} → {texts[1]}",
                    f"{escape_name(name)}: standard error {texts[0]} with the experiment alone, {texts[1]} in all",
                )
            )
        zero, shares = (0.0, ()) if result.attribution is None else _source_shares(result.attribution)
        return cls(tuple(marks), shares, zero, precision_sentence(result))


def _source_shares(attribution: Attribution) -> tuple[float, tuple[SourceShare, ...]]:
    """Bars to the right of zero, or to its left for shares that offset others.

    Text and proxies are one share, that of the outputs: both describe what a model wrote.
    """
    parts: list[tuple[str, str, float]] = []
    for source, row in zip(SOURCES, attribution.shares, strict=True):
        views = dict(zip(FEATURE_VIEWS, row.tolist(), strict=True))
        written = sum(share for view, share in views.items() if view not in VIEW_NAMES)
        parts.append((source, WRITTEN, written))
        parts += [(source, name, views[view]) for view, name in VIEW_NAMES.items()]
    axis = ChartAxis(min(0.0, *(share for *_, share in parts)), max(1.0, *(share for *_, share in parts)))
    shares, zero = [], axis.percent(0.0)
    for source, view, share in parts:
        text, end = f"{round(100 * share)} %", axis.percent(share)
        title = f"{source}, through {view}: {text} of the estimated differences between models"
        shares.append(SourceShare(source, view, text, round(abs(end - zero), 2), min(end, zero), title))
    return zero, tuple(shares)

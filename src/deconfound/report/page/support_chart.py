"""Support and overlap: rows of each model in each source, and how alike the sources are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from deconfound.diagnose.context_shift import ContextDifference
from deconfound.diagnose.replay_fidelity import OutputDifference, OutsideSupport
from deconfound.escaping import escape_line, escape_name
from deconfound.findings import Finding
from deconfound.formatting import format_percent
from deconfound.report.scale import Scale
from deconfound.result import Result

ALIKE_BY_AUC = "AUC 0.5 means alike, AUC 1 that a classifier separates every row"
AUC_ENDS, SHARE_ENDS = ("alike", "separable"), ("0 %", "100 %")
OUTSIDE = "0 % means that every replayed output resembles a randomized one"


@dataclass(frozen=True, slots=True)
class RowCount:
    """The rows of a model in one source, and their number in percent of the source's largest."""

    source: str
    text: str
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class SupportRow:
    """One model."""

    name: str
    counts: tuple[RowCount, ...]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A measured likeness of two sources: an AUC from 0.5, alike, to 1; or a share from 0, inside, to 1."""

    name: str
    meaning: str
    at: float  # percent; 0 is alike
    text: str
    verdict: str
    message: str
    ends: tuple[str, str]  # of the bar


@dataclass(frozen=True, slots=True)
class SupportChart:
    """Rows per model, and gauges of the checks that compare sources."""

    rows: tuple[SupportRow, ...]
    gauges: tuple[Gauge, ...]

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """In the order of the values."""
        tables = {"log": result.counts.log, "experiment": result.counts.experiment, "replay": result.counts.replay}
        largest = {name: max(table.rows_per_model, default=0) or 1 for name, table in tables.items()}
        rows = []
        for model in result.values.ranking():
            i, shown = result.models.index(model), escape_name(model)
            counts = []
            for source, table in tables.items():
                number = table.rows_per_model[i]
                title = f"{shown}: {number:,} rows in the {source}"
                counts.append(RowCount(source, f"{number:,}", round(100 * number / largest[source], 2), title))
            rows.append(SupportRow(shown, tuple(counts)))
        scale = Scale.of(result)
        gauges = (_gauge(finding, scale) for finding in result.findings)
        return cls(tuple(rows), tuple(gauge for gauge in gauges if gauge is not None))


def _gauge(finding: Finding, scale: Scale) -> Gauge | None:
    if finding.statistic is None:
        return None
    name, message = escape_line(finding.check), scale.finding(finding).message
    if isinstance(finding.details, OutputDifference | ContextDifference):
        at, text = _within_unit(2 * (finding.statistic - 0.5)), f"AUC {finding.statistic:.2f}"
        return Gauge(name, ALIKE_BY_AUC, at, text, finding.verdict, message, AUC_ENDS)
    if isinstance(finding.details, OutsideSupport):
        text = format_percent(finding.statistic, 0)
        return Gauge(name, OUTSIDE, _within_unit(finding.statistic), text, finding.verdict, message, SHARE_ENDS)
    return None


def _within_unit(share: float) -> float:
    """In percent."""
    return round(100 * min(max(share, 0.0), 1.0), 1)

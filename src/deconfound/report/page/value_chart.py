"""Values with their intervals beside the raw log's means: an inversion is visible at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent
from deconfound.report.page.chart_axis import ChartAxis, Tick
from deconfound.report.scale import Scale
from deconfound.report.text import value_rows
from deconfound.result import Result


@dataclass(frozen=True, slots=True)
class ValueMark:
    """One model: where its marks stand, in percent, and what they mean."""

    rank: int
    name: str
    in_best_set: bool
    value: float
    low: float | None  # None if the experiment has too few rows for an interval
    high: float | None
    log: float | None  # None if the log has no rows of the model
    value_text: str
    interval_text: str
    log_text: str
    log_rank: int | None
    title: str


@dataclass(frozen=True, slots=True)
class ValueChart:
    """All models, best first."""

    marks: tuple[ValueMark, ...]
    ticks: tuple[Tick, ...]
    level: str
    value_name: str
    unit: str

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """With costs, everything is net of them, also the raw log."""
        cost = result.values.cost_or_zero
        logged = result.raw_log.estimate - cost
        rows = result.values.table(result.level)
        ends = [float(row[key]) for row in rows for key in ("estimate", "low", "high") if _has_interval(row, key)]
        axis, scale = ChartAxis.around([*ends, *logged.tolist()]), Scale.of(result)
        log_rank = {name: rank for rank, name in enumerate(result.raw_log.ranking(), start=1)}
        net = result.values.cost is not None
        marks = []
        for (_, *cells), (rank, row) in zip(value_rows(result)[1:], enumerate(rows, start=1), strict=True):
            name, in_log = str(row["model"]), float(logged[result.models.index(str(row["model"]))])
            has_interval, has_log = _has_interval(row, "low"), bool(np.isfinite(in_log))
            marks.append(
                ValueMark(
                    rank=rank,
                    name=escape_name(name),
                    in_best_set=name in result.values.best_set(result.level),
                    value=axis.percent(float(row["estimate"])),
                    low=axis.percent(float(row["low"])) if has_interval else None,
                    high=axis.percent(float(row["high"])) if has_interval else None,
                    log=axis.percent_or_none(in_log),
                    value_text=cells[1],
                    interval_text=cells[2],
                    log_text=scale.value(in_log),
                    log_rank=log_rank[name] if has_log else None,
                    title=_title(value_rows(result)[0], (str(rank), *cells)),
                )
            )
        level = format_percent(result.level)
        return cls(tuple(marks), axis.value_ticks(scale), level, "net value" if net else "value", scale.unit)


def _has_interval(row: dict[str, str | float], key: str) -> bool:
    return key == "estimate" or bool(np.isfinite(float(row["standard_error"])))


def _title(headings: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """Every number of a row of the table, with its heading."""
    named = [f"{heading} {cell}" for heading, cell in zip(headings[2:], cells[2:], strict=True)]
    return f"{cells[1]}: {', '.join(named)}"

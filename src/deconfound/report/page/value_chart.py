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
from deconfound.value.log_bias import LogBiasVerdict

MISLEADS = "Diamonds are the means of the raw log. Where the diamond is far from the dot, the log misleads."
LOG_SENTENCES: dict[LogBiasVerdict, str] = {
    "misleading": MISLEADS,
    "biased": MISLEADS,
    "no bias shown": "Diamonds are the means of the raw log; no bias of them was detected.",
    "cannot tell": "Diamonds are the means of the raw log; their bias cannot be estimated.",
}


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
    log_name: str
    unit: str
    log_sentence: str

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """With costs, everything is net of them, also the raw log and its ranks."""
        net_log = result.raw_log if result.values.cost is None else result.raw_log.net_of(result.values.cost)
        logged, log_ranking = net_log.estimate.tolist(), net_log.ranking()
        rows = result.values.table(result.level)
        ends = [float(row[key]) for row in rows for key in ("estimate", "low", "high") if _is_known(row, key)]
        axis, scale = ChartAxis.around([*ends, *logged]), Scale.of(result)
        headings, *cells = value_rows(result)
        in_log, best_set = dict(zip(result.models, logged, strict=True)), result.values.best_set(result.level)
        marks = []
        for row, texts in zip(rows, cells, strict=True):
            name = str(row["model"])
            marks.append(
                ValueMark(
                    rank=int(texts[0]),
                    name=escape_name(name),
                    in_best_set=name in best_set,
                    value=axis.percent(float(row["estimate"])),
                    low=axis.percent(float(row["low"])) if _is_known(row, "low") else None,
                    high=axis.percent(float(row["high"])) if _is_known(row, "high") else None,
                    log=axis.percent_or_none(in_log[name]),
                    value_text=texts[2],
                    interval_text=texts[3],
                    log_text=scale.value(in_log[name]),
                    log_rank=log_ranking.index(name) + 1 if np.isfinite(in_log[name]) else None,
                    title=_title(headings, texts),
                )
            )
        names = ("value", "raw log") if result.values.cost is None else ("net value", "raw log, net of cost")
        return cls(
            tuple(marks),
            axis.value_ticks(scale),
            format_percent(result.level),
            *names,
            scale.unit,
            LOG_SENTENCES[result.log_bias.verdict],
        )


def _is_known(row: dict[str, str | float], key: str) -> bool:
    """Whether a number of a row was estimated: intervals need randomized rows."""
    return key == "estimate" or bool(np.isfinite(float(row["standard_error"])))


def _title(headings: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """Every number of a row of the table, with its heading."""
    named = [f"{heading} {cell}" for heading, cell in zip(headings[2:], cells[2:], strict=True)]
    return f"{cells[1]}: {', '.join(named)}"

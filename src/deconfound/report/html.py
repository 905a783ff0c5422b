"""A result as one HTML page: no script, nothing fetched, every name escaped."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Self

import numpy as np

from deconfound.escaping import escape_lines, escape_name
from deconfound.formatting import format_percent
from deconfound.report.scale import Scale
from deconfound.report.text import METHOD, Section, sections, value_rows
from deconfound.result import Result

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5d6b7a; --line: #d5dce4; --mark: #0b6e8f; --log: #c2571a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --soft: #9aa8b6; --line: #3a4653; --mark: #5cc3e6; --log: #f09a63; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.3; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: .35rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th:nth-child(2), td:nth-child(2) { text-align: left; overflow-wrap: anywhere; }
.detail { color: var(--soft); font-size: .9rem; } .detail p { margin: .4rem 0; }
summary { font-size: 1.1rem; font-weight: bold; margin-top: 2rem; cursor: pointer; }
.scroll { overflow-x: auto; } svg text { fill: var(--ink); font-size: 13px; }
"""

STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'"
"""What a browser may do with the page: apply the style above, and nothing else."""

WIDTH, LEFT, ROW, FOOT = 820, 240, 26, 34
MAX_TICKS = 8
MAX_NAME_CHARACTERS = 26  # longer names are cut in the plot


def render_html(result: Result) -> str:
    """The whole page."""
    answer, *rest = sections(result, verbose=True)
    title, *more = answer.lines
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in more),
        f"<h2>Values with {format_percent(result.level)} intervals</h2>",
        f'<div class="scroll">{_forest_plot(result)}</div>',
        *(f'<p class="detail">{escape(line)}</p>' for line in _legend(result)),
        f'<h2>In numbers</h2><div class="scroll">{_table(value_rows(result))}</div>',
        *(_section(section) for section in rest),
    ]
    meta = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
    )
    head = f"<head>{meta}<title>{escape(title)}</title><style>{STYLE}</style></head>"
    body = "\n".join(parts)
    return escape_lines(f'<!doctype html>\n<html lang="en">{head}\n<body>{body}</body></html>\n')


def _legend(result: Result) -> list[str]:
    """What the plot and the table show."""
    net = "Net value: the value minus the cost. The plot shows the raw log net of cost, the table before cost."
    own = " on the experiment's own contexts" if result.population.kind == "target" else ""
    return [
        *([] if result.values.cost is None else [net]),
        f"Value: the mean outcome if the model served every context. Bars: {format_percent(result.level)} intervals. "
        "Raw log: the mean outcome in the log, uncorrected. It misleads where the choice of the model depends on "
        f"something that also affects the outcome. Log bias: the raw log minus the value{own}.",
        "Experiment alone: the mean outcome of the model's own randomized rows ± its standard error.",
    ]


def _section(section: Section) -> str:
    lines = "".join(f"<p>{escape(line)}</p>" for line in section.lines)
    if section.rows:
        lines += f'<div class="scroll">{_table(section.rows)}</div>'
    if section.heading == METHOD:  # of interest to specialists
        return f'<details><summary>{escape(section.heading)}</summary><div class="detail">{lines}</div></details>'
    return f'<h2>{escape(section.heading)}</h2><div class="detail">{lines}</div>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def _forest_plot(result: Result) -> str:
    """Intervals as bars, values as dots and the raw log as open diamonds; with costs, all of it net of cost.

    Rows have the ranks of the table, because long names are cut here and may look alike.
    """
    logged = dict(zip(result.models, result.raw_log.estimate - result.values.cost_or_zero, strict=True))
    rows = result.values.table(result.level)
    height, axis = ROW * len(rows) + FOOT, _Axis.from_result(result)
    marks = [_draw_axis(axis, height, "value" if result.values.cost is None else "net value")]
    for place, row in enumerate(rows):
        name, y = str(row["model"]), ROW * place + ROW / 2
        label = _short(escape_name(name))
        marks.append(f'<text x="{LEFT - 12}" y="{y + 4:.0f}" text-anchor="end">{place + 1} {escape(label)}</text>')
        low, high, at = (axis.to_pixels(float(row[key])) for key in ("low", "high", "estimate"))
        line = 'stroke="var(--mark)" stroke-width="4" stroke-linecap="round" stroke-opacity=".45"'
        marks.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" {line}/>')
        marks.append(f'<circle cx="{at:.1f}" cy="{y}" r="5" fill="var(--mark)"/>')
        if math.isfinite(logged[name]):  # a model without log rows has no mean
            x = axis.to_pixels(float(logged[name]))
            diamond = f"M{x:.1f} {y - 6}l6 6-6 6-6-6z"
            marks.append(f'<path d="{diamond}" fill="none" stroke="var(--log)" stroke-width="2"/>')
    label = "Value of each model with its interval, and the mean of the raw log"
    return f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" aria-label="{label}">{"".join(marks)}</svg>'


@dataclass(frozen=True, slots=True)
class _Axis:
    """The horizontal axis: numbers of the result, from 0 to 1 without costs, and the scale of the tick labels."""

    low: float
    high: float
    scale: Scale

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """From 0 to 1; with costs, as far as the intervals and the raw log net of cost go."""
        cost = result.values.cost_or_zero
        ends = np.concatenate([result.values.interval(result.level).ravel(), result.raw_log.estimate - cost])
        low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
        return cls(min(low, 0.0), max(high, 1.0), Scale.of(result))

    def to_pixels(self, value: float) -> float:
        """Horizontal position of a number."""
        return LEFT + (WIDTH - LEFT - 20) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Numbers a quarter of the scale apart, or more on a long axis, with their labels on the user's scale."""
        step = 0.25
        while (self.high - self.low) / step > MAX_TICKS:
            step *= 2
        numbers = [n * step for n in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        return [(number, f"{self.scale.low + self.scale.width * number:g}") for number in numbers]


def _draw_axis(axis: _Axis, height: int, value: str) -> str:
    foot = height - FOOT
    lines = []
    for tick, label in axis.ticks():
        x = axis.to_pixels(tick)
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{foot}" stroke="var(--line)"/>')
        lines.append(f'<text x="{x:.1f}" y="{foot + 16}" text-anchor="middle">{label}</text>')
    key = '<tspan fill="var(--mark)">●</tspan> ' + value
    key += '   <tspan fill="var(--log)">◇</tspan> raw log'
    lines.append(f'<text x="0" y="{foot + 16}">{key}</text>')
    return "".join(lines)


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 1]}…"

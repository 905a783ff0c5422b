"""The curve of a plan: how wide intervals would be with more randomized rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deconfound.errors import DataError, Problem
from deconfound.escaping import escape_name, readable_path
from deconfound.report.page.chart_axis import Tick, round_step
from deconfound.report.plan_document import SCHEMA

FIX = "Write it with `deconfound plan ... -o plan.json`."
HEIGHT = 100.0  # of the picture, in its own units
LEFT, RIGHT, TOP = 12.0, 4.0, 6.0  # free for labels, in percent
LABEL_WIDTH = 14.0  # of a number below the axis, in percent
Y_TICKS = 4
MAX_POINTS = 1_000
DIGITS = 3


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """A number of rows and the width of an interval; places in the units of the picture, which are percent."""

    x: float
    y: float
    rows_text: str
    width_text: str
    range_text: str
    title: str


@dataclass(frozen=True, slots=True)
class PlanChart:
    """Expected widths, and the area of widths if variances are at the ends of their plausible interval."""

    rows: tuple[float, ...]
    widths: tuple[tuple[float, ...], ...]  # expected, lowest, highest
    unit: str
    current_rows: int | None = None  # of the result beside which the curve stands

    @classmethod
    def read(cls, path: Path) -> Self:
        """From the JSON of a plan."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["schema"] != SCHEMA:
                raise _unusable(path, f"it has schema {stored['schema']!r}, and this version reads {SCHEMA}")
            rows = [[float(row[name]["rms_width"]) for name in ("expected", "low", "high")] for row in stored["table"]]
            total = [float(row["expected"]["total_rows"]) for row in stored["table"]]
            return cls.from_widths(total, rows, escape_name(str(stored["outcome_unit"])))
        except OSError as error:
            raise _unusable(path, f"it cannot be read ({error.strerror})") from error
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            raise _unusable(path, f"it is not a plan ({type(error).__name__})") from error

    @classmethod
    def from_widths(cls, rows: Sequence[float], widths: Sequence[Sequence[float]], unit: str) -> Self:
        """From numbers of rows, and expected, lowest and highest widths; rows are on a logarithmic axis."""
        numbers = [*rows, *(width for each in widths for width in each)]
        if not 1 < len(rows) <= MAX_POINTS or not all(math.isfinite(n) and n > 0 for n in numbers):
            raise ValueError("a plan has several rows of positive numbers")
        return cls(tuple(rows), tuple(map(tuple, widths)), unit)

    @property
    def points(self) -> tuple[PlanPoint, ...]:
        """One per number of rows."""
        suffix, points = f" {self.unit}".rstrip(), []
        for n, (width, low, high) in zip(self.rows, self.widths, strict=True):
            shown, ends = f"{width:.{DIGITS}g}", f"{low:.{DIGITS}g} to {high:.{DIGITS}g}"
            title = f"{n:,.0f} rows: interval width {shown}{suffix} ({ends})"
            points.append(PlanPoint(self._x(n), self._y(width), f"{n:,.0f}", shown, ends, title))
        return tuple(points)

    @property
    def line(self) -> str:
        """The expected widths, as points of a polyline."""
        return " ".join(f"{point.x},{point.y}" for point in self.points)

    @property
    def area(self) -> str:
        """The plausible widths, as points of a polygon."""
        pairs = list(zip(self.rows, self.widths, strict=True))
        upper = [f"{self._x(n)},{self._y(high)}" for n, (_, _, high) in pairs]
        lower = [f"{self._x(n)},{self._y(low)}" for n, (_, low, _) in pairs]
        return " ".join([*upper, *reversed(lower)])

    @property
    def row_ticks(self) -> tuple[Tick, ...]:
        """Labels below the axis, at points that are far enough from each other."""
        ticks: list[Tick] = []
        for n in sorted(self.rows):
            if not ticks or self._x(n) - ticks[-1].at >= LABEL_WIDTH:
                ticks.append(Tick(self._x(n), f"{n:,.0f}"))
        return tuple(ticks)

    @property
    def width_ticks(self) -> tuple[Tick, ...]:
        """Labels of heights, from zero."""
        step = round_step(self._highest / Y_TICKS)
        return tuple(Tick(self._y(n * step), f"{n * step:.12g}") for n in range(int(self._highest / step) + 1))

    @property
    def current(self) -> Tick | None:
        """Where the result stands that the page is about."""
        if self.current_rows is None:
            return None
        return Tick(self._x(self.current_rows), f"this result: {self.current_rows:,} rows")

    @property
    def _highest(self) -> float:
        return max(max(each) for each in self.widths)

    def _x(self, rows: float) -> float:
        every = [*self.rows, *([] if self.current_rows is None else [max(self.current_rows, 1)])]
        first, last = math.log(min(every)), math.log(max(every))
        share = (math.log(max(rows, 1)) - first) / max(last - first, 1e-9)
        return round(LEFT + (100.0 - LEFT - RIGHT) * share, 2)

    def _y(self, width: float) -> float:
        return round(HEIGHT - (HEIGHT - TOP) * width / self._highest, 2)


def _unusable(path: Path, what: str) -> DataError:
    return DataError([Problem(readable_path(path), what, FIX)])

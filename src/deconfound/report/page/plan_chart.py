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
from deconfound.report.plan_document import SCHEMA

FIX = "Write it with `deconfound plan ... -o plan.json`."
HEIGHT = 100.0  # of the picture, in its own units
MAX_POINTS = 1_000
DIGITS = 3


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """A number of rows and the width of an interval; places in the units of the picture."""

    x: float
    y: float
    rows_text: str
    width_text: str
    title: str


@dataclass(frozen=True, slots=True)
class PlanChart:
    """Expected widths, and the area of widths if variances are at the ends of their plausible interval."""

    points: tuple[PlanPoint, ...]
    line: str
    area: str
    unit: str

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
        first, last, highest = math.log(min(rows)), math.log(max(rows)), max(max(each) for each in widths)
        x = [round(4 + 92 * (math.log(n) - first) / max(last - first, 1e-9), 2) for n in rows]
        y = [[round(HEIGHT - 92 * width / highest, 2) for width in each] for each in widths]
        suffix, points = f" {unit}".rstrip(), []
        for at, (height, *_), n, (width, *_) in zip(x, y, rows, widths, strict=True):
            shown = f"{width:.{DIGITS}g}"
            title = f"{n:,.0f} rows: interval width {shown}{suffix}"
            points.append(PlanPoint(at, height, f"{n:,.0f}", shown, title))
        upper = [f"{at},{each[2]}" for at, each in zip(x, y, strict=True)]
        lower = [f"{at},{each[1]}" for at, each in zip(x, y, strict=True)]
        line = " ".join(f"{point.x},{point.y}" for point in points)
        return cls(tuple(points), line, " ".join([*upper, *reversed(lower)]), unit)


def _unusable(path: Path, what: str) -> DataError:
    return DataError([Problem(readable_path(path), what, FIX)])

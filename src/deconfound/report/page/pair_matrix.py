"""Who beats whom: every pair of models with its difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent
from deconfound.report.scale import Scale
from deconfound.report.wording import format_raw_p_value
from deconfound.result import Result
from deconfound.value import Contrast

Verdict: TypeAlias = Literal["ahead", "behind", "open", "self"]
SYMBOLS: dict[Verdict, str] = {"ahead": "▲", "behind": "▼", "open": "○", "self": ""}
MAX_NUMBERED_MODELS = 8  # more columns have symbols only; the numbers are shown on hover


@dataclass(frozen=True, slots=True)
class PairCell:
    """The model of the row less the model of the column."""

    verdict: Verdict
    symbol: str
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class PairRow:
    """One model against all."""

    rank: int
    name: str
    cells: tuple[PairCell, ...]


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """All models against all, best first."""

    rows: tuple[PairRow, ...]
    has_numbers: bool
    level: str

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """From the simultaneous contrasts of the result."""
        ranking, scale = result.values.ranking(), Scale.of(result)
        contrasts = {(one.model, one.reference): one for one in result.contrasts()}
        level = format_percent(result.level)
        rows = []
        for rank, name in enumerate(ranking, start=1):
            cells = [_cell(contrasts, name, other, scale, level) for other in ranking]
            rows.append(PairRow(rank, escape_name(name), tuple(cells)))
        return cls(tuple(rows), len(ranking) <= MAX_NUMBERED_MODELS, level)


def _cell(contrasts: dict[tuple[str, str], Contrast], name: str, other: str, scale: Scale, level: str) -> PairCell:
    if name == other:
        return PairCell("self", "", "", escape_name(name))
    is_first = (name, other) in contrasts
    pair = contrasts[(name, other) if is_first else (other, name)]
    sign = 1 if is_first else -1
    ends = sorted((sign * pair.low, sign * pair.high))
    verdict: Verdict = "open" if not pair.significant else "ahead" if ends[0] > 0 else "behind"
    difference = scale.improvement(sign * pair.difference)
    meaning = {"ahead": "better", "behind": "worse", "open": "no clear difference", "self": ""}[verdict]
    interval = f"{level} interval {scale.improvement(ends[0])} to {scale.improvement(ends[1])}"
    title = (
        f"{escape_name(name)} minus {escape_name(other)}: {scale.with_unit(difference)} "
        f"({interval}, adjusted {format_raw_p_value(pair.p_value)}): {meaning}"
    )
    return PairCell(verdict, SYMBOLS[verdict], difference, title)

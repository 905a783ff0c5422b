"""What an experiment of a given size will give, and whether that is what was wished for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.plan.choosing import Chooser, share_within
from deconfound.plan.evidence import Evidence
from deconfound.plan.widths import widths

Kind: TypeAlias = Literal["width", "best", "regret"]


@dataclass(frozen=True, slots=True)
class Goal:
    """A wish: intervals of a width, a probability to choose the best model, or an expected regret."""

    kind: Kind
    wish: float

    def __post_init__(self) -> None:
        if not 0.0 < self.wish < 1.0:
            raise UsageError(f"--{self.kind} must lie strictly between 0 and 1, not {self.wish:g}.")

    def met(self, forecast: Forecast, rows: FloatArray) -> bool:
        """Whether so many rows a model (k,) are enough."""
        if self.kind == "width":
            return typical(forecast.width(rows)) <= self.wish
        if self.kind == "regret":
            return forecast.chooser.regret(rows) <= self.wish
        return forecast.chooser.best(rows, forecast.within) >= self.wish


@dataclass(frozen=True, slots=True)
class Step:
    """What comes of one number of rows."""

    rows: FloatArray  # (k,)
    width: FloatArray  # (k,) of each model's interval
    best: float  # probability to choose the best model, or one within the tolerance
    regret: float  # expected loss against the best model

    @property
    def total(self) -> int:
        """Rows in all."""
        return round(float(self.rows.sum()))

    @property
    def typical(self) -> float:
        """The width that goals are held against."""
        return typical(self.width)


@dataclass(frozen=True, slots=True)
class Forecast:
    """One reading of the evidence, with its draws made."""

    evidence: Evidence
    chooser: Chooser
    level: float
    elsewhere: int
    within: float

    @classmethod
    def of(cls, evidence: Evidence, level: float, elsewhere: int, within: float) -> Forecast:
        """Draw once what every number of rows is judged by."""
        return cls(evidence, Chooser.of(evidence, elsewhere), level, elsewhere, within)

    def width(self, rows: FloatArray) -> FloatArray:
        """Width of each model's interval (k,)."""
        return widths(self.evidence, rows, self.elsewhere, self.level)

    def at(self, rows: FloatArray) -> Step:
        """All three answers for so many rows a model (k,)."""
        regrets = self.chooser.regrets(rows)
        return Step(rows, self.width(rows), share_within(regrets, self.within), float(regrets.mean()))


def typical(width: FloatArray) -> float:
    """Root mean square of widths: what rows in proportion to the standard deviation make least."""
    return float(np.sqrt((width**2).mean()))

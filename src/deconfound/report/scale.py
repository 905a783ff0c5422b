"""The scale of the user's outcomes: numbers from 0 to 1 as they are printed, on the scale of the tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

from deconfound.diagnose.outcome_consistency import OutcomeValues
from deconfound.diagnose.outcome_drift import OutcomeDrift
from deconfound.diagnose.outcome_matching import MatchingLevel
from deconfound.findings import Details, Finding

SIGNIFICANT_DIGITS = 3  # decimals on a scale from 0 to 1; one less for each power of ten of its width
NO_NUMBER = "–"


@dataclass(frozen=True, slots=True)
class Scale:
    """Writes values and differences of values, given from 0 to 1, on a scale from ``low`` to ``high``."""

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def from_range(cls, outcome_range: tuple[float, float]) -> Self:
        """The scale of a study's or result's ``outcome_range``."""
        return cls(*outcome_range)

    @property
    def width(self) -> float:
        """One unit of the scale from 0 to 1."""
        return self.high - self.low

    @property
    def is_unit(self) -> bool:
        """Whether numbers are printed as they are."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def decimals(self) -> int:
        """Decimals that distinguish a thousandth of the scale."""
        return max(SIGNIFICANT_DIGITS - math.ceil(math.log10(self.width) - 1e-9), 0)

    def value(self, value: float) -> str:
        """A value; a dash if there is no number."""
        return self._number(self.low + self.width * value, self.decimals, signed=False)

    def interval(self, low: float, high: float) -> str:
        """Two values: 3.12 to 3.40."""
        return f"{self.value(low)} to {self.value(high)}"

    def difference(self, difference: float, *, signed: bool = False) -> str:
        """A difference of values, a standard error or a cost."""
        return self._number(self.width * difference, self.decimals, signed=signed)

    def rough_difference(self, difference: float) -> str:
        """A difference of which only the size matters: one decimal less, on a wide scale as many."""
        return self._number(self.width * difference, self.decimals - (self.width <= 1), signed=False)

    def finding(self, finding: Finding) -> Finding:
        """A finding whose sentences have the user's outcomes in them."""
        details: Details = finding.details
        if isinstance(details, MatchingLevel):
            details = replace(details, difference=self.width * details.difference)
        elif isinstance(details, OutcomeDrift):
            details = replace(details, mean_shift=self.width * details.mean_shift)
        elif isinstance(details, OutcomeValues):
            details = replace(
                details,
                log_range=self._rescale(*details.log_range),
                log_scale=self._rescale(*details.log_scale),
                experiment_range=self._rescale(*details.experiment_range),
                experiment_scale=self._rescale(*details.experiment_scale),
            )
        return replace(finding, details=details)

    def _rescale(self, *values: float) -> Any:  # noqa: ANN401  (a tuple as long as the values)
        return tuple(self.low + self.width * value for value in values)

    @staticmethod
    def _number(number: float, decimals: int, *, signed: bool) -> str:
        if not math.isfinite(number):
            return NO_NUMBER
        return f"{number:+.{decimals}f}" if signed else f"{number:.{decimals}f}"


UNIT = Scale()

"""The scale of the user's outcomes: numbers from 0 to 1 as they are printed, on the scale of the tables."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from deconfound.diagnose.outcome_consistency import OutcomeValues
from deconfound.diagnose.outcome_drift import OutcomeDrift
from deconfound.diagnose.outcome_matching import MatchingLevel
from deconfound.escaping import escape_name
from deconfound.findings import Details, Finding, finding_to_document

if TYPE_CHECKING:
    from deconfound.data import Study
    from deconfound.result import Result

SIGNIFICANT_DIGITS = 3  # decimals on a scale from 0 to 1; one less for each power of ten of its width
NO_NUMBER = "–"
OUT_OF = re.compile(r"(?:(?:out )?of|/)\s*[\d.,]+\s*", re.IGNORECASE)  # the beginning of units such as "of 5 stars"


@dataclass(frozen=True, slots=True)
class Scale:
    """Writes values and differences of values, given from 0 to 1, on a scale from ``low``, the worst, to ``high``.

    ``low`` is the larger number where less is better, as of times. ``unit`` follows the numbers in sentences.
    """

    low: float = 0.0
    high: float = 1.0
    unit: str = ""

    @classmethod
    def of(cls, source: Study | Result) -> Self:
        """The scale of a study or a result."""
        return cls(*source.outcome_range, escape_name(source.outcome_unit))

    @property
    def width(self) -> float:
        """One unit of the scale from 0 to 1."""
        return self.high - self.low

    @property
    def is_unit(self) -> bool:
        """Whether numbers are printed as they are."""
        return (self.low, self.high, self.unit) == (0.0, 1.0, "")

    @property
    def description(self) -> str:
        """What numbers mean, as the end of a sentence; empty where they are printed as they are."""
        if self.is_unit:
            return ""
        less = "; less is better" if self.width < 0 else ""
        return f"on your scale from {self.with_unit(f'{self.low:g} to {self.high:g}')}{less}"

    @property
    def difference_unit(self) -> str:
        """The unit of differences and widths: stars, where values are "of 5 stars"."""
        return OUT_OF.sub("", self.unit, count=1) if OUT_OF.match(self.unit) else self.unit

    def with_unit(self, numbers: str) -> str:
        """Differences or widths that are written already, with their unit."""
        return f"{numbers} {self.difference_unit}".rstrip()

    @property
    def decimals(self) -> int:
        """Decimals that distinguish a thousandth of the scale."""
        return max(SIGNIFICANT_DIGITS - math.ceil(math.log10(abs(self.width)) - 1e-9), 0)

    def value(self, value: float) -> str:
        """A value; a dash if there is no number."""
        return self._number(self.low + self.width * value, self.decimals, signed=False)

    def interval(self, low: float, high: float) -> str:
        """Two values: 3.12 to 3.40."""
        ends = (self.value(low), self.value(high))
        return " to ".join(ends if self.width > 0 else ends[::-1])

    def value_in_unit(self, value: float) -> str:
        """A value with its unit: 3.42 of 5 stars, 12.1 s."""
        return f"{self.value(value)} {self.unit}".rstrip()

    def difference(self, difference: float, *, signed: bool = False) -> str:
        """A difference of values, a standard error or a cost."""
        return self._number((self.width if signed else abs(self.width)) * difference, self.decimals, signed=signed)

    def fine_difference(self, difference: float) -> str:
        """A difference that is small beside the others: one decimal more."""
        return self._number(abs(self.width) * difference, self.decimals + 1, signed=False)

    def improvement(self, difference: float) -> str:
        """A difference that is positive where it is good, with its sign, whichever way the scale runs."""
        return self._number(abs(self.width) * difference, self.decimals, signed=True)

    def rough_difference(self, difference: float) -> str:
        """A difference of which only the size matters: one decimal less, on a wide scale as many."""
        return self._number(abs(self.width) * difference, self.decimals - (abs(self.width) <= 1), signed=False)

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

    def finding_document(self, finding: Finding) -> dict[str, Any]:
        """A finding for JSON: numbers from 0 to 1, sentences on the user's scale."""
        on_scale = self.finding(finding)
        return {**finding_to_document(finding), "message": on_scale.message, "remedy": on_scale.remedy}

    def _rescale(self, *values: float) -> Any:  # noqa: ANN401  (a tuple as long as the values)
        return tuple(sorted(self.low + self.width * value for value in values))

    @staticmethod
    def _number(number: float, decimals: int, *, signed: bool) -> str:
        if not math.isfinite(number):
            return NO_NUMBER
        rounded = round(number, decimals) or 0.0  # no sign before a zero
        return f"{rounded:+.{decimals}f}" if signed and rounded else f"{rounded:.{decimals}f}"


UNIT = Scale()
UNIT_RANGE = "0 to 1"  # of numbers in JSON: 0 is the worst outcome, 1 the best

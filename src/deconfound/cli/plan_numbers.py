"""The numbers of `deconfound plan` on the command line: on the scale of the outcomes there, from 0 to 1 in a plan."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deconfound.cli.options import parse_outcome_range
from deconfound.errors import UsageError

if TYPE_CHECKING:
    from deconfound.report.scale import Scale


@dataclass(frozen=True, slots=True)
class _Limits:
    """Where a number above 0 must lie, as shares of the scale's width; ``text`` says it with the ends filled in."""

    low: float
    high: float
    includes_high: bool
    text: str

    def contain(self, share: float) -> bool:
        return share > 0 and self.low <= share and (share < self.high or (self.includes_high and share == self.high))


BETWEEN = "lie strictly between {low} and {high}, the width of your scale"
LIMITS = {
    "width": _Limits(0.0, 1.0, False, BETWEEN),
    "regret": _Limits(0.0, 1.0, False, BETWEEN),
    "outcome_sd": _Limits(1e-4, 0.5, True, "be from {low} to {high}, the largest that outcomes on your scale can have"),
    "model_sd": _Limits(0.0, 0.5, True, "be above {low} and at most {high}"),
}


@dataclass(frozen=True, slots=True)
class PlanNumbers:
    """Targets and assumptions from 0 to 1; None where none is given."""

    width: float | None
    best: float | None
    regret: float | None
    outcome_sd: float | None
    model_sd: float | None

    @property
    def tolerance(self) -> float:
        """With --best, --regret is what a model may lack and still count as the best."""
        return 0.0 if self.best is None or self.regret is None else self.regret


def plan_scale(arguments: argparse.Namespace) -> Scale:
    """The scale of the outcomes, from --outcome-range and --outcome-unit."""
    from deconfound.escaping import escape_name
    from deconfound.loading.reading_rules import check_range, check_unit
    from deconfound.report.scale import Scale

    bounds = parse_outcome_range(arguments.outcome_range)
    check_range(bounds)
    low, high = bounds or (0.0, 1.0)
    return Scale(low, high, escape_name(check_unit(arguments.outcome_unit)))


def plan_numbers(arguments: argparse.Namespace, scale: Scale) -> PlanNumbers:
    """The numbers of the command line as shares of the scale; the largest that can be is named where one is not."""
    shares = {name: _share(name, getattr(arguments, name), arguments, scale) for name in LIMITS}
    return PlanNumbers(shares["width"], arguments.best, shares["regret"], shares["outcome_sd"], shares["model_sd"])


def _share(name: str, given: float | None, arguments: argparse.Namespace, scale: Scale) -> float | None:
    width = abs(scale.width)
    if given is None or width == 1.0:  # what cannot be is then named by the plan
        return given
    limits = LIMITS[name]
    is_tolerance = name == "regret" and arguments.best is not None and given == 0
    if not is_tolerance and not limits.contain(given / width):
        low, high = f"{limits.low * width:g}", scale.with_unit(f"{limits.high * width:g}")
        ends = f"from {scale.low:g} to {scale.high:g}"
        must = limits.text.format(low=low, high=high)
        raise UsageError(f"--{name.replace('_', '-')} must {must} ({ends}), not {given:g}.")
    return given / width

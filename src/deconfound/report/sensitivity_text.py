"""How wrong an assumption would have to be, in sentences."""

from __future__ import annotations

import math

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent
from deconfound.report.scale import Scale
from deconfound.value.sensitivity import Sensitivity, ViolatedAssumption

VIOLATIONS: dict[ViolatedAssumption, str] = {
    "A2": "the replayed outputs of each were rated {shift} off those that it really writes, in opposite directions",
    "A3": "the randomized outcomes of each were {shift} off the outcome that matters, in opposite directions",
}
SOURCES: dict[ViolatedAssumption, str] = {"A2": "replay and experiment", "A3": "log and experiment"}
LARGEST_RATIO = 100.0  # a larger one says nothing more


def sensitivity_lines(sensitivities: tuple[Sensitivity, ...], level: float, scale: Scale) -> list[str]:
    """One paragraph per assumption."""
    return [sensitivity_text(each, level, scale) for each in sensitivities]


def sensitivity_text(sensitivity: Sensitivity, level: float, scale: Scale) -> str:
    """What would have to be wrong, by how much, and how that compares with what was observed."""
    name = {"A2": "Replay fidelity (A2)", "A3": "Outcome consistency (A3)"}[sensitivity.assumption]
    if sensitivity.tipping_shift == 0.0:
        return f"{name}: {_tie_sentence(sensitivity)}"
    sentences = [
        _tipping_sentence(sensitivity, scale),
        _unit_sentence(sensitivity, scale),
        _best_set_sentence(sensitivity, level, scale),
    ]
    return f"{name}: {' '.join(filter(None, sentences))}"


def ratio_text(ratio: float) -> str:
    """A shift in units of the largest observed difference."""
    if ratio > LARGEST_RATIO:
        return f"more than {LARGEST_RATIO:.0f} times"
    return f"{ratio:.2g} times" if ratio < 10 else f"{ratio:.0f} times"


def _tipping_sentence(sensitivity: Sensitivity, scale: Scale) -> str:
    leader, rival = escape_name(sensitivity.leader), escape_name(sensitivity.rival)
    if math.isinf(sensitivity.tipping_shift):
        condition = "At the estimated weight of the reward, no violation of this kind in two models"
        return f"{condition} changes the order: {leader} stays first."
    shift = scale.with_unit(scale.difference(sensitivity.tipping_shift))
    violation = VIOLATIONS[sensitivity.assumption].format(shift=shift)
    return f"{rival} would be first instead of {leader} if {violation}."


def _tie_sentence(sensitivity: Sensitivity) -> str:
    leader, rival = escape_name(sensitivity.leader), escape_name(sensitivity.rival)
    return f"{leader} and {rival} have equal values, so the smallest violation decides between them."


def _best_set_sentence(sensitivity: Sensitivity, level: float, scale: Scale) -> str:
    """Empty where the set has several models already."""
    if sensitivity.best_set_shift == 0.0 or math.isinf(sensitivity.best_set_shift):
        return ""
    shift, rival = scale.with_unit(scale.difference(sensitivity.best_set_shift)), sensitivity.possible_rival
    return f"From {shift} on, {escape_name(rival)} could be the best at {format_percent(level)} confidence."


def _unit_sentence(sensitivity: Sensitivity, scale: Scale) -> str:
    sources = SOURCES[sensitivity.assumption]
    if math.isnan(sensitivity.observed_difference):
        return f"No model has rows in both {sources} to compare this with."
    if sensitivity.observed_difference == 0.0:
        return f"No difference between {sources} was observed."
    size = scale.with_unit(scale.difference(sensitivity.observed_difference))
    unit = f"the largest difference observed between {sources} ({size}, {escape_name(sensitivity.observed_model)})"
    if math.isinf(sensitivity.tipping_shift):
        return f"For comparison: {unit}."
    return f"That is {ratio_text(sensitivity.tipping_ratio)} {unit}."

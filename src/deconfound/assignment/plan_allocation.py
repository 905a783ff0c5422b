"""The propensities that `deconfound plan` or `deconfound monitor` recommends, from the JSON that it writes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from deconfound.assignment.json_file import read_json
from deconfound.errors import DataError, Problem
from deconfound.escaping import readable_path

MONITOR_KIND = "deconfound monitor"
FIX = "Write one with `deconfound plan --log FILE --replay FILE --experiment PILOT --best 0.9 -o plan.json`."


@dataclass(frozen=True, slots=True)
class PlannedAllocation:
    """Propensities by model, and the number of randomized rows that the plan's goal needs.

    ``stopped``: they are from a look that said that the experiment can stop.
    """

    propensity: dict[str, float]
    rows: int
    stopped: bool = False


def allocation_from_plan(path: str | os.PathLike[str]) -> PlannedAllocation:
    """Read the allocation of a plan's goal; a plan without a goal, or with several allocations, raises.

    The file may also be a look of `deconfound monitor`, which recommends the propensities of its next batch.
    """
    document, source = read_json(path, FIX), readable_path(path)
    if isinstance(document, dict) and document.get("kind") == MONITOR_KIND:
        return _next_batch(document, source)
    try:
        models, answers = document["models"], document["answers"]
        assumed = document["inputs"]["source"] == "assumed"
        allocations = [_allocation(models, answer) for answer in answers]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise DataError([Problem(source, "this is no plan", FIX)]) from None
    if assumed:
        what = "the plan is from assumed numbers and names no models"
        raise DataError([Problem(source, what, "All models are equally likely in it: use --models A,B,... instead.")])
    if not allocations:
        fix = "Plan with a goal: add --width W, --best P or --regret R, and --allocation optimal."
        raise DataError([Problem(source, "the plan has no goal, so it recommends no allocation", fix)])
    if any(each.propensity != allocations[0].propensity for each in allocations):
        what = "the plan has several goals with different allocations"
        raise DataError([Problem(source, what, "Plan one of them, or give the propensities with --propensity.")])
    return PlannedAllocation(allocations[0].propensity, max(each.rows for each in allocations))


def _next_batch(document: dict[str, Any], source: str) -> PlannedAllocation:
    """What a look at a running experiment recommends."""
    try:
        batch = document["next_batch"]
        propensity = {str(model): float(share) for model, share in batch["propensity"].items() if share > 0}
        return PlannedAllocation(propensity, int(batch["rows"]), stopped=document.get("stop") is True)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        fix = "Write it again with `deconfound monitor -o FILE`."
        raise DataError([Problem(source, "the next batch of this look cannot be read", fix)]) from None


def _allocation(models: list[Any], answer: dict[str, Any]) -> PlannedAllocation:
    """Propensities of one goal, in the order of the models."""
    propensity = dict(zip(map(str, models), map(float, answer["propensity"]), strict=True))
    return PlannedAllocation(propensity, int(answer["expected"]["total_rows"]))

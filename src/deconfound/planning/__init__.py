"""Estimate how many randomized rows an experiment needs, before it is run.

``inputs`` defines what a plan is computed from; ``from_pilot`` and ``from_log`` estimate it from data. ``forecast``
projects interval widths, the probability to select the best model and the expected regret for given row counts.
``allocation`` distributes rows over models and searches the smallest sufficient number. ``experiment_plan`` ties them
together.
"""

from deconfound.loading import LogAndReplay, load_log_and_replay
from deconfound.planning.experiment_plan import (
    ROWS_PER_MODEL,
    Allocation,
    Plan,
    PlanRow,
    RequiredRows,
    UnreachableGoalError,
    plan,
)
from deconfound.planning.forecast import Goal, Projection
from deconfound.planning.from_pilot import inputs_from_pilot
from deconfound.planning.inputs import AssumedInputs, PlanInputs, ValuePrior

__all__ = [
    "ROWS_PER_MODEL",
    "Allocation",
    "AssumedInputs",
    "Goal",
    "LogAndReplay",
    "Plan",
    "PlanInputs",
    "PlanRow",
    "Projection",
    "RequiredRows",
    "UnreachableGoalError",
    "ValuePrior",
    "inputs_from_pilot",
    "load_log_and_replay",
    "plan",
]

"""Estimate how many randomized rows an experiment needs, before it is run.

``inputs`` defines what a plan is computed from; ``from_pilot`` and ``from_log`` estimate it from data. ``forecast``
projects interval widths, the probability to select the best model and the expected regret for given row counts.
``allocation`` distributes rows over models and searches the smallest sufficient number. ``plan`` ties them together.
"""

from deconfound.loading import LogAndReplay, load_log_and_replay
from deconfound.plan.forecast import Goal, Projection
from deconfound.plan.from_pilot import inputs_from_pilot
from deconfound.plan.inputs import AssumedInputs, PlanInputs, ValuePrior
from deconfound.plan.planning import ROWS_PER_MODEL, Allocation, Plan, PlanRow, RequiredRows, plan

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
    "ValuePrior",
    "inputs_from_pilot",
    "load_log_and_replay",
    "plan",
]

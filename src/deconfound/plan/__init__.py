"""Before labels are spent: how many randomized rows give a wished width, choice or regret.

``evidence`` is what a plan rests on, learned by ``pilot`` or ``history`` or assumed by ``Numbers``; ``widths`` and
``choosing`` say what rows give; ``allocation`` deals them to models; ``planning`` puts it together.
"""

from deconfound.loading import LogAndReplay, load_log_and_replay
from deconfound.plan.evidence import AssumedInputs, Evidence
from deconfound.plan.forecast import Goal, Step
from deconfound.plan.from_pilot import from_pilot
from deconfound.plan.plan import ROWS, Allocation, Plan, PlanRow, RequiredRows, plan

__all__ = [
    "ROWS",
    "Allocation",
    "AssumedInputs",
    "Evidence",
    "Goal",
    "LogAndReplay",
    "Plan",
    "PlanRow",
    "RequiredRows",
    "Step",
    "from_pilot",
    "load_log_and_replay",
    "plan",
]

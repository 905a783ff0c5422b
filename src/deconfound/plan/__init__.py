"""Before labels are spent: how many randomized rows give a wished width, choice or regret.

``evidence`` is what a plan rests on, learned by ``pilot`` or ``history`` or assumed by ``Numbers``; ``widths`` and
``choosing`` say what rows give; ``allocation`` deals them to models; ``planning`` puts it together.
"""

from deconfound.loading import History, load_history
from deconfound.plan.evidence import Evidence, Numbers
from deconfound.plan.forecast import Goal, Step
from deconfound.plan.pilot import Pilot, from_pilot
from deconfound.plan.planning import ROWS, Allocation, Answer, Line, Plan, plan

__all__ = [
    "ROWS",
    "Allocation",
    "Answer",
    "Evidence",
    "Goal",
    "History",
    "Line",
    "Numbers",
    "Pilot",
    "Plan",
    "Step",
    "from_pilot",
    "load_history",
    "plan",
]

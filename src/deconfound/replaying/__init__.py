"""What every model would have written on every context: cells, baselines, and the table of a replay."""

from deconfound.replaying.replay_plan import ReplayPlan
from deconfound.replaying.replay_run import ReplayRun, replay

__all__ = ["ReplayPlan", "ReplayRun", "replay"]

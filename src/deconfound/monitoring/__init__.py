"""Look at an experiment while it runs, as often as one likes, without inflating errors.

``boundary`` says how many standard errors a statement needs at a look, ``sequences`` applies it to values and
differences, ``stopping`` decides, ``next_batch`` proposes propensities. ``monitor_settings`` and ``monitor_state`` hold
what was fixed before the first look and what was done since; ``monitored`` ties them together.
"""

from deconfound.monitoring.monitor_result import MonitorResult
from deconfound.monitoring.monitor_settings import MonitorSettings
from deconfound.monitoring.monitored import monitor
from deconfound.monitoring.sequences import Sequences
from deconfound.monitoring.stopping import Verdict

__all__ = ["MonitorResult", "MonitorSettings", "Sequences", "Verdict", "monitor"]

"""Files and data frames of every supported kind -> Study; the only reader of user files."""

from deconfound.loading.contexts import load_contexts
from deconfound.loading.history import LogAndReplay, load_log_and_replay
from deconfound.loading.load import load, load_replay

__all__ = ["LogAndReplay", "load", "load_contexts", "load_log_and_replay", "load_replay"]

"""Files and data frames of every supported kind -> Study; the only reader of user files."""

from deconfound.loading.contexts import load_contexts
from deconfound.loading.history import History, load_history
from deconfound.loading.study import load, load_replay

__all__ = ["History", "load", "load_contexts", "load_history", "load_replay"]

"""Files and data frames of every supported kind -> Study; the only reader of user files."""

from deconfound.loading.context_rows import ContextRow, ContextRows, load_context_rows
from deconfound.loading.load_study import LogAndReplay, load, load_log_and_replay
from deconfound.loading.log_size import LongLog
from deconfound.loading.output_rows import OutputTable, load_output_tables
from deconfound.loading.segment_table import with_segments
from deconfound.loading.single_tables import load_contexts, load_replay

__all__ = [
    "ContextRow",
    "ContextRows",
    "LogAndReplay",
    "LongLog",
    "OutputTable",
    "load",
    "load_context_rows",
    "load_contexts",
    "load_log_and_replay",
    "load_output_tables",
    "load_replay",
    "with_segments",
]

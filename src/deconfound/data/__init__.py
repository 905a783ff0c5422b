"""What a study is: its tables, and what makes them valid together."""

from deconfound.data.messages import closest, counted, escaped, listed, percent, quoted
from deconfound.data.study import Incomplete, Study
from deconfound.data.tables import (
    TEXT_COLUMNS,
    Experiment,
    Log,
    Mask,
    Places,
    Replay,
    Table,
    context_name,
    is_in,
    text_ids,
)

__all__ = [
    "TEXT_COLUMNS",
    "Experiment",
    "Incomplete",
    "Log",
    "Mask",
    "Places",
    "Replay",
    "Study",
    "Table",
    "closest",
    "context_name",
    "counted",
    "escaped",
    "is_in",
    "listed",
    "percent",
    "quoted",
    "text_ids",
]

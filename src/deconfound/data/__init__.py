"""The tables of a study, and the checks that they fit together."""

from deconfound.data.study import IncompleteReplay, Study, split_unrated
from deconfound.data.tables import (
    PROPENSITY_PREFIX,
    TEXT_COLUMNS,
    Experiment,
    Log,
    Mask,
    Replay,
    RowNumbers,
    Table,
    count_by_model,
    describe_context,
    is_in,
    text_ids,
)

__all__ = [
    "PROPENSITY_PREFIX",
    "TEXT_COLUMNS",
    "Experiment",
    "IncompleteReplay",
    "Log",
    "Mask",
    "Replay",
    "RowNumbers",
    "Study",
    "Table",
    "count_by_model",
    "describe_context",
    "is_in",
    "split_unrated",
    "text_ids",
]

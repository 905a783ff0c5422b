"""The tables of a study, and the checks that they fit together."""

from deconfound.data.log_stream import SAMPLE_ROWS, LogPart, LogStream, TablePart, slices_of, stream_rows
from deconfound.data.reading_choices import NO_CHOICES, ReadingChoices
from deconfound.data.row_order import SEGMENT_PREFIX
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
    "NO_CHOICES",
    "PROPENSITY_PREFIX",
    "SAMPLE_ROWS",
    "SEGMENT_PREFIX",
    "TEXT_COLUMNS",
    "Experiment",
    "IncompleteReplay",
    "Log",
    "LogPart",
    "LogStream",
    "Mask",
    "ReadingChoices",
    "Replay",
    "RowNumbers",
    "Study",
    "Table",
    "TablePart",
    "count_by_model",
    "describe_context",
    "is_in",
    "slices_of",
    "split_unrated",
    "stream_rows",
    "text_ids",
]

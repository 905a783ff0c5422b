"""Columns that are written in the names of folders, as Hive, Athena and Spark do: "model=oak/part-0.parquet"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote

import pyarrow as pa

from deconfound.escaping import readable_path
from deconfound.loading.raw import RawTable

MISSING = "__HIVE_DEFAULT_PARTITION__"


def with_partitions(raw: RawTable, folders: Sequence[str]) -> RawTable:
    """The table with a column of text for every folder "name=value"; a column of the file itself goes first."""
    pairs = [readable_path(folder).partition("=") for folder in folders if "=" in folder]
    values = {unquote(name): unquote(value) for name, _, value in pairs if name}
    arrow = raw.arrow
    for name, value in values.items():
        if name not in arrow.column_names:
            cell = None if value == MISSING else value
            arrow = arrow.append_column(name, pa.array([cell] * arrow.num_rows, pa.string()))
    return replace(raw, arrow=arrow)

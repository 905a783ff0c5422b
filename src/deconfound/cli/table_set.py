"""The tables that `deconfound convert` writes into one folder, all of them of one run.

Each table says in its file that a conversion wrote it. All new tables are written to temporary files first. Then the
old ones lose their names, and then the new ones get them, the log last. A kill in between leaves a set with tables
missing, never one with tables of two runs. After an error the old set is as it was.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.output_path import writing

if TYPE_CHECKING:
    from deconfound.traces.study_tables import StudyTables

TABLES = ("experiment", "replay", "log")
ORIGIN = {b"deconfound": b"convert"}
"""What the schema of a table says about it."""


def table_paths(folder: Path) -> list[Path]:
    """Where the tables are."""
    return [folder / f"{name}.parquet" for name in TABLES]


def write_tables(tables: StudyTables, folder: Path, inputs: Sequence[Path], *, overwrite: bool) -> list[str]:
    """Replace the set in a folder; returns the names of files of an earlier run that this one does not have."""
    from deconfound.atomic import write_files

    paths = table_paths(folder)
    found = {path: _content(tables, name) for path, name in zip(paths, TABLES, strict=True)}
    contents = {path: content for path, content in found.items() if content is not None}
    stale = [path for path in paths if path not in contents and overwrite and _is_ours(path)]
    with writing(folder, inputs, files=(*contents, *stale), overwrite=overwrite):
        folder.mkdir(parents=True, exist_ok=True)
        write_files(contents, outdated=[*reversed(contents), *stale])
    return [path.name for path in stale]


def _content(tables: StudyTables, name: str) -> bytes | None:
    import pyarrow.parquet as pq

    table = getattr(tables, name)
    if table is None:
        return None
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(ORIGIN), buffer, compression="zstd")
    return buffer.getvalue()


def _is_ours(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(path).metadata if path.is_file() else None
    except (pa.ArrowException, OSError, ValueError):
        return False
    return metadata is not None and ORIGIN.items() <= metadata.items()

"""A user's table with the scores of the judges in further columns, in the same order of rows."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deconfound.atomic import write_files
from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import escape_json
from deconfound.formatting import quote
from deconfound.judging.rubric import Rubric

FORMATS = (".parquet", ".jsonl")
ORIGIN = {b"deconfound": b"judge"}
"""What the schema of a table says about it: a later run may replace it."""
PREFIXES = {"labels": "label_", "features": "feature_"}
COUNT, FAILURES = "judges", "judge_failures"
LINES_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Which columns are added: one per criterion, or one with the combined score."""

    names: tuple[str, ...]
    is_combined: bool

    @classmethod
    def choose(cls, scores_as: str, rubric: Rubric) -> Self:
        """By the value of --as: labels, features, or the name of a column for the combined score."""
        if scores_as in PREFIXES:
            return cls(tuple(f"{PREFIXES[scores_as]}{name}" for name in rubric.names), is_combined=False)
        if not scores_as.strip() or scores_as in (COUNT, FAILURES, "context", "context_id", "model", "output", "draw"):
            raise UsageError(f"--as takes labels, features, or a column for one score, not {quote(scores_as)}.")
        return cls((scores_as,), is_combined=True)

    def check(self, tables: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Refuse tables that have such a column already: nothing of the user's is replaced."""
        problems = []
        for source, names in tables:
            taken = [name for name in (*self.names, COUNT, FAILURES) if name in names]
            if taken:
                what = f"there is a column {quote(taken[0])} already"
                problems.append(Problem(source, what, "Rename or remove it, or choose other columns with --as NAME."))
        if problems:
            raise DataError(problems)


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """What the judges say about every distinct output: labels averaged over those who answered (NaN if none did)."""

    labels: FloatArray  # (pairs, criteria)
    combined: FloatArray  # (pairs,)
    answered: IntArray  # (pairs,)
    failures: tuple[str, ...]  # empty without one


def judged_table(columns: pa.Table, rows: IntArray, scores: PairScores, names: ScoreColumns) -> pa.Table:
    """The user's columns, the scores, how many judges they are the mean of, and why others have none."""
    values = scores.combined[:, None] if names.is_combined else scores.labels
    for name, column in zip(names.names, values.T, strict=True):
        columns = columns.append_column(name, pa.array(column[rows], pa.float64(), from_pandas=True))
    columns = columns.append_column(COUNT, pa.array(scores.answered[rows], pa.int64()))
    failures = [scores.failures[row] or None for row in rows]
    metadata = {**(columns.schema.metadata or {}), **ORIGIN}
    return columns.append_column(FAILURES, pa.array(failures, pa.string())).replace_schema_metadata(metadata)


def require_format(path: Path) -> None:
    """Refuse a file whose extension names no format, before any call is made."""
    if path.suffix not in FORMATS:
        raise UsageError(f"-o takes a file ending in {' or '.join(FORMATS)}, not {quote(path.name)}.")


def write_judged(tables: Mapping[Path, pa.Table]) -> None:
    """Write tables in the formats given by the files' extensions, all of them in one step."""
    write_files(
        {path: _parquet(one) if path.suffix == ".parquet" else b"".join(_lines(one)) for path, one in tables.items()}
    )


def is_judged_table(path: Path) -> bool:
    """Whether a file is a table that `judge` wrote."""
    try:
        metadata: Mapping[bytes, bytes] | None = pq.read_schema(path).metadata if path.is_file() else None
    except (pa.ArrowException, OSError, ValueError):
        return False
    return metadata is not None and ORIGIN.items() <= metadata.items()


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _lines(table: pa.Table) -> Iterator[bytes]:
    for batch in table.to_batches(LINES_AT_ONCE):
        for row in batch.to_pylist():
            values = {name: _finite(value) for name, value in row.items()}
            text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)
            yield f"{escape_json(text)}\n".encode()


def _finite(value: Any) -> Any:  # noqa: ANN401  (whatever a cell can hold)
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float | np.floating) and not math.isfinite(value) else value

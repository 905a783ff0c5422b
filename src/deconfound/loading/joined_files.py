"""Several files of one table -> one RawTable, in which every row still knows its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, quote
from deconfound.loading.input_limit import require_cells, require_size
from deconfound.loading.raw import RawTable


def join_files(parts: Sequence[RawTable], source: str) -> RawTable:
    """Put the rows of all files below each other; a column that a file lacks is empty there."""
    if len(parts) == 1:
        return replace(parts[0], source=source)
    columns = list(dict.fromkeys(name for part in parts for name in part.arrow.column_names))
    require_size(source, sum(part.arrow.nbytes for part in parts))
    require_cells(source, sum(part.arrow.num_rows for part in parts), len(columns))
    names = [set(part.arrow.column_names) for part in parts]
    lacking = {
        column: tuple(part.source for part, present in zip(parts, names, strict=True) if column not in present)
        for column in columns
        if not all(column in present for present in names)
    }
    findings = tuple(finding for part in parts for finding in part.findings)
    return RawTable(_concatenate(parts, columns), source, _row_numbers(parts), findings, lacking)


def _concatenate(parts: Sequence[RawTable], columns: Sequence[str]) -> pa.Table:
    try:
        return pa.concat_tables([part.arrow for part in parts], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise DataError(_type_problems(parts, columns)) from None


def _type_problems(parts: Sequence[RawTable], columns: Sequence[str]) -> list[Problem]:
    """The columns that have different types in different files."""
    problems = []
    for column in columns:
        having = [part for part in parts if column in part.arrow.column_names]
        first = having[0].arrow.schema.field(column).type
        for part in having[1:]:
            kind = part.arrow.schema.field(column).type
            if kind != first:
                what = f"column {quote(column)} has type {kind}, but {first} in {having[0].source}"
                problems.append(Problem(part.source, what, "Write the column in the same way in all files."))
                break
    return problems or [Problem(join_names([part.source for part in parts]), "the files do not fit together", "")]


def _row_numbers(parts: Sequence[RawTable]) -> RowNumbers:
    units = {part.row_numbers.unit for part in parts}
    numbers = [
        np.arange(1, part.arrow.num_rows + 1) if part.row_numbers.numbers is None else part.row_numbers.numbers
        for part in parts
    ]
    return RowNumbers(
        units.pop() if len(units) == 1 else "row",
        np.concatenate(numbers),
        tuple(part.source for part in parts),
        np.repeat(np.arange(len(parts)), [part.arrow.num_rows for part in parts]),
    )

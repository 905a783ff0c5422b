"""Several files of one table -> one RawTable, in which every row still knows its file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.loading.input_limit import require_cells, require_size
from deconfound.loading.joined_columns import FilePart, join_column
from deconfound.loading.raw import PartialColumn, RawTable


def join_files(parts: Sequence[RawTable], source: str) -> RawTable:
    """Put the rows of all files below each other; a column that a file lacks is empty there."""
    if len(parts) == 1:
        return replace(parts[0], source=source)
    columns = list(dict.fromkeys(name for part in parts for name in part.arrow.column_names))
    require_size(source, sum(part.arrow.nbytes for part in parts))
    require_cells(source, sum(part.arrow.num_rows for part in parts), len(columns))
    joined = {name: join_column(name, [_part(part, name) for part in parts]) for name in columns}
    return RawTable(
        pa.table({name: values for name, (values, _) in joined.items()}),
        source,
        _row_numbers(parts),
        tuple(finding for part in parts for finding in part.findings),
        _partial_columns(parts, columns),
        {name: note for name, (_, note) in joined.items() if note is not None},
        {old: new for part in parts for old, new in part.renamed.items() if old not in columns},
    )


def _part(part: RawTable, name: str) -> FilePart:
    values = part.arrow[name] if name in part.arrow.column_names else None
    return FilePart(part.source, part.arrow.num_rows, values)


def _partial_columns(parts: Sequence[RawTable], columns: Sequence[str]) -> dict[str, PartialColumn]:
    names = [set(part.arrow.column_names) for part in parts]
    own = [own_names(part.arrow.column_names, part.renamed) for part in parts]
    partial = {}
    for column in columns:
        lacking = [at for at, present in enumerate(names) if column not in present]
        if lacking:
            having = next(part.source for part, present in zip(parts, names, strict=True) if column in present)
            files, others = (parts[at].source for at in lacking), (own[at] for at in lacking)
            partial[column] = PartialColumn(tuple(files), having, tuple(others))
    return partial


def own_names(columns: Iterable[str], renamed: Mapping[str, str] | None) -> tuple[str, ...]:
    """Columns under the names that they have in their file; ``renamed`` gives the new names of some."""
    original = {new: old for old, new in (renamed or {}).items()}
    return tuple(original.get(name, name) for name in columns)


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

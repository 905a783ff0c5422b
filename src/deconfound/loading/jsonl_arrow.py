"""JSON Lines with Arrow's parser, where its result is exact and its memory is bounded."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.loading.convert import MAX_EXACT_INTEGER
from deconfound.loading.files import BLOCK_BYTES, CHUNK_BYTES, MAX_BLOCK_BYTES
from deconfound.loading.input_limit import MAX_COLUMNS, max_cells
from deconfound.loading.jsonl_lines import Lines

STRING = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
KEY = re.compile(rb'"(%b)"\s*+:|"%b"' % (STRING, STRING))  # other strings are passed over as a whole, with group ""
MIN_KEY_BYTES = 5  # of an empty name and its value: "":1,
SAMPLE_LINES, SAMPLE_BYTES = 256, 1 << 20


def read_with_arrow(lines: Lines) -> pa.Table | None:
    """Read with Arrow; None where its result might differ from what was written, or need too much memory.

    Arrow fills every key that a line lacks, so that keys which differ from line to line make a table that grows with
    the square of the file. A short file cannot; a longer one is read with the keys of a sample of its lines, which is
    refused by Arrow at the first other key; its keys are then counted.
    """
    if not lines.whole or lines.longest >= MAX_BLOCK_BYTES or lines.too_deep():
        return None
    first = pa.schema([(name, pa.string()) for name in _text_keys(lines.line(0))])
    if _within_bounds(lines, len(lines.data) // MIN_KEY_BYTES):
        table = _parse(lines, lines.data, first, "infer")
    else:
        table = _read_with_sampled_keys(lines, first)
        if table is None and _keys_within_bounds(lines):
            table = _parse(lines, lines.data, first, "infer")
    if table is None:
        return None
    exact = table.num_rows == lines.count and not (_lost_integer_precision(table) or _has_times(table))
    return table if exact else None


def _parse(lines: Lines, data: bytes, schema: pa.Schema, other_keys: str) -> pa.Table | None:
    """Without a schema, Arrow reads text that looks like a date as a date."""
    from pyarrow import json as arrow_json

    reading = arrow_json.ReadOptions(block_size=max(BLOCK_BYTES, lines.longest + 2))
    parsing = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=other_keys)
    try:
        return arrow_json.read_json(pa.BufferReader(data), read_options=reading, parse_options=parsing)
    except MemoryError:
        raise
    except pa.ArrowException:
        return None


def _read_with_sampled_keys(lines: Lines, first: pa.Schema) -> pa.Table | None:
    """Read with keys and types of a sample; None where a line has another key, or a value of another type."""
    sample = _sample(lines)
    if not _within_bounds(lines, len(_keys(sample, 0, len(sample)))):
        return None
    table = _parse(lines, sample, first, "infer")
    if table is None:
        return None
    fields = [(field.name, pa.string() if pa.types.is_temporal(field.type) else field.type) for field in table.schema]
    return _parse(lines, lines.data, pa.schema(fields), "error")


def _sample(lines: Lines) -> bytes:
    """Lines from the whole file, at least the first."""
    sample, size = [], 0
    for row in np.unique(np.linspace(0, lines.count - 1, SAMPLE_LINES).astype(int)):
        sample.append(lines.line(int(row)))
        size += len(sample[-1])
        if size > SAMPLE_BYTES:
            break
    return b"\n".join(sample) + b"\n"


def _keys_within_bounds(lines: Lines) -> bool:
    """Count the different keys of the file, those of nested objects included, until they are too many."""
    keys: set[bytes] = set()
    borders = np.unique(np.searchsorted(lines.ends, np.arange(0, len(lines.data), CHUNK_BYTES)))
    for start, stop in pairwise([*borders, len(lines.ends)]):
        keys |= _keys(lines.data, int(lines.starts[start]), int(lines.ends[stop - 1]))
        if not _within_bounds(lines, len(keys)):
            return False
    return True


def _keys(data: bytes, start: int, end: int) -> set[bytes]:
    return set(KEY.findall(data, start, end)) - {b""}


def _within_bounds(lines: Lines, keys: int) -> bool:
    return keys <= MAX_COLUMNS and keys * lines.count <= max_cells()


def _text_keys(line: bytes) -> list[str]:
    """The keys whose values are text in a line; none if the line cannot be parsed, which is reported later."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [name for name, part in value.items() if isinstance(part, str)] if isinstance(value, dict) else []


def _lost_integer_precision(table: pa.Table) -> bool:
    """Integers beyond 64 bits arrive as floats: an identifier would lose its last digits."""
    floats = [column for column in table.columns if pa.types.is_floating(column.type)]
    return any(pc.any(pc.greater_equal(pc.abs(column), MAX_EXACT_INTEGER)).as_py() for column in floats)


def _has_times(table: pa.Table) -> bool:
    """JSON has no times: such a column was text that looks like one, in keys that the first line lacks."""
    return any(pa.types.is_temporal(column.type) for column in table.columns)

"""Long texts among the first rows that are read above every batch: their beginnings show the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.loading.convert import is_string_type
from deconfound.loading.decoded_size import decode_dictionary, decoded_bytes
from deconfound.loading.message_columns import JSON_STARTS
from deconfound.loading.raw import RawTable

MAX_EVIDENCE_BYTES = 1 << 22
MAX_LETTERS = 1 << 12  # of a text, where all texts together are longer than that
TEXTS = ("context", "output")


def shorten_evidence(
    evidence: RawTable,
    expected: pa.Table,
    columns: Mapping[str, str],
    read: Callable[[RawTable], pa.Table | None],
) -> tuple[RawTable, pa.Table]:
    """The rows with the beginnings of their texts, and how these are read; unchanged where anything else would change.

    No row is left out: which of day and month is first, or what a word means, may be shown by any of them. Texts that
    may be messages stay whole, and so do contexts with an id, which belongs to one text.
    """
    if decoded_bytes(evidence.arrow) <= MAX_EVIDENCE_BYTES:
        return evidence, expected
    arrow = evidence.arrow
    for name in TEXTS[1:] if "context_id" in columns else TEXTS:
        if columns.get(name) in arrow.column_names:
            at = arrow.column_names.index(columns[name])
            arrow = arrow.set_column(at, columns[name], _beginnings(arrow[columns[name]]))
    shorter = replace(evidence, arrow=arrow)
    found = read(shorter)
    if found is None or found.column_names != expected.column_names:
        return evidence, expected
    others = [name for name in expected.column_names if name not in (*TEXTS, "context_id")]
    if any(first_difference(found[name], expected[name]) is not None for name in others):
        return evidence, expected
    return shorter, found


def first_difference(values: pa.ChunkedArray, expected: pa.ChunkedArray) -> int | None:
    """The first row in which two columns differ; missing numbers are equal."""
    if pa.types.is_floating(expected.type):
        differ = ~np.isclose(values.to_numpy(), expected.to_numpy(), rtol=0.0, atol=0.0, equal_nan=True)
    else:
        differ = pc.not_equal(values, expected).to_numpy()
    return int(differ.argmax()) if differ.any() else None


def _beginnings(values: pa.ChunkedArray) -> pa.ChunkedArray:
    texts, kind = decode_dictionary(values)
    if not is_string_type(kind):
        return values
    first = pc.utf8_slice_codeunits(texts, 0, MAX_LETTERS)
    trimmed = pc.utf8_ltrim_whitespace(first)
    is_json = pc.starts_with(trimmed, JSON_STARTS[0])
    for start in JSON_STARTS[1:]:
        is_json = pc.or_(is_json, pc.starts_with(trimmed, start))
    return pc.if_else(is_json, texts, first)

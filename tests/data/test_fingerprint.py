"""Fingerprints: equal for equal rows in any order, different for any change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deconfound.data.fingerprint import DIGITS, table_fingerprint
from deconfound.data.row_order import content_order, take_rows

TABLE = pa.table(
    {
        "context_id": ["a", "b", "c", "d"],
        "model": ["ant", "bee", "ant", "bee"],
        "outcome": [0.0, 0.25, 0.5, 1.0],
        "note": ["", "ß", None, "ab"],
    }
)


def ordered(table: pa.Table) -> pa.Table:
    return take_rows(table, content_order(table))


def test_the_order_of_rows_columns_and_chunks_does_not_count():
    expected = table_fingerprint(ordered(TABLE))
    assert len(expected) == DIGITS
    shuffled = TABLE.take(pa.array([2, 0, 3, 1]))
    assert table_fingerprint(ordered(shuffled)) == expected
    assert table_fingerprint(ordered(TABLE).select(["outcome", "note", "model", "context_id"])) == expected
    pieces = pa.concat_tables([ordered(TABLE)[:1], ordered(TABLE)[1:]])
    assert table_fingerprint(pieces) == expected
    assert table_fingerprint(ordered(TABLE).append_column("draw", pa.array([0, 1, 2, 3]))) == expected


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("outcome", pa.array([0.0, 0.25, 0.5, np.nextafter(1.0, 0.0)])),
        ("note", pa.array(["", "ß", "", "ab"])),
        ("note", pa.array(["ß", "", None, "ab"])),
        ("context_id", pa.array(["a", "b", "cd", ""])),
    ],
)
def test_any_change_counts(name, column):
    changed = TABLE.set_column(TABLE.column_names.index(name), name, column)
    assert table_fingerprint(changed) != table_fingerprint(TABLE)


def test_the_name_of_a_column_counts():
    renamed = TABLE.rename_columns(["context_id", "model", "outcome", "label"])
    assert table_fingerprint(renamed) != table_fingerprint(TABLE)


def test_minus_zero_is_zero():
    zero, minus = (pa.table({"outcome": pa.array([number])}) for number in (0.0, -0.0))
    assert table_fingerprint(zero) == table_fingerprint(minus)

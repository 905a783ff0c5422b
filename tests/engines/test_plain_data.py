"""Data for workers survive the journey, and nothing but data is accepted."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deconfound.data import Log, RowNumbers
from deconfound.data.log_stream import slices_of
from deconfound.engines.plain_data import LENGTH, from_bytes, to_bytes
from deconfound.errors import Problem, UsageError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=9),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@given(PLAIN)
def test_plain_values_come_back_equal(value):
    found = from_bytes(to_bytes(value))
    assert found == value
    assert repr(found) == repr(value)  # 1, 1.0 and True are equal; -0.0 and 0.0 too


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.array([], dtype=np.uint64),
        np.array(3),
        np.array(["a", "bc"]),
        np.array([True, False]),
        np.array([math.nan, -0.0, math.inf]),
    ],
)
def test_arrays_come_back_with_type_shape_and_bits(array):
    found = from_bytes(to_bytes((array, array)))
    assert found[0] is found[1]
    assert found[0].dtype == array.dtype
    assert found[0].shape == array.shape
    assert found[0].tobytes() == np.ascontiguousarray(array).tobytes()


def test_numbers_of_numpy_sets_paths_and_nan_come_back():
    value = (np.float64(0.1), np.int32(7), frozenset({"a", "b"}), Path("a/b"), {1: {2}})
    found = from_bytes(to_bytes(value))
    assert found == value
    assert [type(item) for item in found[:2]] == [np.float64, np.int32]
    assert math.isnan(from_bytes(to_bytes(math.nan)))


def test_dataclasses_and_tables_come_back_and_shared_ones_are_written_once():
    table = pa.table({"context_id": ["a", "b"] * 500, "model": ["x"] * 1000, "outcome": np.linspace(0, 1, 1000)})
    log = Log(table, "log.csv", (), (), RowNumbers(numbers=np.arange(1000)))
    parts = slices_of(log, 100)
    content = to_bytes(parts)
    found = from_bytes(content)
    assert len(content) < 2 * table.nbytes + 10_000
    assert [part.name for part in found] == [part.name for part in parts]
    assert all(part.log is found[0].log for part in found)
    (batch,) = found[3].batches()
    assert batch.arrow.equals(table.slice(300, 100))


@dataclass(frozen=True)
class Foreign:
    number: int = 1


@pytest.mark.parametrize("value", [Foreign(), object(), print, np.array([object()]), [lambda: 1], 1j, Problem])
def test_anything_else_is_refused(value):
    with pytest.raises(UsageError, match=r"cannot be sent to workers. Write it to a Parquet file"):
        to_bytes(value)


@pytest.mark.parametrize(
    ("module", "name"),
    [("subprocess", "Popen"), ("tests.engines.test_plain_data", "Foreign"), ("deconfound.atomic", "write_text")],
)
def test_reading_makes_nothing_but_our_data(module, name):
    head = json.dumps(
        {"root": {"object": 0}, "objects": [{"class": [module, name], "fields": {}}], "sizes": []}
    ).encode()
    with pytest.raises(ValueError, match=r"is not of this package|is no data"):
        from_bytes(LENGTH.pack(len(head)) + head)


def test_damaged_content_is_an_error():
    content = to_bytes((np.arange(5.0), Problem("a", "b", "c")))
    assert from_bytes(content)[1] == Problem("a", "b", "c")
    for damaged in (content[:-1], content[:4], b"", content + b"x", content.replace(b'"Problem"', b'"Problen"')):
        with pytest.raises(ValueError, match=r"damaged|length|Expecting|char"):
            from_bytes(damaged)

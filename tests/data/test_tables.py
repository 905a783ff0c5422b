"""Canonical tables: required columns, types, text ids and row numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deconfound.data import Log, Replay, RowNumbers, text_ids
from deconfound.errors import DataError


def test_a_table_of_the_wrong_type_or_with_foreign_columns_is_refused():
    table = pa.table({"context_id": ["a"], "model": ["ant"], "outcome": [1], "mood": ["good"]})
    with pytest.raises(DataError) as caught:
        Log(table, "log")
    assert [problem.fix for problem in caught.value.problems] == ["Cast it to double.", "Drop it."]


def test_a_table_without_its_required_columns_is_refused():
    with pytest.raises(DataError, match='no column "draw"'):
        Replay(pa.table({"context_id": ["a"], "model": ["ant"]}), "replay")


def test_the_id_of_a_text_never_changes():
    """The digits are those of ``printf TEXT | b2sum -l 64``."""
    texts = pa.chunked_array([["a", "größe"], ["a"]])
    assert text_ids(texts).to_pylist() == ["40f89e395b66422f", "f4f8e155c9329ae9", "40f89e395b66422f"]
    assert text_ids(pa.chunked_array([], pa.string())).to_pylist() == []


def test_row_numbers_start_at_one_and_survive_two_filters():
    numbers = RowNumbers().filter(np.array([False, True, True])).filter(np.array([False, True]))
    assert numbers.number(0) == 3
    assert numbers.locate("log.csv", 0) == "log.csv row 3"

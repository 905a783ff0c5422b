"""A file of contexts, such as a target's."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deconfound.errors import DataError
from deconfound.loading import load_contexts


def test_contexts_are_read_by_text_id_or_features():
    assert load_contexts(pa.table({"prompt": ["a", "b"]})).column_names == ["context"]
    assert load_contexts(pa.table({"id": [1, 2]}))["context_id"].to_pylist() == ["1", "2"]
    table = load_contexts(pa.table({"context_id": ["a"], "feature_x": [1]}))
    assert table.schema.types == [pa.string(), pa.float64()]
    named = load_contexts(pa.table({"text": ["a"]}), columns={"context": "text", "outcome": "stars"})
    assert named.column_names == ["context"]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"model": ["ant"]}, "no column for the context"),
        ({"context": ["a", None]}, "row 2"),
        ({"context": ["a", " "]}, "context is blank"),
        ({"context_id": ["a"], "feature_x": [float("nan")]}, "feature_x has no value"),
    ],
)
def test_faulty_contexts_are_refused(table, problem):
    with pytest.raises(DataError, match=problem):
        load_contexts(pa.table(table))

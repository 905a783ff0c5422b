"""Columns of number lists become features: nested, fixed in size, as JSON in a text, in every table."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from deconfound.loading import load
from tests.support.studies import Good, good_with, refused, tables, write_study

EVERY = ("log", "experiment", "replay")


def vector(row):
    return [float(len(row["output"])), 0.5, -1.0]


def with_lists(name="embedding", shape=list, roles=EVERY):
    return good_with(**dict.fromkeys(roles, lambda row: row.update({name: shape(vector(row))})))


def expect_features(study, stem):
    assert study.feature_names == tuple(f"feature_{stem}_{at}" for at in range(3))
    outputs = study.log.arrow["output"].to_pylist()
    np.testing.assert_array_equal(study.log.arrow[f"feature_{stem}_0"].to_numpy(), [len(text) for text in outputs])
    np.testing.assert_array_equal(study.log.arrow[f"feature_{stem}_2"].to_numpy(), -1.0)


@pytest.mark.parametrize(("name", "stem"), [("embedding", "embedding"), ("Vector", "vector"), ("feature_e", "e")])
@pytest.mark.parametrize("shape", [list, json.dumps])
def test_lists_become_features(name, stem, shape):
    expect_features(load(**tables(with_lists(name, shape))), stem)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_lists_are_read_from_files(tmp_path, ending):
    good = with_lists(shape=json.dumps if ending == "csv" else list)
    expect_features(load(**write_study(tmp_path, good, ending)), "embedding")


@pytest.mark.parametrize("kind", [pa.list_(pa.float32(), 3), pa.large_list(pa.float32()), pa.list_(pa.int16())])
def test_every_arrow_type_of_lists_is_read(kind):
    given = tables(with_lists())
    whole = pa.types.is_integer(kind.value_type)
    for role, table in given.items():
        values = [[int(x) if whole else x for x in row] for row in table["embedding"].to_pylist()]
        given[role] = table.set_column(table.column_names.index("embedding"), "embedding", pa.array(values, kind))
    assert len(load(**given).feature_names) == 3


def test_an_embedding_that_a_table_lacks_is_not_used():
    study = load(**tables(with_lists(roles=("log", "experiment"))))
    assert study.feature_names == ()
    assert "embedding" in study.log.unused_columns


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ([1.0, 2.0], "row 3: embedding [1.0, 2.0] is not a list of 3 numbers"),
        (None, "row 3: embedding None is not a list of 3 numbers"),
        ([1.0, None, 2.0], "is not a list of 3 numbers"),
    ],
)
def test_a_list_of_another_length_is_refused_with_its_row(cell, message):
    good = with_lists()
    good.log[2]["embedding"] = cell
    assert message in refused(**tables(good))


@pytest.mark.parametrize("text", ["[1, 2", '["a", "b", "c"]', "[1, true, 3]", "[" * 5000, "[1e999, 1, 2]"])
def test_a_text_that_is_no_list_of_numbers_is_refused(text):
    good = with_lists(shape=json.dumps)
    good.log[2]["embedding"] = text
    assert refused(**tables(good))


def test_a_list_beside_a_column_of_the_same_name_is_refused():
    good = with_lists()
    for row in good.all_rows():
        row["feature_embedding_1"] = 0.0
    assert 'there is already a column "feature_embedding_1"' in refused(**tables(good))


def test_other_lists_are_left_alone():
    study = load(**tables(with_lists("token_logprobs")))
    assert "token_logprobs" in study.log.unused_columns
    assert study.feature_names == ()


def test_lists_of_several_chunks_keep_their_rows():
    given = tables(with_lists())
    given["log"] = pa.concat_tables([given["log"][:5], given["log"][7:], given["log"][5:7]])
    study = load(**given)
    outputs = study.log.arrow["output"].to_pylist()
    assert study.log.arrow["feature_embedding_0"].to_pylist() == [len(text) for text in outputs]
    assert len(Good().log) == len(study.log)


def test_an_ignored_embedding_is_not_read_even_if_it_is_damaged():
    good = with_lists()
    good.log[2]["embedding"] = [1.0]
    study = load(**tables(good), ignore="embedding")
    assert study.feature_names == ()
    assert "embedding" in study.log.unused_columns

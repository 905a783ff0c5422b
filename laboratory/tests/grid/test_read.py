"""Grids are read completely and in a fixed order, from every file format."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deconfound_bench.grid import read_grid

from laboratory.tests.support.grids import COMPONENTS, CONTEXT_COLUMNS, KINDS, make_rows, write_grid, written


def test_a_grid_equals_a_naive_reading_of_its_rows(folder, rows):
    """Every output is looked up by hand, from rows in random order."""
    contexts, outputs = rows
    rng = np.random.default_rng(1)
    written(folder, ([contexts[i] for i in rng.permutation(12)], [outputs[i] for i in rng.permutation(60)]))
    grid = read_grid(folder)
    assert grid.name == "small"
    assert list(grid.context_ids) == sorted(row["context_id"] for row in contexts)
    assert list(grid.models) == sorted({row["model"] for row in outputs})
    by_cell = {(row["context_id"], row["model"]): row for row in outputs}
    by_id = {row["context_id"]: row for row in contexts}
    for i, context_id in enumerate(grid.context_ids):
        assert grid.contexts[i] == by_id[context_id]["context"]
        assert grid.context_columns["reference"][i] == by_id[context_id]["reference"]
        for j, model in enumerate(grid.models):
            row = by_cell[context_id, model]
            assert grid.outputs[i][j] == row["output"]
            assert {name: values[i, j] for name, values in grid.components.items()} == {
                name: row[name] for name in COMPONENTS["summarization"]
            }
    assert grid.omissions == grid.notes == ()


@pytest.mark.parametrize("kind", KINDS)
def test_components_are_floats_and_other_context_columns_are_text_in_every_kind_of_grid(folder, kind):
    write_grid(folder, contexts=6, models=3, kind=kind)
    grid = read_grid(folder, required=sorted(COMPONENTS[kind]))
    assert set(grid.components) == COMPONENTS[kind]
    assert all(values.dtype == np.float64 and values.shape == (6, 3) for values in grid.components.values())
    assert set(grid.context_columns) == set(CONTEXT_COLUMNS[kind]) - {"context_id", "context"}
    assert all(type(text) is str for line in grid.outputs for text in line)
    assert all(type(text) is str for texts in grid.context_columns.values() for text in texts)


def test_a_missing_value_of_another_context_column_is_an_empty_text(folder, rows):
    rows[0][2]["reference"] = None
    assert read_grid(written(folder, rows)).context_columns["reference"][2] == ""


def test_unusable_columns_are_omitted_with_one_sentence_each(folder, rows):
    for row in rows[0]:
        row |= {"length": 7, "tags": ["a"], "nothing": None}
    for row in rows[1]:
        row |= {"remark": "well done", "when": datetime.date(2024, 1, 2), "blank": None}
    grid = read_grid(written(folder, rows))
    assert set(grid.context_columns) == {"reference"}
    assert set(grid.components) == COMPONENTS["summarization"]
    assert grid.omissions == (
        'omitted column "length" of small/contexts.parquet: it is not text',
        'omitted column "nothing" of small/contexts.parquet: it is empty',
        'omitted column "tags" of small/contexts.parquet: it is not text',
        'omitted column "blank" of small/outputs.parquet: it is empty',
        'omitted column "remark" of small/outputs.parquet: it is not numeric',
        'omitted column "when" of small/outputs.parquet: it is not numeric',
    )


def test_a_context_without_outputs_is_omitted_with_a_sentence(folder, rows):
    contexts, outputs = rows
    grid = read_grid(written(folder, (contexts, [row for row in outputs if row["context_id"] != "art-004"])))
    assert "art-004" not in grid.context_ids
    assert len(grid.contexts) == len(grid.outputs) == 11
    assert grid.contexts[4] == contexts[5]["context"]
    assert grid.omissions == ("omitted 1 context without any output: art-004",)


def test_empty_outputs_are_used_and_noted(folder, rows):
    rows[1][0]["output"], rows[1][7]["output"] = "", " \n"
    grid = read_grid(written(folder, rows))
    assert grid.outputs[0][grid.models.index("Lead-3 (ext)")] == ""
    assert grid.omissions == ()
    assert grid.notes == ("2 empty outputs (Bottom-Up: 1, Lead-3 (ext): 1)",)


def test_contexts_with_equal_text_are_used_and_noted(folder, rows):
    rows[0][5]["context"] = rows[0][2]["context"]
    grid = read_grid(written(folder, rows))
    assert len(grid.contexts) == 12
    assert grid.notes[0].startswith("1 context with the same text as another one")


def test_a_component_that_is_not_required_may_have_gaps(folder, rows):
    rows[1][0]["clarity"] = None
    grid = read_grid(written(folder, rows), required=["coverage"])
    assert np.isnan(grid.components["clarity"]).sum() == 1


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_same_grid(tmp_path, kind, suffix):
    rows = make_rows(kind=kind)
    parquet, other = (read_grid(written(tmp_path / end / "g", rows, end)) for end in ("parquet", suffix))
    assert other.digest == parquet.digest
    assert other.outputs == parquet.outputs


def test_dictionary_columns_and_numbered_contexts_are_read(folder, rows):
    numbers = {row["context_id"]: number for number, row in enumerate(rows[0])}
    folder.mkdir()
    for role, table in zip(("contexts", "outputs"), rows, strict=True):
        columns = {name: pa.array([row[name] for row in table]) for name in table[0]}
        coded = {n: c.dictionary_encode() if pa.types.is_string(c.type) else c for n, c in columns.items()}
        coded["context_id"] = pa.array([numbers[row["context_id"]] for row in table])
        pq.write_table(pa.table(coded), folder / f"{role}.parquet")
    grid = read_grid(folder)
    assert grid.context_ids == tuple(sorted(str(number) for number in range(12)))
    assert grid.context_columns["reference"][grid.context_ids.index("7")] == rows[0][7]["reference"]


def test_a_very_long_output_is_not_truncated(folder, rows):
    rows[1][3]["output"] = "é" * 200_000
    assert max(len(text) for line in read_grid(written(folder, rows)).outputs for text in line) == 200_000

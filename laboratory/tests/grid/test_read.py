"""Grids are read completely and in a fixed order, or rejected with a list of everything that is wrong."""

from __future__ import annotations

import datetime
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deconfound_bench.grid import Grid, read_grid, with_digest

from deconfound.errors import DataError, UsageError
from laboratory.tests.support.grids import CONTEXT_COLUMNS, COUNTS, make_rows, write_grid, write_rows

REAL = Path(__file__).resolve().parents[4] / "shared" / "data"
KINDS = tuple(CONTEXT_COLUMNS)
COMPONENTS = {
    "summarization": {"faithfulness", "coverage", "clarity", "conciseness", "unsupported_claims"},
    "coding": {"has_patch", "resolved", *COUNTS},
    "instructions": {"preference"},
}


@pytest.fixture
def rows():
    """Contexts and outputs of a valid grid, to be damaged."""
    return make_rows()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "small"


def written(folder, rows, suffix="parquet"):
    write_rows(folder, *rows, suffix)
    return folder


def rejected(folder, required=(), bounds=None):
    with pytest.raises(DataError) as caught:
        read_grid(folder, required, bounds)
    assert all(problem.where and problem.what and problem.fix for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


# --- contents ---


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


# --- formats ---


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


# --- digest ---


def test_the_digest_ignores_the_order_of_rows_and_columns(tmp_path, rows):
    contexts, outputs = rows
    base = read_grid(written(tmp_path / "a" / "g", rows))
    reordered = [dict(reversed(row.items())) for row in reversed(outputs)]
    assert read_grid(written(tmp_path / "b" / "g", (contexts[::-1], reordered))).digest == base.digest
    assert with_digest(replace(base, components=dict(reversed(base.components.items())))).digest == base.digest
    assert re.fullmatch("[0-9a-f]{64}", base.digest)


def first(texts, new):
    return (new, *texts[1:])


CHANGES = {
    "name": lambda grid: {"name": grid.name + "s"},
    "context id": lambda grid: {"context_ids": first(grid.context_ids, "art")},
    "context": lambda grid: {"contexts": first(grid.contexts, grid.contexts[0] + " ")},
    "model": lambda grid: {"models": first(grid.models, "A")},
    "output": lambda grid: {"outputs": (first(grid.outputs[0], "A"), *grid.outputs[1:])},
    "component": lambda grid: {"components": {**grid.components, "clarity": grid.components["clarity"] + 1e-12}},
    "component name": lambda grid: {"components": {"A" + k: v for k, v in grid.components.items()}},
    "context column": lambda grid: {"context_columns": {"reference": first(grid.context_columns["reference"], "")}},
    "context column name": lambda grid: {"context_columns": {"references": grid.context_columns["reference"]}},
    "border of two texts": lambda grid: {
        "contexts": (grid.contexts[0] + grid.contexts[1][:1], grid.contexts[1][1:], *grid.contexts[2:])
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_depends_on(change, folder, rows):
    grid = read_grid(written(folder, rows))
    assert with_digest(grid).digest == grid.digest
    assert with_digest(replace(grid, **CHANGES[change](grid))).digest != grid.digest


def test_zeros_and_nans_have_equal_digests_whatever_their_bits(folder, rows):
    grid = read_grid(written(folder, rows))
    values = np.zeros((12, 5))
    values[0, 0] = np.nan
    twin = -values
    other = np.asfortranarray(np.where(np.isnan(twin), -np.nan, twin))
    assert (
        with_digest(replace(grid, components={"c": values})).digest
        == with_digest(replace(grid, components={"c": other})).digest
    )


# --- rejected grids ---


def test_a_missing_folder_and_a_file_in_its_place_have_different_messages(tmp_path):
    assert "there is no such folder" in rejected(tmp_path / "nowhere")[0]
    (tmp_path / "file").write_text("x")
    assert "this is a file, not a folder" in rejected(tmp_path / "file")[0]


def test_missing_files_are_both_reported_with_the_contents_of_the_folder(folder):
    folder.mkdir()
    (folder / "output.parquet").write_text("x")
    problems = rejected(folder)
    assert [
        re.search(r"no file (\w+)\.parquet \(the folder contains output.parquet\)", text)[1] for text in problems
    ] == [
        "contexts",
        "outputs",
    ]


def test_two_files_for_one_table_are_rejected(folder, rows):
    written(folder, rows)
    (folder / "outputs.csv").write_text("x")
    assert "outputs.parquet, outputs.csv could all be the outputs" in rejected(folder)[0]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_file_is_rejected_by_name_and_the_other_is_still_checked(folder, rows, share):
    del rows[0][0]["context"]
    for row in rows[0][1:]:
        del row["context"]
    path = written(folder, rows) / "outputs.parquet"
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    problems = rejected(folder)
    assert len(problems) == 2
    assert problems[0].startswith("small/outputs.parquet: ")
    assert re.search("empty|damaged or cut off", problems[0])
    assert problems[1].startswith('small/contexts.parquet: there is no column "context"')


def test_missing_columns_are_all_reported_with_suggestions(folder, rows):
    contexts = [{"context_id": row["context_id"], "text": row["context"]} for row in rows[0]]
    outputs = [{"context_id": row["context_id"], "Model": row["model"], "clarity": 1.0} for row in rows[1]]
    problems = rejected(written(folder, (contexts, outputs)))
    assert len(problems) == 3
    assert 'no column "context"; the columns are context_id, text' in problems[0]
    assert 'no column "model"; the columns are context_id, Model, clarity; did you mean "Model"' in problems[1]
    assert 'no column "output"' in problems[2]


def blank_context(rows):
    rows[0][3]["context"] = "  \n"


def null_context_id(rows):
    rows[0][3]["context_id"] = None


def null_output(rows):
    rows[1][8]["output"] = None


def blank_model(rows):
    rows[1][8]["model"] = ""


def repeated_context(rows):
    rows[0].append(dict(rows[0][3]))


def unknown_context(rows):
    rows[1].append({**rows[1][0], "context_id": "art-099"})


def doubled_cell(rows):
    rows[1].append({**rows[1][8], "output": "once more"})


def missing_cells(rows):
    rows[1][:] = [row for at, row in enumerate(rows[1]) if at not in (8, 10, 13)]


def few_contexts(rows):
    rows[0][:], rows[1][:] = rows[0][:4], rows[1][:20]


def one_model(rows):
    rows[1][:] = rows[1][::5]


FAULTS = {
    blank_context: "small/contexts.parquet row 4: context is blank",
    null_context_id: "small/contexts.parquet row 4: context_id has no value",
    null_output: "small/outputs.parquet row 9: output has no value",
    blank_model: "small/outputs.parquet row 9: model is blank",
    repeated_context: 'small/contexts.parquet row 13: context_id "art-003" repeats an earlier row',
    unknown_context: 'small/outputs.parquet row 61: context_id "art-099" is not among the contexts',
    doubled_cell: 'small/outputs.parquet row 61: context "art-001" has another output of model "TRAE+Seed"',
    missing_cells: 'small/outputs.parquet: context "art-001" has no output of model "TRAE+Seed" '
    "(missing: 3 of 60 outputs; Lead-3 (ext): 1, TRAE+Seed: 2)",
    few_contexts: "small/contexts.parquet: only 4 contexts with outputs",
    one_model: 'small/outputs.parquet: the only model is "Lead-3 (ext)"',
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_one_fault_gives_one_problem_with_place_and_description(fault, folder, rows):
    fault(rows)
    problems = rejected(written(folder, rows))
    assert len(problems) == 1
    assert problems[0].startswith(FAULTS[fault])


def test_many_faults_are_reported_at_once_with_one_short_line_per_kind(folder, rows):
    missing_cells(rows)
    rows[1].extend({**row, "context_id": f"x{at}"} for at, row in enumerate(rows[1][:30]))
    rows[1].extend(dict(row) for row in rows[1][:20])
    rows[0].append(dict(rows[0][0]))
    for row in rows[1]:
        row["clarity"] = 7.0
    problems = rejected(written(folder, rows), ["clarity", "charm"], {"clarity": (0, 1)})
    kinds = ("repeats", "outside [0, 1]", 'no component "charm"', "not among", "another output", "no output of")
    assert [kind for kind in kinds if any(kind in text for text in problems)] == list(kinds)
    assert len(problems) == len(kinds)
    assert max(map(len, problems)) < 400
    assert "(20 rows: 88, 89, 90, …)" in next(text for text in problems if "another output" in text)


def test_a_missing_component_is_named_with_the_available_ones(folder, rows):
    (problem,) = rejected(written(folder, rows), required=["claritty"])
    assert 'no component "claritty"; the grid has clarity, conciseness, coverage, faithfulness, unsupp' in problem
    assert 'did you mean "clarity"' in problem


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "row 1: clarity has no value"),
        (np.nan, "row 1: clarity has no value"),
        (np.inf, "row 1: clarity inf is infinite"),
        (-0.1, "row 1: clarity -0.1 is outside [0, 1]"),
        (1.1, "row 1: clarity 1.1 is outside [0, 1]"),
    ],
)
def test_a_required_component_must_be_finite_and_in_range(folder, rows, value, message):
    rows[1][0]["clarity"] = value
    written(folder, rows)
    (problem,) = rejected(folder, ["clarity"], {"clarity": (0.0, 1.0)})
    assert message in problem
    assert isinstance(read_grid(folder, ["coverage"], {"clarity": (0.0, 1.0)}), Grid)


def test_the_ends_of_a_range_are_allowed(folder, rows):
    rows[1][0]["clarity"], rows[1][1]["clarity"] = 0.0, 1.0
    assert isinstance(read_grid(written(folder, rows), ["clarity"], {"clarity": (0.0, 1.0)}), Grid)


def test_a_required_component_must_be_numeric(folder, rows):
    for row in rows[1]:
        row["clarity"] = "good"
    (problem,) = rejected(written(folder, rows), ["clarity"])
    assert 'clarity "good" is not a number (60 rows: 1, 2, 3, …)' in problem


def test_a_reversed_range_is_a_usage_error(folder, rows):
    with pytest.raises(UsageError, match='range of "clarity"'):
        read_grid(written(folder, rows), ["clarity"], {"clarity": (1.0, 0.0)})


# --- generated grids and real ones ---


@pytest.mark.parametrize("kind", KINDS)
def test_generated_grids_are_reproducible_and_grow_without_changing(tmp_path, kind):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_grid(tmp_path / name, seed=seed, kind=kind)
    files = {
        name: [(tmp_path / name / f"{role}.parquet").read_bytes() for role in ("contexts", "outputs")] for name in "abc"
    }
    assert files["a"] == files["b"]
    assert files["a"] != files["c"]
    small, large = make_rows(5, 3, kind=kind), make_rows(9, 3, kind=kind)
    assert large[0][:5] == small[0]
    assert large[1][:15] == small[1]


@pytest.mark.parametrize(
    ("kind", "component", "word", "sign"),
    [
        ("summarization", "faithfulness", "promised", -1),
        ("summarization", "coverage", "Residents", 1),
        ("summarization", "clarity", "also also", -1),
        ("summarization", "conciseness", "goes without saying", -1),
        ("coding", "resolved", "except", -1),
        ("instructions", "preference", "good tools", 1),
    ],
)
def test_words_of_generated_outputs_correlate_with_their_components(tmp_path, kind, component, word, sign):
    write_grid(tmp_path, 60, 10, kind=kind)
    grid = read_grid(tmp_path)
    occurs = np.array([[word in text for text in line] for line in grid.outputs])
    assert sign * np.corrcoef(occurs.ravel(), grid.components[component].ravel())[0, 1] > 0.25


def test_generated_patches_count_their_lines_correctly_and_some_are_empty(tmp_path):
    """The line counts in hunk headers are those that follow, as tools that apply patches require."""
    write_grid(tmp_path, 60, 10, kind="coding")
    grid = read_grid(tmp_path)
    patches = [text for line in grid.outputs for text in line]
    assert 0 < patches.count("") < 100
    np.testing.assert_array_equal(grid.components["has_patch"].ravel(), [text != "" for text in patches])
    np.testing.assert_array_equal(grid.components["n_files"].ravel(), [text.count("diff --git") for text in patches])
    for patch in {*patches, *grid.context_columns["gold_patch"]} - {""}:
        for old, new, body in re.findall(
            r"^@@ -\d+,(\d+) \+\d+,(\d+) @@[^\n]*\n((?:[ +-][^\n]*\n)+?)(?=diff|\Z)", patch, re.M
        ):
            signs = [line[0] for line in body.splitlines()]
            assert (int(old), int(new)) == (len(signs) - signs.count("+"), len(signs) - signs.count("-"))


SHAPES = {"summeval": (100, 16), "polytope": (150, 8), "swebench_verified": (500, 14), "alpacaeval": (400, 20)}
KIND_OF = {"polytope": "summarization", "swebench_verified": "coding", "alpacaeval": "instructions"}


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real grids is not on this machine")
@pytest.mark.parametrize("name", SHAPES)
def test_real_grids_are_read_completely_and_quickly(name):
    start = time.perf_counter()
    grid = read_grid(REAL / name)
    seconds = time.perf_counter() - start
    assert (len(grid.context_ids), len(grid.models)) == SHAPES[name]
    assert grid.omissions == (
        ('omitted column "reference" of polytope/contexts.parquet: it is empty',) if name == "polytope" else ()
    )
    assert seconds < 10, "a second is typical; more than ten is a defect, not a busy machine"


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real grids is not on this machine")
@pytest.mark.parametrize("name", KIND_OF)
def test_generated_grids_have_the_columns_of_real_ones(tmp_path, name):
    write_grid(tmp_path, kind=KIND_OF[name])
    for role in ("contexts", "outputs"):
        real, generated = (pq.read_schema(folder / f"{role}.parquet") for folder in (REAL / name, tmp_path))
        types = dict(zip(real.names, real.types, strict=True))
        if name == "polytope" and role == "contexts":
            types["reference"] = pa.large_string()  # empty there; summeval's are text
        assert dict(zip(generated.names, generated.types, strict=True)) == types
        assert generated.names == real.names

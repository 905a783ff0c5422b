"""An invalid grid is rejected with a list of everything that is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
from deconfound_bench.grid import Grid, read_grid

from deconfound.errors import DataError, UsageError
from laboratory.tests.support.grids import written


def rejected(folder, required=(), bounds=None):
    with pytest.raises(DataError) as caught:
        read_grid(folder, required, bounds)
    assert all(problem.where and problem.what and problem.fix for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


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
    ] == ["contexts", "outputs"]


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

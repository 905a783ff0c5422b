"""`deconfound recommend`: recommendations from a saved result, printed and written."""

from __future__ import annotations

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.demo import make_demo
from tests.support.commands import SMALL, evaluate_command


def test_a_saved_result_recommends_a_model_for_every_new_context(saved_result, tmp_path, capsys):
    new = make_demo(2, sizes=SMALL)
    pq.write_table(new.replay, tmp_path / "new.parquet")
    output = tmp_path / "out.csv"
    command = ["recommend", str(saved_result), "--replay", str(tmp_path / "new.parquet"), "-o", str(output)]
    assert main(command) == 0
    contexts = set(new.replay["context_id"].to_pylist())
    assert f"{len(contexts)} contexts" in capsys.readouterr().out
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["context_id"] for row in rows} == contexts
    assert {row["verdict"] for row in rows} <= {"clear", "cannot tell"}


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".parquet"])
def test_the_file_extension_decides_the_format(saved_result, study_folder, tmp_path, ending):
    output = tmp_path / f"out{ending}"
    replay = str(study_folder / "replay.parquet")
    assert main(["recommend", str(saved_result), "--replay", replay, "-o", str(output)]) == 0
    read = {
        ".json": lambda: json.loads(output.read_text()),
        ".jsonl": lambda: [json.loads(line) for line in output.read_text().splitlines()],
        ".parquet": lambda: pq.read_table(output).to_pylist(),
    }
    assert {row["model"] for row in read[ending]()} <= {"aspen", "birch", "cedar", "fir", "maple", "oak"}


def test_a_context_id_that_looks_like_a_formula_is_escaped_in_csv(saved_result, tmp_path):
    replay = make_demo(1, sizes=SMALL).replay
    ids = pa.array([f"=cmd|' /C calc'!A0{name}" for name in replay["context_id"].to_pylist()])
    hostile = replay.set_column(replay.column_names.index("context_id"), "context_id", ids)
    pq.write_table(hostile, tmp_path / "replay.parquet")
    output = tmp_path / "out.csv"
    command = ["recommend", str(saved_result), "--replay", str(tmp_path / "replay.parquet"), "-o", str(output)]
    assert main(command) == 0
    with output.open(newline="") as file:
        assert all(row["context_id"].startswith("'=") for row in csv.DictReader(file))


def test_a_missing_result_folder_ends_with_code_1_and_the_command_that_writes_one(tmp_path, study_folder, capsys):
    assert main(["recommend", str(tmp_path / "none"), "--replay", str(study_folder / "replay.parquet")]) == 1
    assert "deconfound evaluate" in capsys.readouterr().err


def test_a_report_instead_of_a_folder_is_refused_with_the_command_that_writes_one(tmp_path, study_folder, capsys):
    report = tmp_path / "report.html"
    report.write_text("<p>")
    assert main(["recommend", str(report), "--replay", str(study_folder / "replay.parquet")]) == 1
    error = capsys.readouterr().err
    assert "report.html: this is a file, and a saved result is a folder" in error
    assert "deconfound evaluate" in error
    assert "NotADirectoryError" not in error


def test_the_file_is_named_on_stderr_and_an_unknown_format_is_refused_first(saved_result, tmp_path, capsys):
    replay = str(saved_result.parent / "none.parquet")
    assert main(["recommend", str(saved_result), "--replay", replay, "-o", str(tmp_path / "out.xlsx")]) == 2
    assert "-o takes a file ending in" in capsys.readouterr().err


def test_the_column_names_of_the_study_are_used_again(study_folder, tmp_path, capsys):
    """Also where the new table has the canonical name, which the saved mapping must not hide."""
    for role in ("log", "experiment", "replay"):
        renamed = pq.read_table(study_folder / f"{role}.parquet")
        names = ["text of it" if name == "output" else name for name in renamed.column_names]
        pq.write_table(renamed.rename_columns(names), tmp_path / f"{role}.parquet")
    saved = tmp_path / "saved"
    assert main(evaluate_command(tmp_path, "--map", "output=text of it", "--refits", "2", "-o", str(saved))) == 0
    output = tmp_path / "out.csv"
    capsys.readouterr()
    assert main(["recommend", str(saved), "--replay", str(tmp_path / "replay.parquet"), "-o", str(output)]) == 0
    assert capsys.readouterr().err == f"Written to {output}.\n"
    assert main(["recommend", str(saved), "--replay", str(study_folder / "replay.parquet")]) == 0

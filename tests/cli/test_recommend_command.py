"""`deconfound recommend`: recommendations from a saved result, printed and written."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.demo import make_demo
from deconfound.findings import Notice
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


def write_prefixed(study_folder, folder, *, roles=("log", "experiment", "replay")):
    """The study with the provider in front of every model, and columns under other names."""
    for role in ("log", "experiment", "replay"):
        table = pq.read_table(study_folder / f"{role}.parquet")
        if role in roles:
            names = pa.array([f"acme/{name}" for name in table["model"].to_pylist()])
            table = table.set_column(table.column_names.index("model"), "model", names)
        pq.write_table(table, folder / f"{role}.parquet")


MODELS = ("aspen", "birch", "cedar", "fir", "maple", "oak")
RENAMED = [word for name in MODELS for word in ("--rename-model", f"acme/{name}={name}")]


def test_renamed_models_and_ignored_columns_of_the_study_are_used_again(study_folder, tmp_path, capsys):
    """Also where only the log has the other names, and where new tables have the new ones."""
    write_prefixed(study_folder, tmp_path)
    saved = tmp_path / "saved"
    options = ["--ignore", "replay.draw", "--refits", "2", "-o", str(saved)]
    assert main(evaluate_command(tmp_path, *RENAMED, *options)) == 0
    capsys.readouterr()
    for folder in (tmp_path, study_folder):
        assert main(["recommend", str(saved), "--replay", str(folder / "replay.parquet"), "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert {row["model"] for row in rows} <= set(MODELS)
        assert len(rows) == len(pq.read_table(study_folder / "replay.parquet")["context_id"].unique())
    replay = pq.read_table(study_folder / "replay.parquet")
    broken = replay.set_column(replay.column_names.index("draw"), "draw", pa.array(["x"] * len(replay)))
    pq.write_table(broken, tmp_path / "broken.parquet")
    assert main(["recommend", str(saved), "--replay", str(tmp_path / "broken.parquet")]) == 0


def test_a_new_name_goes_before_that_of_the_study(study_folder, tmp_path, capsys):
    write_prefixed(study_folder, tmp_path, roles=("log",))
    saved = tmp_path / "saved"
    assert main(evaluate_command(tmp_path, *RENAMED, "--refits", "2", "-o", str(saved))) == 0
    replay = pq.read_table(study_folder / "replay.parquet")
    names = ["acme/oak" if name == "cedar" else name for name in replay["model"].to_pylist()]
    pq.write_table(
        replay.set_column(replay.column_names.index("model"), "model", pa.array(names)), tmp_path / "n.parquet"
    )
    command = ["recommend", str(saved), "--replay", str(tmp_path / "n.parquet")]
    capsys.readouterr()
    assert main(command) == 1
    assert "has no output of cedar" in capsys.readouterr().err
    assert main([*command, "--rename-model", "acme/oak=cedar"]) == 0


def test_python_remembers_the_names_too(study_folder, tmp_path):
    write_prefixed(study_folder, tmp_path)
    tables = {role: tmp_path / f"{role}.parquet" for role in ("log", "experiment", "replay")}
    study = dc.load(**tables, rename_models={f"acme/{name}": name for name in MODELS})
    options = dc.EvaluationOptions(refits=2)
    result = dc.evaluate(study, family="exp-only", options=options)
    expected = result.recommend(tables["replay"])
    result.save(tmp_path / "saved")
    assert dc.Result.load(tmp_path / "saved").recommend(tables["replay"]) == expected


@pytest.mark.parametrize("given", ["{0}/new", "{0}/new/*.csv", ("{0}/new/a.csv", "{0}/new/b.csv")])
def test_new_contexts_may_be_in_several_files(saved_result, study_folder, tmp_path, given, capsys):
    replay = pq.read_table(study_folder / "replay.parquet")
    (tmp_path / "new").mkdir()
    half = len(replay) // 2
    for name, part in (("a", replay[:half]), ("b", replay[half:].rename_columns(_as_prompt(replay)))):
        pacsv.write_csv(part, tmp_path / "new" / f"{name}.csv")
    paths = [one.format(tmp_path) for one in ([given] if isinstance(given, str) else given)]
    outputs = []
    for files in ([str(study_folder / "replay.parquet")], paths):
        assert main(["recommend", str(saved_result), "--json", "--replay", *files]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0] == outputs[1]
    command = ["recommend", str(saved_result), "--replay", *paths, "-o", str(tmp_path / "new" / "a.csv"), "--overwrite"]
    assert main(command) == 2
    assert "input" in capsys.readouterr().err


def _as_prompt(table):
    return ["prompt" if name == "context" else name for name in table.column_names]


def test_a_failed_check_of_the_saved_result_is_named(saved_result, study_folder, tmp_path, capsys):
    result = dc.Result.load(saved_result)
    failed = dc.Finding("replay fidelity", "fail", Notice("Outputs differ."), "A2")
    replace(result, findings=(*result.findings, failed)).save(tmp_path / "failed")
    command = ["recommend", str(tmp_path / "failed"), "--replay", str(study_folder / "replay.parquet")]
    assert main([*command, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)
    assert "A2" in err
    assert "Not reliable while a check fails" in err

"""--assignment of `evaluate`, `check` and `plan`, on the command line and in a study file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.cli import main
from tests.support.assigned import SHARES, assigned_tables, manifest

FAST = ("--family", "exp-only", "--refits", "2", "-q")
TABLES = [f"--{role}={role}.parquet" for role in ("log", "experiment", "replay")]
STUDY = 'log = "log.parquet"\nexperiment = "experiment.parquet"\nreplay = "replay.parquet"\n'


def other_models(rows):
    for row in rows[:20]:
        row["model"] = "bee" if row["model"] != "bee" else "ant"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(manifest(unit="user"))
    return tmp_path


def write(declared, **options):
    for role, table in assigned_tables(declared, **options).items():
        pq.write_table(table, f"{role}.parquet")
    Path("m.json").write_text(declared.to_json(), encoding="utf-8")


def test_check_reports_the_exact_comparison(capsys):
    assert main(["check", *TABLES, "--assignment", "m.json", "-q"]) in (0, 3)
    assert "A1 assignment as drawn: Every one of 120 rows has the model" in " ".join(capsys.readouterr().out.split())


def test_rows_that_were_not_drawn_fail_the_check(capsys):
    write(manifest(unit="user"), change=other_models)
    assert main(["check", *TABLES, "--assignment", "m.json", "-q", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    (finding,) = [each for each in document["findings"] if each["check"] == "assignment as drawn"]
    assert finding["details"]["other_model"] == 20
    assert finding["verdict"] == "fail"


def test_evaluate_gives_what_propensities_in_the_table_give(capsys):
    own = pq.read_table("experiment.parquet")
    declared = own.append_column("propensity", [[SHARES[model] for model in own["model"].to_pylist()]])
    for name, value in SHARES.items():
        declared = declared.append_column(f"propensity_{name}", [[value] * own.num_rows])
    pq.write_table(declared, "with_propensities.parquet")
    results = []
    for options in (
        [*TABLES, "--assignment", "m.json"],
        [TABLES[0], "--experiment=with_propensities.parquet", TABLES[2]],
    ):
        assert main(["evaluate", *options, *FAST, "--json"]) in (0, 3)
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["values"] == results[1]["values"]
    assert results[0]["contrasts"] == results[1]["contrasts"]


def test_a_study_file_names_it_beside_itself(folder, capsys, monkeypatch):
    (folder / "study.toml").write_text(f'{STUDY}assignment = "m.json"\nquiet = true\n')
    monkeypatch.chdir(folder.parent)
    for command in ("check", "plan"):
        assert main([command, str(folder / "study.toml"), *(("--width", "0.2") if command == "plan" else ())]) in (0, 3)
    assert "assignment as drawn" in capsys.readouterr().out


def test_a_plan_reads_the_pilots_propensities(capsys):
    command = ["plan", *TABLES, "--width", "0.2", "-q", "--json"]
    found = []
    for options in ([], ["--assignment", "m.json"]):
        assert main([*command, *options]) == 0
        found.append(json.loads(capsys.readouterr().out)["inputs"]["value_mean"])
    assert found[0] != found[1]
    assert main(["plan", TABLES[0], TABLES[2], "--assignment", "m.json", "--width", "0.2"]) == 2
    assert "--experiment" in capsys.readouterr().err


def test_the_manifest_is_an_input_and_never_replaced(folder, capsys):
    before = (folder / "m.json").read_bytes()
    assert main(["evaluate", *TABLES, *FAST, "--assignment", "m.json", "-o", "m.json", "--overwrite"]) == 2
    assert "would replace the input m.json" in capsys.readouterr().err
    assert (folder / "m.json").read_bytes() == before


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_a_file_that_is_no_manifest_is_one_message(content, folder, capsys):
    (folder / "m.json").write_text(content)
    assert main(["check", *TABLES, "--assignment", "m.json", "-q"]) == 1
    assert capsys.readouterr().err.startswith("deconfound: m.json: ")


def test_python_takes_a_path_or_a_manifest():
    tables = {role: f"{role}.parquet" for role in ("log", "experiment", "replay")}
    by_path = dc.load(**tables, assignment="m.json")
    by_object = dc.load(**tables, assignment=dc.AssignmentManifest.load("m.json"))
    assert by_path.experiment.arrow.equals(by_object.experiment.arrow)

"""`deconfound plan`: sources, goals, files and exit codes."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.planning import AssumedInputs, plan
from tests.support.checking import make_study


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder, study = tmp_path_factory.mktemp("plan"), make_study(seed=4)
    paths = {}
    for table in (study.log, study.experiment, study.replay):
        paths[table.role] = str(folder / f"{table.role}.parquet")
        pq.write_table(table.arrow, paths[table.role])
    return paths


def plan_command(files: dict[str, str], *roles: str) -> list[str]:
    return ["plan", "-q", *(f"--{role}={files[role]}" for role in roles)]


def test_the_answer_is_the_first_line_and_equals_the_librarys(capsys):
    assert main(["plan", "--models", "8", "--outcome-sd", "0.4", "--width", "0.1", "-q"]) == 0
    out, err = capsys.readouterr()
    required = plan(AssumedInputs(8, 0.4)).rows_for(width=0.1).expected
    assert f"{required.total_rows:,} randomized rows: {required.rows[0]:.0f} per model" in out.splitlines()[0]
    assert "#####" in out
    assert err == ""


@pytest.mark.parametrize("roles", [("log", "replay"), ("log", "replay", "experiment")])
def test_json_is_complete_and_reproducible(files, roles, capsys):
    goals = ["--best", "0.8", "--regret", "0.05", "--allocation", "optimal", "--json"]
    assert main([*plan_command(files, *roles), *goals]) == 0
    first = capsys.readouterr().out
    assert main([*plan_command(files, *roles), *goals]) == 0
    assert capsys.readouterr().out == first
    document = json.loads(first)
    assert document["inputs"]["source"] == ("pilot" if "experiment" in roles else "log")
    assert document["tolerance"] == 0.05
    assert len(document["table"]) == 8
    assert document["answers"][0]["goal"] == "best"
    assert document["answers"][0]["expected"]["probability_best"] >= 0.8
    assert sum(document["answers"][0]["propensity"]) == pytest.approx(1.0)


def test_every_assumption_reaches_the_plan(capsys):
    options = ["--models=3", "--outcome-sd=0.3", "--reward-r2=0.2", "--model-sd=0.05", "--extra-contexts=500"]
    assert main(["plan", "-q", "--json", *options, "--width=0.2", "--level=0.9"]) == 0
    document = json.loads(capsys.readouterr().out)
    planned = plan(AssumedInputs(3, 0.3, 0.2, 0.05), level=0.9, extra_contexts=500)
    assert document["extra_contexts"] == 500
    assert document["answers"][0]["expected"]["rms_width"] == planned.rows_for(width=0.2).expected.rms_width


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.json", b"{")])
def test_the_file_extension_decides_what_is_written(tmp_path, name, start, capsys):
    assert main(["plan", "--models", "4", "--outcome-sd", "0.3", "-q", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)
    assert "#" not in capsys.readouterr().out  # the figure replaces the bars


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ([], 2, "--models N and --outcome-sd S"),
        (["--models", "8"], 2, "--models N and --outcome-sd S"),
        (["--models", "a,b", "--outcome-sd", "0.4"], 2, "--models"),
        (["--models", "1", "--outcome-sd", "0.4"], 2, "--models"),
        (["--models", "8", "--outcome-sd", "0.4", "--width", "0"], 2, "--width"),
        (["--models", "8", "--outcome-sd", "0.4", "--width", "0.00001"], 4, "1,000,000"),
        (["--models", "8", "--outcome-sd", "0.4", "--allocation", "fewest"], 2, "--allocation"),
        (["--models", "8", "--outcome-sd", "0.4", "-o", "a.pdf"], 2, "-o takes"),
        (["--log", "none.csv"], 2, "--replay"),
        (["--log", "none.csv", "--replay", "no.csv"], 1, "none.csv"),
        (["--log", "none.csv", "--replay", "no.csv", "--reward-r2", "0.4"], 2, "--reward-r2"),
    ],
)
def test_invalid_usage_ends_with_its_code_and_names_the_option(more, code, message, capsys):
    assert main(["plan", "-q", *more]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_pilot_of_three_rows_ends_with_code_4(files, tmp_path, capsys):
    pq.write_table(pq.read_table(files["experiment"]).slice(0, 3), tmp_path / "few.parquet")
    command = plan_command({**files, "experiment": str(tmp_path / "few.parquet")}, "log", "replay", "experiment")
    assert main(command) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "few.parquet: 3 rows of 3 models" in err

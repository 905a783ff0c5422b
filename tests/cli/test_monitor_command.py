"""`deconfound monitor`: looks, state files, the next batch, and exit codes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.cli import main
from tests.support.checking import make_study

TABLES = ["--log=log.parquet", "--replay=replay.parquet", "--state=state.json", "--family=exp-only", "-q"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tables on a scale from 1 to 5; ``noise.parquet`` is an experiment in which all models are equal."""
    monkeypatch.chdir(tmp_path)
    study = make_study(seed=3, rows=110)
    for table in (study.log, study.experiment, study.replay):
        arrow = table.arrow
        if "outcome" in arrow.column_names:
            arrow = with_outcome(arrow, 1 + 4 * arrow["outcome"].to_numpy())
        pq.write_table(arrow, f"{table.role}.parquet")
    experiment = pq.read_table("experiment.parquet")
    pq.write_table(with_outcome(experiment, 1 + 4 * np.random.default_rng(0).random(110)), "noise.parquet")
    pq.write_table(experiment.slice(0, 20), "early.parquet")
    pq.write_table(experiment.slice(0, 80), "eighty.parquet")
    return tmp_path


def with_outcome(table: pa.Table, outcome: np.ndarray) -> pa.Table:
    return table.set_column(table.column_names.index("outcome"), "outcome", pa.array(outcome))


def look(experiment: str, *options: str) -> int:
    return main(["monitor", f"--experiment={experiment}.parquet", "--outcome-range", "1", "5", *TABLES, *options])


@pytest.mark.usefixtures("folder")
def test_looks_at_a_growing_experiment(capsys):
    assert look("early") == 2
    assert "--horizon" in capsys.readouterr().err
    assert look("early", "--horizon", "2000", "--tolerance", "0.08") == 4
    assert "Looks start at 20 randomized rows per model" in capsys.readouterr().err
    assert look("eighty") == 0
    out = capsys.readouterr().out
    assert out.startswith("Stop: cat is the best model, at 95 % confidence.\n")
    assert "on your scale from 1 to 5" in out
    assert "This is the first look, at 80 rows." in out
    assert look("eighty", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["looks"]) == 1
    assert document["settings"]["tolerance"] == pytest.approx(0.02)
    assert look("experiment") == 0
    out = capsys.readouterr().out
    assert "This is look 2; earlier ones were at 80 rows." in out
    assert "Look 1, at 80 rows, already ended the experiment" in " ".join(out.split())


@pytest.mark.usefixtures("folder")
def test_changed_settings_and_vanished_rows(capsys):
    assert look("experiment", "--horizon", "2000") == 0
    capsys.readouterr()
    assert look("eighty", "--tolerance", "0.4") == 2
    assert "tolerance 0 → 0.4" in capsys.readouterr().err
    assert look("eighty", "--tolerance", "0.4", "--change-settings") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "warn: The tolerance was changed after 1 look, from 0 to 0.4." in out
    assert "warn: 30 of the 110 rows of the last look have changed or vanished." in out


def test_the_next_batch_is_drawn_by_assign(folder, capsys):
    assert look("noise", "--horizon", "2000", "-o", "look.json") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Go on: after 110 of at most 2,000 rows")
    document = json.loads((folder / "look.json").read_text())
    assert main(["assign", "--experiment=two", "--from-plan=look.json", "-o", "two.json"]) == 0
    manifest = dc.AssignmentManifest.load("two.json")
    assert manifest.rule.propensities == document["next_batch"]["propensity"]
    (folder / "look.json").write_text(json.dumps({**document, "next_batch": {"propensity": 3}}))
    assert main(["assign", "--experiment=three", "--from-plan=look.json", "-o", "three.json"]) == 1
    assert "look.json: the next batch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--horizon", "20"], 2, "horizon (--horizon) must be from 60 rows"),
        (["--horizon", "200", "--level", "95"], 2, "level"),
        (["--horizon", "200", "--tolerance", "4"], 2, "tolerance"),
        (["--horizon", "200", "--tolerance=-1"], 2, "tolerance"),
        (["--horizon", "200", "--family", "all"], 2, "--family"),
        (["--horizon", "200", "-o", "look.html"], 2, "-o takes a .json file"),
        (["--horizon", "200", "--state", "state.txt"], 2, "--state"),
        (["--horizon", "200", "--state", "nowhere/state.json"], 2, "there is no folder nowhere"),
        (["--horizon", "200", "-o", "state.json"], 2, "would replace the input"),
    ],
)
def test_impossible_options_are_refused(folder, options, code, message, capsys):
    (folder / "state.json").write_text("{}") if "state.json" in options else None
    arguments = [one for one in TABLES if not any(one.startswith(f"{name}=") for name in options)]
    command = ["monitor", "--experiment=experiment.parquet", "--outcome-range", "1", "5", *arguments, *options]
    assert main(command) == code
    assert message in capsys.readouterr().err
    if "state.json" not in options:
        assert not (folder / "state.json").exists()


def test_a_damaged_state_file_is_never_replaced(folder, capsys):
    (folder / "state.json").write_text('{"kind": "deconfound monitor state", "schema": 1}')
    assert look("experiment", "--horizon", "200") == 1
    assert "state.json: the state is damaged" in capsys.readouterr().err
    assert (folder / "state.json").read_text() == '{"kind": "deconfound monitor state", "schema": 1}'


@pytest.mark.usefixtures("folder")
def test_a_failed_check_comes_before_the_verdict_and_is_exit_code_3(capsys):
    """Declared propensities that the rows contradict."""
    rows = pq.read_table("experiment.parquet").to_pylist()
    for row in rows:
        row |= {"propensity_ant": 0.9, "propensity_bee": 0.05, "propensity_cat": 0.05}
    pq.write_table(pa.Table.from_pylist(rows), "wrong.parquet")
    assert look("wrong", "--horizon", "2000") == 3
    out = capsys.readouterr().out
    assert out.startswith("Assumption check failed: A1")
    assert out.index('See "Warnings"') < out.index("\nWarnings\n")


def test_a_study_file_has_the_options(folder):
    study = 'log = "log.parquet"\nexperiment = "experiment.parquet"\nreplay = "replay.parquet"\n'
    more = 'outcome-range = [1, 5]\nfamily = "exp-only"\nstate = "state.json"\nhorizon = 2000\n'
    (folder / "study.toml").write_text(study + more)
    assert main(["monitor", "study.toml", "-q"]) == 0
    assert (folder / "state.json").exists()

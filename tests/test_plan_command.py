"""The command ``plan`` as a user meets it: its answer, JSON, pictures and exit codes."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.plan import AssumedInputs, plan
from deconfound.report.plan_text import text
from tests.support.checking import make_study
from tests.support.plan_inputs import evidence


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder, study = tmp_path_factory.mktemp("plan"), make_study(seed=4)
    paths = {}
    for table in (study.log, study.experiment, study.replay):
        paths[table.role] = str(folder / f"{table.role}.parquet")
        pq.write_table(table.arrow, paths[table.role])
    return paths


def words(files: dict[str, str], *roles: str) -> list[str]:
    return ["plan", "-q", *(word for role in roles for word in (f"--{role}", files[role]))]


def test_the_answer_comes_first_then_the_table(capsys):
    assert main(["plan", "--models", "8", "--spread", "0.4", "--width", "0.1", "-q"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = plan(AssumedInputs(8, 0.4)).rows_for(width=0.1).expected
    assert lines[0].startswith(
        f"To get intervals of ±0.05 (95 %) you need {rows.total:,} rows: {rows.rows[0]:.0f} a model."
    )
    assert lines[2].split() == ["rows", "a", "model", "rows", "in", "all", "width", "best", "regret"]
    assert [line.split()[0] for line in lines[3:11]] == ["5", "10", "20", "50", "100", "200", "500", "1,000"]
    assert "#####" in out
    assert err == ""


@pytest.mark.parametrize("roles", [("log", "replay"), ("log", "replay", "experiment")])
def test_json_has_every_number_and_repeats_itself(files, roles, capsys):
    command = [*words(files, *roles), "--best", "0.8", "--regret", "0.05", "--allocation", "fewest", "--json"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert main(command) == 0
    assert capsys.readouterr().out == first
    found = json.loads(first)
    assert found["evidence"]["source"] == ("pilot" if "experiment" in roles else "log")
    assert found["within"] == 0.05
    assert len(found["table"]) == 8
    assert found["answers"][0]["expected"]["best"] >= 0.8
    assert sum(found["answers"][0]["propensity"]) == pytest.approx(1.0)


def test_without_a_pilot_the_plan_says_how_it_discounts(files, capsys):
    assert main(words(files, "log", "replay")) == 0
    out = capsys.readouterr().out
    assert "without any randomized row" in out
    assert "50 % is expected to last" in out


@pytest.mark.parametrize(("name", "starts"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.json", b"{")])
def test_the_curve_goes_where_it_is_told(tmp_path, name, starts, capsys):
    command = ["plan", "--models", "4", "--spread", "0.3", "-q", "-o", str(tmp_path / name)]
    assert main(command) == 0
    first = (tmp_path / name).read_bytes()
    assert first.startswith(starts)
    assert main(command) == 0
    assert (tmp_path / name).read_bytes() == first
    assert "rows a model" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ([], 2, "--models N and --spread S"),
        (["--models", "8"], 2, "--models N and --spread S"),
        (["--models", "a,b", "--spread", "0.4"], 2, "how many there are"),
        (["--models", "1", "--spread", "0.4"], 2, "takes two models"),
        (["--models", "8", "--spread", "0.4", "--width", "0"], 2, "--width must lie"),
        (["--models", "8", "--spread", "0.4", "--width", "0.00001"], 4, "1,000,000 rows"),
        (["--models", "8", "--spread", "0.4", "-o", "a.pdf"], 2, "-o takes"),
        (["--log", "none.csv"], 2, "--replay is missing"),
        (["--log", "none.csv", "--replay", "no.csv"], 1, "none.csv"),
        (["--log", "none.csv", "--replay", "no.csv", "--spread", "0.4"], 2, "for plans without data"),
    ],
)
def test_bad_usage_ends_with_its_code(more, code, message, capsys):
    assert main(["plan", "-q", *more]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_pilot_of_three_rows_ends_with_code_4(files, tmp_path, capsys):
    pq.write_table(pq.read_table(files["experiment"]).slice(0, 3), tmp_path / "few.parquet")
    command = words({**files, "experiment": str(tmp_path / "few.parquet")}, "log", "replay", "experiment")
    assert main(command) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "few.parquet: 3 rows of 3 models do not vary" in err


def test_names_cannot_steer_the_terminal():
    """Rows, propensities and the widest model are all told by name."""
    hostile = replace(evidence((0.01, 0.16), (0.5, 0.5)), models=("\x1b[31mant", "\x1b[32mbee"))
    made = plan(hostile)
    told = text(
        made, [made.rows_for(width=0.05, allocation=way) for way in ("equal", "fewest")], made.table(), curve=True
    )
    assert told.count("\\x1b[32mbee") == 4  # the widest twice, its rows, its propensity
    assert "\x1b" not in told

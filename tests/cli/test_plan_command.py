"""`deconfound plan`: sources, goals, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.planning import AssumedInputs, plan
from tests.support.checking import make_study

STARS = ["--outcome-range", "1", "5", "--outcome-unit", "of 5 stars"]
SECONDS = ["--outcome-range", "60", "0", "--outcome-unit", "s"]


def write_tables(folder: Path, low: float = 0.0, high: float = 1.0) -> dict[str, str]:
    """A study whose outcomes are on a scale from ``low`` to ``high``."""
    study, paths = make_study(seed=4), {}
    for table in (study.log, study.experiment, study.replay):
        arrow, paths[table.role] = table.arrow, str(folder / f"{table.role}.parquet")
        if "outcome" in arrow.column_names:
            outcome = pa.array(low + (high - low) * arrow["outcome"].to_numpy())
            arrow = arrow.set_column(arrow.column_names.index("outcome"), "outcome", outcome)
        pq.write_table(arrow, paths[table.role])
    return paths


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    return write_tables(tmp_path_factory.mktemp("plan"))


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


def assumed(*more: str) -> list[str]:
    return ["plan", "-q", "--models", "4", *more]


@pytest.mark.parametrize(("scale", "width"), [(STARS, 4), (SECONDS, 60)])
def test_numbers_are_on_the_users_scale_in_and_out(scale, width, capsys):
    """The same plan as from 0 to 1, with every target and every answer times the width of the scale."""
    goals = {"outcome-sd": 0.25, "model-sd": 0.05, "width": 0.1}
    assert main(assumed("--json", *(f"--{name}={number}" for name, number in goals.items()))) == 0
    unit = json.loads(capsys.readouterr().out)
    assert main(assumed("--json", *scale, *(f"--{name}={width * number}" for name, number in goals.items()))) == 0
    own = json.loads(capsys.readouterr().out)
    low, high = (float(number) for number in scale[1:3])
    assert own["outcome_range"] == [low, high]
    assert own["outcome_unit"] == scale[4]
    assert own["inputs"]["value_mean"] == [low + (high - low) * mean for mean in unit["inputs"]["value_mean"]]
    assert own["answers"][0]["target"] == pytest.approx(width * 0.1)
    expected = [[each["expected"] for each in (*one["answers"], *one["table"])] for one in (own, unit)]
    for mine, theirs in zip(*expected, strict=True):
        assert mine["rows"] == theirs["rows"]
        assert mine["probability_best"] == theirs["probability_best"]
        for name in ("rms_width", "widths", "expected_regret"):
            assert mine[name] == pytest.approx(width * np.array(theirs[name]))


def test_sentences_have_the_users_unit(capsys):
    goals = ["--width", "0.4", "--best", "0.9", "--regret", "0.2"]
    assert main(assumed("--outcome-sd", "1", *STARS, *goals)) == 0
    text = capsys.readouterr().out
    assert text.startswith("For 95 % intervals of ±0.2 stars you need ")
    assert "To select the best model or one at most 0.2 stars worse with probability 0.9" in text
    assert "within-model SD of the outcomes 1.00 stars" in text
    assert "regret are on your scale from 1 to 5 stars." in text
    assert "Interval width in stars by rows per model" in text
    assert "scale from 0 to 1" not in text


def test_where_less_is_better_the_plan_says_so(capsys):
    assert main(assumed("--outcome-sd", "15", *SECONDS, "--regret", "1.3")) == 0
    text = capsys.readouterr().out
    assert text.startswith("For an expected regret of at most 1.3 s you need ")
    assert "on your scale from 60 to 0 s; less is better." in text
    assert "below" not in text


@pytest.mark.parametrize("roles", [("log", "replay"), ("log", "replay", "experiment")])
def test_a_plan_from_files_has_the_scale_of_the_files(tmp_path, files, roles, capsys):
    assert main([*plan_command(files, *roles), "--json", "--width", "0.2"]) == 0
    unit = json.loads(capsys.readouterr().out)
    stars = write_tables(tmp_path, 1.0, 5.0)
    (tmp_path / "study.toml").write_text(
        "".join(f'{role} = "{role}.parquet"\n' for role in roles)
        + 'outcome-range = [1, 5]\noutcome-unit = "of 5 stars"\nwidth = 0.8\n'
    )
    for command in ([*plan_command(stars, *roles), *STARS, "--width", "0.8"], ["plan", str(tmp_path / "study.toml")]):
        assert main([*command, "-q", "--json"]) == 0
        own = json.loads(capsys.readouterr().out)
        assert own["inputs"]["outcome_sd"] == pytest.approx([4 * sd for sd in unit["inputs"]["outcome_sd"]])
        expected = unit["answers"][0]["expected"]["total_rows"]
        assert own["answers"][0]["expected"]["total_rows"] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--outcome-sd", "3"], 2, "--outcome-sd must be from 0.0004 to 2 stars"),
        (["--outcome-sd", "1", "--model-sd", "2.5"], 2, "--model-sd must be above 0 and at most 2 stars"),
        (["--outcome-sd", "1", "--model-sd", "0"], 2, "--model-sd must be above 0 and at most 2 stars"),
        (["--outcome-sd", "1", "--width", "4"], 2, "--width must lie strictly between 0 and 4 stars"),
        (["--outcome-sd", "1", "--regret", "0"], 2, "--regret must lie strictly between 0 and 4 stars"),
        (["--outcome-sd", "1", "--width", "0.0001"], 4, "--width 0.0001 stars needs more than 1,000,000 rows"),
        (["--outcome-sd", "1", "--best", "1.5"], 2, "--best must lie strictly between 0 and 1"),
    ],
)
def test_impossible_numbers_are_explained_on_the_users_scale(more, code, message, capsys):
    assert main(assumed(*STARS, *more)) == code
    assert message in capsys.readouterr().err


def test_no_tolerance_is_one_of_zero(capsys):
    assert main(assumed(*STARS, "--outcome-sd", "1", "--best", "0.8", "--regret", "0", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["tolerance"] == 0

"""`deconfound evaluate --segments`: columns of the tables, or of a table of contexts."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from tests.support.commands import evaluate_command
from tests.support.segmented import segmented_tables

QUICK = ("--family", "exp-only", "--refits", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three tables, and one of contexts and languages."""
    place, tables = tmp_path_factory.mktemp("segmented"), segmented_tables()
    for name, table in tables.items():
        pq.write_table(table, place / f"{name}.parquet")
    pq.write_table(tables["experiment"].select(["context_id", "language", "tier"]), place / "languages.parquet")
    return place


def run(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    assert main(evaluate_command(folder, *QUICK, "--json", *options)) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_columns_of_the_experiment_and_of_a_table_give_the_same_segments(folder, capsys):
    plain = run(folder, capsys)
    own = run(folder, capsys, "--segments", "language")
    other = run(folder, capsys, "--segments", "language", "--segments-from", str(folder / "languages.parquet"))
    assert plain["segments"] == []
    assert own["segments"] == other["segments"]
    assert own["values"] == plain["values"]
    every = run(folder, capsys, "--segments-from", str(folder / "languages.parquet"))
    assert [one["column"] for one in every["segments"]] == ["language", "tier"]


def test_segments_are_net_of_cost_on_the_scale_of_the_user(folder, capsys):
    """A bee that costs nine tenths of the scale is nowhere the best."""
    options = ("--segments", "language", "--cost", "ant=0", "--cost", "bee=90", "--outcome-values", "0=0,1=100")
    assert main(evaluate_command(folder, *QUICK, *options, "--outcome-range", "0", "100")) == 0
    section = capsys.readouterr().out.split('Segments by "language"')[1]
    assert "net value" in section
    assert "ant is the best model in en, de." in section


def test_a_study_file_names_segments_with_paths_relative_to_it(folder, capsys):
    lines = [f'{name} = "{name}.parquet"' for name in ("log", "experiment", "replay")]
    lines += ['segments = ["language"]', 'segments-from = "languages.parquet"', 'family = "exp-only"', "refits = 2"]
    (folder / "study.toml").write_text("\n".join(lines))
    assert main(["evaluate", str(folder / "study.toml"), "-q", "--json"]) == 0
    assert [one["column"] for one in json.loads(capsys.readouterr().out)["segments"]] == ["language"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--segments", "langage"), 1, 'there is no column "langage", which is to divide rows into segments'),
        (("--segments", " , "), 2, "--segments names no column"),
        (("--segments", "language,language"), 2, "more than once"),
        (("--segments", "context_id"), 1, '"context_id" has 120 values in 120 rows'),
        (("--segments", "model"), 1, '"model" is the model and cannot divide rows'),
        (("--segments-from", "nowhere.csv"), 1, "nowhere.csv"),
    ],
)
def test_what_cannot_divide_rows_ends_before_the_work(folder, capsys, options, code, message):
    assert main(evaluate_command(folder, *QUICK, *options)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_the_table_of_segments_is_never_overwritten(folder, capsys):
    table = folder / "languages.parquet"
    json_table = folder / "languages.json"
    json_table.write_text(json.dumps(pq.read_table(table).to_pylist()))
    options = ("--segments-from", str(json_table), "-o", str(json_table), "--overwrite")
    assert main(evaluate_command(folder, *QUICK, *options)) == 2
    assert "languages.json" in capsys.readouterr().err

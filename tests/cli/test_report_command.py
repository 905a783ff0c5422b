"""`deconfound report`: the page of a saved result."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.report.persistence import load


def test_the_page_of_a_saved_result_has_the_texts_of_its_replay(saved_result, study_folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(saved_result), "--replay", str(study_folder / "replay.parquet"), "-o", str(page)]) == 0
    assert capsys.readouterr().err == f"Written to {page}.\n"
    text = page.read_text(encoding="utf-8")
    assert "This page has no texts" not in text
    assert f"value {load(saved_result).values.table()[0]['estimate']:.3f}" in text
    assert "deconfound evaluate --log=" in text  # the command that computed it


def test_without_a_replay_the_page_has_values_only(saved_result, tmp_path):
    page = tmp_path / "page.html"
    assert main(["report", str(saved_result), "-o", str(page)]) == 0
    assert "This page has no texts" in page.read_text(encoding="utf-8")


def test_the_curve_of_a_plan_is_added(saved_result, tmp_path, capsys):
    plan, page = tmp_path / "plan.json", tmp_path / "page.html"
    assert main(["plan", "--models", "6", "--outcome-sd", "0.2", "-o", str(plan), "-q"]) == 0
    assert main(["report", str(saved_result), "--plan", str(plan), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "What more randomized rows would bring" in text
    first = json.loads(plan.read_text())["table"][0]["expected"]
    assert f"<td>{first['total_rows']:,.0f}</td>" in text
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["-o", "page.pdf"], 2, "-o takes an .html file"),
        (["-o", "page.html", "--plan", "absent.json"], 1, "absent.json"),
        (["--replay", "absent.parquet", "-o", "page.html"], 1, "absent.parquet"),
        ([], 2, "-o"),
    ],
)
def test_what_cannot_be_is_refused(saved_result, tmp_path, monkeypatch, capsys, options, code, message):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(saved_result), *options]) == code
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_replay_of_another_study_is_refused(saved_result, study_folder, tmp_path, capsys):
    table = pq.read_table(study_folder / "replay.parquet")
    first = table["context_id"][0].as_py()
    other = tmp_path / "other.parquet"
    pq.write_table(table.filter([name != first for name in table["context_id"].to_pylist()]), other)
    assert main(["report", str(saved_result), "--replay", str(other), "-o", str(tmp_path / "page.html")]) == 1
    assert "1 context of the result is not in it" in capsys.readouterr().err


def test_an_existing_file_is_replaced_only_on_request(saved_result, tmp_path, capsys):
    page = tmp_path / "page.html"
    page.write_text("mine")
    command = ["report", str(saved_result), "-o", str(page)]
    assert main(command) == 2
    assert page.read_text() == "mine"
    assert main([*command, "--overwrite"]) == 0
    assert "<html" in page.read_text(encoding="utf-8")
    capsys.readouterr()


def test_a_result_is_no_place_for_its_page(saved_result: Path, capsys):
    index = saved_result / "result.json"
    assert main(["report", str(saved_result), "-o", str(index), "--overwrite"]) == 2
    assert json.loads(index.read_text(encoding="utf-8"))["schema"]
    capsys.readouterr()

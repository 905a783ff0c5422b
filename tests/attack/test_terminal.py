"""No text of others controls the terminal or fakes a line of its own: names, files, options and saved results."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.bundle import load_bundle, save_bundle
from deconfound.cli import main
from deconfound.cli.progress_line import ProgressLine
from deconfound.cli.terminal import write_message, write_result
from deconfound.demo import make_demo
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.report.check_text import finding_line
from deconfound.report.persistence import FEATURIZER, REWARD, result_path
from tests.support.commands import SMALL, evaluate_command
from tests.support.studies import Good, write_study

ESCAPE = "\x1b[31m\x9b2J\u202e\u200b"
FAKE = "x\ndeconfound: 9 problems:\n  fake.csv: it is empty"
HOSTILE = ESCAPE + FAKE
FORBIDDEN = set(ESCAPE) - set("[31m2J")


def assert_safe(text: str) -> None:
    """Only what is visible, and no line that a name has made."""
    assert not FORBIDDEN & set(text)
    assert not any(line.lstrip().startswith(("deconfound: 9", "fake.csv")) for line in text.splitlines())


@pytest.fixture(scope="module")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo with hostile model names, label and unused column."""
    folder, demo = tmp_path_factory.mktemp("hostile"), make_demo(1, sizes=SMALL)
    for role in ("log", "experiment", "replay"):
        table = getattr(demo, role)
        models = pa.array([HOSTILE + name for name in table["model"].to_pylist()])
        table = table.set_column(table.column_names.index("model"), "model", models)
        table = table.append_column(f"unused{HOSTILE}", models)
        if role == "log":
            table = table.append_column(f"label_{HOSTILE}", table["outcome"])
        pq.write_table(table, folder / f"{role}.parquet")
    return folder


def test_a_summary_of_hostile_names_is_safe(hostile_folder, capsys):
    assert main(evaluate_command(hostile_folder, "--verbose", "--refits=2")) in (0, 3)
    shown = capsys.readouterr()
    assert "unused columns" in shown.out
    assert "\\x1b[31m" in shown.out
    assert_safe(shown.out)
    assert_safe(shown.err)


def test_json_of_hostile_names_is_safe_and_exact(hostile_folder, capsys):
    assert main(evaluate_command(hostile_folder, "--json", "--refits=2")) in (0, 3)
    text = capsys.readouterr().out
    assert_safe(text)
    assert all(name.startswith(HOSTILE) for name in json.loads(text)["models"])


def test_checks_of_hostile_names_are_safe(hostile_folder, capsys):
    evaluate = evaluate_command(hostile_folder)
    for more in ((), ("--json",)):
        main(["check", *evaluate[1:], *more])
        assert_safe(capsys.readouterr().out)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_model_without_replay_is_reported_safely(tmp_path, capsys, ending):
    good = Good()
    for row in good.all_rows():
        row["model"] = f"{HOSTILE}{row['model']}; rm -rf $HOME"
    good.experiment[0]["model"] = HOSTILE
    paths = write_study(tmp_path, good, ending)
    assert main(["check", *(f"--{role}={path}" for role, path in paths.items())]) == 1
    text = capsys.readouterr().err
    assert_safe(text)
    assert text.count("\n") == 1
    assert "--models '" in text  # a shell must not run what is in a name


def test_ambiguous_columns_are_reported_safely(tmp_path, capsys):
    good = Good()
    for row in good.log:
        row["score\n\x1f"] = row["\nscore"] = row.pop("outcome")
    paths = write_study(tmp_path, good, "jsonl")
    assert main(["check", *(f"--{role}={path}" for role, path in paths.items())]) == 1
    text = capsys.readouterr().err
    assert_safe(text)
    assert "\x1f" not in text
    assert text.count("\n") == 1


def test_a_file_name_cannot_fake_a_problem(tmp_path, capsys):
    paths = {role: tmp_path / f"{role}{HOSTILE.replace('/', '')}.csv" for role in ("log", "experiment", "replay")}
    assert main(["check", *(f"--{role}={path}" for role, path in paths.items())]) == 1
    text = capsys.readouterr().err
    assert_safe(text)
    assert text.count("\n") == 1  # one problem at three places


@pytest.mark.parametrize(
    "option", [f"--family={HOSTILE}", f"--level={HOSTILE}", HOSTILE, f"--{HOSTILE}", f"--map={HOSTILE}"]
)
def test_options_cannot_control_the_terminal(hostile_folder, capsys, option):
    assert main(evaluate_command(hostile_folder, option)) == 2
    assert_safe(capsys.readouterr().err)


def test_errors_of_the_operating_system_are_safe(monkeypatch, capsys):
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error", os.fsdecode(HOSTILE.encode() + b"\xff"))

    monkeypatch.setattr("deconfound.demo.make_demo", fail)
    assert main(["demo", "-q"]) == 2
    text = capsys.readouterr().err
    assert_safe(text)
    assert "\\xff: Input/output error." in text


def test_a_problem_is_one_line_wherever_the_name_is():
    problem = Problem(f"{HOSTILE}.csv", HOSTILE, HOSTILE)
    assert_safe(str(problem))
    assert len(str(DataError([problem, problem])).splitlines()) == 2


def test_the_exit_escapes_what_no_sentence_has_escaped_and_leaves_our_line_breaks(capsys):
    write_result(f"two\n\tlines{ESCAPE}\n")
    write_message(f"two\n\tlines{ESCAPE}\r\n")
    shown = capsys.readouterr()
    assert shown.out == "two\n\tlines\\x1b[31m\\x9b2J\\u202e\\u200b\n"
    assert shown.err == "two\n\tlines\\x1b[31m\\x9b2J\\u202e\\u200b\\r\n"


def test_progress_is_one_line(monkeypatch, capsys):
    ProgressLine(quiet=False)(HOSTILE, 0.5)
    assert_safe(capsys.readouterr().err)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ProgressLine(quiet=False)(HOSTILE, 0.5)
    assert_safe(capsys.readouterr().err.removeprefix("\r\x1b[K"))


def test_findings_about_files_are_one_line():
    finding = Finding("columns", "warn", Notice(HOSTILE, HOSTILE))
    assert_safe(finding.message + finding.remedy)
    assert_safe(finding_line(replace(finding, check=HOSTILE)))


@pytest.fixture(scope="module")
def tampered(hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved result in which every text that is not a number, a name or a kind was replaced."""
    folder = tmp_path_factory.mktemp("tampered") / "result"
    assert main(evaluate_command(hostile_folder, "-o", str(folder), "--refits=2")) in (0, 3)
    bundle = load_bundle(result_path(folder), (REWARD, FEATURIZER))
    stored = bundle.document
    for values in ("values", "direct", "experiment", "raw_log"):
        stored[values]["method"] += HOSTILE
    stored["population"]["source"] = HOSTILE
    for table in stored["counts"].values():
        table["source"], table["unused_columns"] = HOSTILE, [HOSTILE]
    for finding in stored["findings"]:
        finding["check"] += HOSTILE
        if "source" in finding["details"]:
            finding["details"]["source"] = HOSTILE
    stored["findings"].append(
        {
            **stored["findings"][0],
            "verdict": "warn",
            "details": {"type": "Notice", "message": HOSTILE, "remedy": HOSTILE},
        }
    )
    save_bundle(result_path(folder), bundle, overwrite=True)  # with the checksums of the changed content
    return folder


def test_a_tampered_result_cannot_control_the_terminal_or_the_page(tampered, hostile_folder, capsys, tmp_path):
    result = dc.Result.load(tampered)
    for text in (result.summary(verbose=True), json.dumps(result.document())):
        assert_safe(text)
    result.to_html(tmp_path / "page.html")
    result.to_json(tmp_path / "page.json")
    for name in ("page.html", "page.json"):
        assert_safe((tmp_path / name).read_text(encoding="utf-8"))
    capsys.readouterr()
    for more in ((), ("--json",)):
        assert main(["recommend", str(tampered), f"--replay={hostile_folder / 'replay.parquet'}", *more]) == 0
        assert_safe(capsys.readouterr().out)


def test_a_saved_result_of_another_schema_is_refused_safely(tampered, hostile_folder, capsys):
    file = tampered / "result.json"
    before = file.read_text(encoding="utf-8")
    file.write_text(json.dumps({**json.loads(before), "schema": HOSTILE}), encoding="utf-8")
    try:
        assert main(["recommend", str(tampered), f"--replay={hostile_folder / 'replay.parquet'}"]) == 1
    finally:
        file.write_text(before, encoding="utf-8")
    assert_safe(capsys.readouterr().err)

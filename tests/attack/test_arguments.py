"""Arguments that contradict, repeat or misspell: one message that says what to do, and nothing taken silently."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.cli.evaluate import parse_costs
from tests.support.commands import evaluate_command

FAST = ("--family", "exp-only", "--refits", "2")


def message(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 2) -> str:
    """What a refused command prints."""
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deconfound: ")
    assert err.count("\n") == 1
    return err


# --- options ---


@pytest.mark.parametrize(
    "more",
    [
        ("--log", "x"),
        ("--replay=x",),
        ("-o", "x", "--output", "x"),
        ("--seed", "1", "--seed", "1"),
        ("--outcome-range", "0", "1", "--outcome-range", "0", "5"),
        ("--target", "a", "--target", "b"),
        ("--family", "auto", "--family", "exp-only"),
    ],
)
def test_an_option_that_takes_one_value_is_given_once(study, capsys, more):
    assert "given more than once" in message(evaluate_command(study, *more), capsys)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--map", "outcome=a", "--map", "outcome=b"), '--map names "outcome" more than once'),
        (("--cost", "ant=1", "--cost", "ant=2"), '--cost names "ant" more than once'),
        (("--cost", "ant=1_0"), "--cost takes MODEL=AMOUNT"),
    ],
)
def test_one_name_has_one_value(study, capsys, more, text):
    assert text in message(evaluate_command(study, *more), capsys)


def test_several_names_and_an_equals_sign_in_a_name_are_fine():
    assert parse_costs(["a=1", "b=c=2e-1"], None) == {"a": 1.0, "b=c": 0.2}


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["evaluate", "--logs", "x"], "there is no option --logs; did you mean --log? See deconfound evaluate --help."),
        (
            ["demo", "--familly=auto"],
            "there is no option --familly; did you mean --family? See deconfound demo --help.",
        ),
        (["plan", "--xyzzy"], "there is no option --xyzzy. See deconfound plan --help."),
        (["plan", "-x"], "unrecognized arguments: -x. See deconfound plan --help."),
        (["check", "--log", "a", "b"], "See deconfound check --help."),
        (["bench", "excess", "x.parquet", "--foo\x1b[31m"], "there is no option --foo\\x1b[31m. See deconfound bench"),
        (["bench", "excess", "x.parquet", "--mark"], "x.parquet: no such file"),
        (["bench", "synthetik"], "See deconfound bench --help."),
    ],
)
def test_a_misspelled_option_is_named_with_the_nearest_one(capsys, command, text):
    code = 1 if "no such" in text else 2
    assert text in message(command, capsys, code)


def test_a_value_may_look_like_an_option_after_an_equals_sign(capsys):
    assert "--odd" in message(["check", "--log=--odd", "--experiment=x", "--replay=x"], capsys, 1)


# --- paths ---


def test_nul_in_an_argument_is_refused(study, capsys):
    for arguments in (evaluate_command(study, "-o", "\0"), ["recommend", "a\0", "--replay", "x"], ["bench", "\0"]):
        assert "NUL" in message(arguments, capsys)
    with pytest.raises(dc.DataError, match="no such folder"):
        dc.Result.load("a\0")


def test_the_place_of_a_result_is_explained(saved, study, tmp_path, monkeypatch, capsys):
    replay = ["--replay", str(study / "replay.parquet")]
    inside = message(["recommend", str(saved / "result.json"), *replay], capsys, 1)
    assert f"Name its folder: {saved}" in inside
    missing = message(["recommend", str(tmp_path / "gone"), *replay], capsys, 1)
    assert "gone: there is no such folder" in missing
    assert "DIR is empty" in message(["recommend", "", *replay], capsys)

    def forbid(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", forbid)
    assert "saved: the folder cannot be read (Permission denied)" in message(
        ["recommend", str(saved), *replay], capsys, 1
    )


def test_a_document_inside_a_saved_folder_gets_no_advice_that_fails(saved, study, capsys):
    text = message(evaluate_command(study, *FAST, "-o", str(saved / "result.json")), capsys)
    assert "belongs to a saved result" in text
    assert "--overwrite" not in text


def test_a_result_in_one_file_is_called_that(study, tmp_path, capsys):
    assert main(evaluate_command(study, *FAST, "-o", str(tmp_path / "result.json"))) in (0, 3)
    before = (tmp_path / "result.json").read_bytes()
    assert json.loads(before)["schema"]
    capsys.readouterr()
    assert "a result in one file, as `-o FILE.json` writes it" in message(
        evaluate_command(study, *FAST, "-o", str(tmp_path)), capsys
    )
    assert (tmp_path / "result.json").read_bytes() == before


def test_names_that_promise_something_else_are_refused(study, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "writes a folder" in message(["demo", "-q", "-o", "x.json"], capsys)
    assert "-o - does not mean standard output" in message(evaluate_command(study, *FAST, "-o", "-"), capsys)
    assert list(tmp_path.iterdir()) == []

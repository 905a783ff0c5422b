"""What nobody foresaw ends in a message, exit code 2 and a way to report it; so do arguments out of range."""

from __future__ import annotations

import pytest

import deconfound as dc
from deconfound.cli import command_line, main
from deconfound.cli.command_line import TRACEBACK
from deconfound.demo import make_demo

FOREIGN_TEXT = "text of a stranger \x1b[31m"


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, RecursionError, UnicodeDecodeError, ZeroDivisionError])
def test_an_unforeseen_error_is_a_message_without_text_from_the_data(kind, monkeypatch, capsys):
    def fail(_: object) -> int:
        arguments = ("utf-8", b"\xff", 0, 1, FOREIGN_TEXT) if kind is UnicodeDecodeError else (FOREIGN_TEXT,)
        raise kind(*arguments)

    monkeypatch.delenv(TRACEBACK, raising=False)
    monkeypatch.setattr(command_line, "_run_command", fail)
    assert main(["plan"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"deconfound: unexpected {kind.__name__}")
    assert TRACEBACK in message
    assert FOREIGN_TEXT not in message
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(kind):
        main(["plan"])


def test_the_place_of_an_unforeseen_error_is_a_line_of_this_package(monkeypatch, capsys):
    monkeypatch.delenv(TRACEBACK, raising=False)
    monkeypatch.setattr("deconfound.planning.plan", None)
    assert main(["plan", "--models", "3", "--outcome-sd", "0.3"]) == 2
    assert "unexpected TypeError in plan.py, line " in capsys.readouterr().err


def test_too_little_memory_is_a_sentence(monkeypatch, capsys):
    def fail(_: object) -> int:
        raise MemoryError

    monkeypatch.setattr(command_line, "_run_command", fail)
    assert main(["plan"]) == 2
    assert capsys.readouterr().err.startswith("deconfound: the memory of this computer")


@pytest.mark.parametrize("command", ["demo", "evaluate", "check", "plan"])
def test_a_negative_seed_is_refused(command, study_folder, capsys):
    tables = [f"--{name}={study_folder / name}.parquet" for name in ("log", "experiment", "replay")]
    arguments = {"demo": [], "plan": ["--models", "3", "--outcome-sd", "0.3"]}.get(command, tables)
    assert main([command, *arguments, "--seed", "-1"]) == 2
    assert "seed (--seed) must be a whole number of at least 0, not -1" in capsys.readouterr().err


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0", None])
def test_a_wrong_seed_is_refused_in_python(seed):
    with pytest.raises(dc.UsageError, match="seed"):
        make_demo(seed)

"""Progress on stderr: one rewritten line on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable

import pytest

from deconfound import loading
from deconfound.cli import command_line, main, progress_line
from deconfound.cli.progress_line import ProgressLine, showing_progress
from tests.support.commands import evaluate_command


def report(quiet: bool) -> None:
    progress = ProgressLine(quiet)
    progress("reading texts", 0.0)
    progress("fitting", 0.0)
    progress("fitting", 0.5)
    progress.clear()


def test_other_streams_get_one_line_per_stage(capsys):
    report(quiet=False)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("s  ")[1] for line in lines] == ["reading texts", "fitting"]


def test_a_stage_whose_details_change_is_one_line(capsys):
    progress = ProgressLine(quiet=False)
    for rows in (10, 20, 30):
        progress(f"summing the log: {rows} rows", rows / 30)
    progress("fitting", 0.0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("s  ")[1] for line in lines] == ["summing the log: 10 rows", "fitting"]


def test_a_terminal_gets_one_line_with_percent_that_is_removed_at_the_end(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    report(quiet=False)
    err = capsys.readouterr().err
    assert "\n" not in err
    assert "fitting 50 %" in err
    assert err.endswith("\r\033[K")


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_prints_nothing(capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    report(quiet=True)
    assert capsys.readouterr().err == ""


@pytest.fixture
def clock(monkeypatch) -> Callable[[float], None]:
    """Sets the time of day, in seconds."""
    now = [0.0]
    monkeypatch.setattr(progress_line, "monotonic", lambda: now[0])

    def set_clock(seconds: float) -> None:
        now[0] = seconds

    return set_clock


def test_a_long_stage_gets_another_line_every_ten_seconds(capsys, clock):
    progress = ProgressLine(quiet=False, start=0.0)
    for second in range(25):
        clock(second)
        progress(f"preparing auto: step {second + 1}", 0.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{second:5.1f} s  preparing auto: step {second + 1}" for second in (0, 10, 20)]


def test_the_clock_of_a_command_runs_through_all_its_parts(capsys, clock):
    arguments = Namespace(quiet=False, started=0.0)
    clock(57.0)
    with showing_progress(arguments) as progress:
        progress("fitting", 0.0)
        clock(144.4)
    assert capsys.readouterr().err.splitlines() == [" 57.0 s  fitting", "done in 2 min 24 s"]


@pytest.mark.parametrize(
    ("seconds", "end"),
    [(29.0, ""), (59.4, "done in 59 s\n"), (59.6, "done in 1 min 0 s\n"), (3_900.0, "done in 1 h 5 min\n")],
)
def test_a_long_command_ends_with_its_time(capsys, clock, seconds, end):
    with showing_progress(Namespace(quiet=False, started=0.0)):
        clock(seconds)
    with showing_progress(Namespace(quiet=True, started=0.0)):
        pass
    assert capsys.readouterr().err == end


def test_a_command_that_fails_is_not_done(capsys, clock):
    def fail() -> None:
        with showing_progress(Namespace(quiet=False, started=0.0)):
            clock(100.0)
            raise ValueError("stopped")

    with pytest.raises(ValueError, match="stopped"):
        fail()
    assert capsys.readouterr().err == ""


def test_loading_counts_in_the_time_of_an_evaluation(study_folder, monkeypatch, capsys, clock):
    monkeypatch.setattr(command_line, "monotonic", lambda: 0.0)
    load = loading.load

    def slow(**options: object) -> object:
        clock(61.0)
        return load(**options)

    monkeypatch.setattr(loading, "load", slow)
    command = [word for word in evaluate_command(study_folder, "--family", "exp-only", "--refits", "2") if word != "-q"]
    assert main(command) in (0, 3)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert (first, last) == (" 61.0 s  reading texts", "done in 1 min 1 s")

"""Progress on stderr: one rewritten line on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys

import pytest

from deconfound.cli.progress_line import ProgressLine


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

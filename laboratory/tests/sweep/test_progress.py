"""The progress display of a sweep: tasks done, time left, and quiet mode."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import StringIO

from deconfound_bench.sweep import SweepProgress


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_time_left_is_estimated_from_this_run_only(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    clock = Clock()
    progress = SweepProgress(clock=clock)
    progress.begin(total=100, loaded=90)
    for _ in range(4):
        clock.now += 30
        progress.finish_task()
    last = screen.getvalue().split("\r\033[K")[-1]
    assert last == "[###########.] 94/100 tasks (90 from an earlier run), 2 min 00 s, about 3 min 00 s left"
    monkeypatch.setenv("COLUMNS", "20")
    clock.now += 1
    progress.heartbeat()
    assert screen.getvalue().endswith("\r\033[K[###########.] 94/1")
    progress.clear()
    assert screen.getvalue().endswith("\r\033[K")


def test_without_a_terminal_one_line_is_written_every_fifteen_seconds(capsys):
    clock = Clock()
    progress = SweepProgress(clock=clock)
    progress("reading", 0.0)
    progress("reading", 0.5)
    progress.begin(total=60, loaded=0)
    for _ in range(60):
        clock.now += 1
        progress.finish_task()
        progress.heartbeat()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" tasks")[0].split()[-1] for line in lines] == [
        "reading",
        "0/60",
        "15/60",
        "30/60",
        "45/60",
        "60/60",
    ]


def test_quiet_mode_prints_messages_only(capsys):
    progress = SweepProgress(quiet=True)
    progress("reading", 0.0)
    progress.begin(2, 1)
    progress.finish_task()
    progress.message("An important message.")
    progress.clear()
    assert capsys.readouterr() == ("", "An important message.\n")

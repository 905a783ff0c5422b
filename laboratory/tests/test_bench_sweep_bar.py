"""The bar of a sweep: what is done, the time left, and nothing when it must be quiet."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import StringIO

from deconfound_bench.sweep import Bar


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_time_left_comes_from_this_run_alone(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    clock = Clock()
    bar = Bar(clock=clock)
    bar.begin(total=100, found=90)
    for _ in range(4):
        clock.now += 30
        bar.tick()
    last = screen.getvalue().split("\r\033[K")[-1]
    assert last == "[###########.] 94/100 tasks (90 from before), 2 min 00 s, about 3 min 00 s left"
    monkeypatch.setenv("COLUMNS", "20")
    clock.now += 1
    bar.pulse()
    assert screen.getvalue().endswith("\r\033[K[###########.] 94/1")
    bar.clear()
    assert screen.getvalue().endswith("\r\033[K")


def test_away_from_a_terminal_a_line_comes_every_fifteen_seconds(capsys):
    clock = Clock()
    bar = Bar(clock=clock)
    bar("reading", 0.0)
    bar("reading", 0.5)
    bar.begin(total=60, found=0)
    for _ in range(60):
        clock.now += 1
        bar.tick()
        bar.pulse()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" tasks")[0].split()[-1] for line in lines] == [
        "reading",
        "0/60",
        "15/60",
        "30/60",
        "45/60",
        "60/60",
    ]


def test_quiet_means_nothing_but_what_must_not_be_missed(capsys):
    bar = Bar(quiet=True)
    bar("reading", 0.0)
    bar.begin(2, 1)
    bar.tick()
    bar.say("Mind the gap.")
    bar.clear()
    assert capsys.readouterr() == ("", "Mind the gap.\n")

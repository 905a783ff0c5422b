"""Sweeps that fail or are stopped: what is finished stays, no process is left, and the numbers come out the same."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from deconfound_bench.sweep import SweepError, Task, digest
from deconfound_bench.sweep.birth import quiet_birth
from deconfound_bench.sweep.folder import opened
from deconfound_bench.sweep.pool import Failure, _collect

from deconfound.errors import UsageError
from laboratory.tests.support.fake_benchmark import TASKS, Fake, expected, finished, run, runs

LONG = 60.0  # seconds; longer than any test may take
MOMENTS = (0.011, 0.137, 0.064)  # seconds after the first task has begun


def until(condition, seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def all_dead(fake: Fake, seconds: float = 2.0) -> bool:
    """Whether every process that opened the benchmark is gone in time."""

    def dead() -> bool:
        with (fake.diary / "alive").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    return until(dead, seconds)


def main(folder: str, diary: str, nap: str, workers: str) -> None:
    """A sweep in a process of its own, for tests that stop it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run(Fake(Path(diary), float(nap)), Path(folder), int(workers))
    except KeyboardInterrupt:
        sys.exit(130)


@contextmanager
def started(fake: Fake, folder: Path, workers: int) -> Iterator[subprocess.Popen[str]]:
    arguments = [str(folder), str(fake.diary), str(fake.nap), str(workers)]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from laboratory.tests.test_bench_sweep_stops import main; main(*sys.argv[2:])"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parents[2]), *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


# --- processes ---


def test_workers_have_one_thread_and_no_ear_for_ctrl_c_and_this_process_stays_as_it_was(fake, folder, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    run(fake, folder, 2, seeds=[0])
    lines = [line.split() for line in (fake.diary / "runs").read_text().splitlines()]
    assert {(line[2], line[3]) for line in lines} == {("1", "True")}
    assert str(os.getpid()) not in {line[4] for line in lines}
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert os.environ["OPENBLAS_NUM_THREADS"] == "5"
    assert "MKL_NUM_THREADS" not in os.environ


def test_ctrl_c_waits_until_a_process_is_fully_started():
    """Another thread takes the signal, as those of BLAS do."""
    begun, steps = threading.Event(), []
    other = threading.Thread(target=lambda: begun.wait() and signal.raise_signal(signal.SIGINT))
    other.start()

    def start() -> None:
        with quiet_birth():
            begun.set()
            other.join()
            steps.append("started")
        steps.append("never reached")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps == ["started"]
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


# --- what goes wrong ---


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_names_its_task_and_keeps_what_is_finished(fake, folder, workers, capsys):
    with pytest.raises(
        SweepError, match=r"Task 0.9-100, seed 1 failed: ValueError: a wheel came off\. Finished"
    ) as raised:
        run(replace(fake, trouble="raise", nap=0.1), folder, workers)
    assert "run the same command again" in str(raised.value)
    assert "in fail" in capsys.readouterr().err  # the traceback of the process it happened in
    assert not (folder / "results.parquet").exists()
    begun = set(runs(fake))
    assert finished(folder) == begun - {("0.9-100", 1)}  # those under way were let finish
    assert len(begun) < TASKS
    assert digest(run(fake, folder)) == expected(fake)
    assert {task for task, count in runs(fake).items() if count > 1} == {("0.9-100", 1)}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_meant_for_the_user_reaches_the_user_whole(fake, folder, workers, capsys):
    with pytest.raises(SweepError, match=r"seed 0 failed: salt: is spoilt. Buy new salt. Finished work") as raised:
        run(replace(fake, trouble="open"), folder, workers)
    assert raised.value.exit_code == 1
    assert capsys.readouterr().err == ""


def test_scores_that_were_not_asked_for_are_the_tasks_failure(fake, folder):
    with pytest.raises(SweepError, match=r"0\.0-100, seed 0 failed: .*not the ones it was asked for"):
        run(replace(fake, trouble="lazy"), folder)
    assert finished(folder) == set()


def test_a_worker_that_dies_is_said_to_have_died(fake, folder):
    with pytest.raises(SweepError, match=r"worker process died.*0.9-100, seed 1.*run the same command again"):
        run(replace(fake, trouble="die"), folder, 2)
    assert all_dead(fake)
    before = finished(folder)
    assert before
    counts = runs(fake)
    assert digest(run(fake, folder)) == expected(fake)
    assert all(runs(fake)[task] == counts[task] for task in before)


def test_what_finished_beside_a_dying_worker_is_kept():
    lost, done = Future[str | Failure](), Future[str | Failure]()
    lost.set_exception(BrokenProcessPool())
    done.set_result("scores")
    kept = []
    with pytest.raises(BrokenProcessPool):
        _collect(
            {lost: Task("a", 0, ()), done: Task("b", 0, ())}, lambda task, scores: kept.append((task.group, scores))
        )
    assert kept == [("b", "scores")]


def test_a_folder_is_for_one_sweep_at_a_time(fake, folder):
    with (
        opened(folder, fake, print),
        pytest.raises(UsageError, match=rf"in use by another sweep \(process {os.getpid()}\)"),
    ):
        run(fake, folder)
    run(fake, folder)


@pytest.mark.parametrize("spoilt", ["sweep", "sweep/tasks", "sweep/lock"])
def test_a_folder_that_cannot_be_used_is_refused_before_any_work(fake, tmp_path, spoilt):
    path = tmp_path / spoilt
    path.parent.mkdir(exist_ok=True)
    if path.name == "lock":
        path.mkdir()
    else:
        path.write_text("mine")
    with pytest.raises(UsageError, match="another folder with -o"):
        run(fake, tmp_path / "sweep")
    assert not runs(fake)
    assert path.is_dir() or path.read_text() == "mine"


@pytest.mark.parametrize("asked", [{"cells": []}, {"seeds": []}, {"families": []}, {"workers": 0}])
def test_nothing_to_do_is_an_error(fake, folder, asked):
    with pytest.raises(UsageError, match="at least"):
        run(fake, folder, **asked)


# --- stopped from outside ---


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_any_moment_it_goes_on_and_runs_nothing_twice(fake, folder, workers):
    kept: set[tuple[str, int]] = set()
    counts: Counter[tuple[str, int]] = Counter()
    for moment in MOMENTS:
        with started(replace(fake, nap=0.05), folder, workers) as process:
            assert until(lambda before=counts: runs(fake).total() > before.total())
            time.sleep(moment)
            process.kill()
        assert all_dead(fake)
        assert {task for task in kept if runs(fake)[task] > counts[task]} == set()
        kept, counts = finished(folder), runs(fake)
    assert 0 < len(kept) < TASKS
    assert digest(run(fake, folder)) == expected(fake)
    assert {task for task in kept if runs(fake)[task] > counts[task]} == set()


def test_workers_do_not_outlive_a_killed_parent(fake, folder):
    with started(replace(fake, nap=LONG), folder, 2) as process:
        assert until(lambda: len(runs(fake)) == 2)
        assert not all_dead(fake, 0.0)
        process.kill()
        assert all_dead(fake, 2.0)
    assert len(runs(fake)) == 2


def test_ctrl_c_stops_quickly_and_says_how_to_go_on(fake, folder):
    """The whole group gets the signal, as from a terminal."""
    run(fake, folder, seeds=[0])
    with started(replace(fake, nap=LONG), folder, 2) as process:
        assert until(lambda: len(runs(fake)) == 6)
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        message = process.communicate(timeout=10)[1]
        assert time.monotonic() - begun < 3
    assert process.returncode == 130
    assert message == f"Stopped. Finished work is kept in {folder}; run the same command again to go on.\n"
    assert all_dead(fake)
    assert len(finished(folder)) == 4
    assert digest(run(fake, folder)) == expected(fake)


def test_ctrl_c_in_this_process_keeps_what_is_finished(fake, folder, capsys):
    with pytest.raises(KeyboardInterrupt):
        run(replace(fake, trouble="interrupt"), folder)
    assert "run the same command again" in capsys.readouterr().err
    assert finished(folder) == set(runs(fake)) - {fake.where}

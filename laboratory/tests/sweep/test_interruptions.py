"""Sweeps that fail or are stopped: finished tasks remain, no process is left over, and the scores do not change."""

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
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from deconfound_bench.results import scores_digest
from deconfound_bench.sweep import SweepError
from deconfound_bench.sweep.folder import locked_folder

from deconfound.errors import UsageError
from laboratory.tests.support.fake_benchmark import (
    TASKS,
    FakeBenchmark,
    expected_digest,
    finished_tasks,
    run_counts,
    run_fake_sweep,
)

ROOT = Path(__file__).parents[3]
LONG = 60.0  # seconds; longer than any test may take


def wait_until(condition, seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def all_dead(benchmark: FakeBenchmark, seconds: float = 2.0) -> bool:
    """Whether every process that opened the benchmark ends in time."""

    def lock_is_free() -> bool:
        with (benchmark.history / "alive").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    return wait_until(lock_is_free, seconds)


@contextmanager
def sweep_in_process(benchmark: FakeBenchmark, folder: Path, workers: int) -> Iterator[subprocess.Popen[str]]:
    arguments = [str(folder), str(benchmark.history), str(benchmark.task_seconds), str(workers)]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from laboratory.tests.support.fake_benchmark import sweep_process; sweep_process(*sys.argv[2:])"
    )
    command = [sys.executable, "-c", code, str(ROOT), *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


# --- processes ---


def test_workers_have_one_thread_and_ignore_ctrl_c_and_the_parent_is_restored(
    fake_benchmark, sweep_folder, monkeypatch
):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    run_fake_sweep(fake_benchmark, sweep_folder, 2, seeds=[0])
    lines = [line.split() for line in (fake_benchmark.history / "runs").read_text().splitlines()]
    assert {(threads, blocked) for _, _, threads, blocked, _ in lines} == {("1", "True")}
    assert str(os.getpid()) not in {process for *_, process in lines}
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert os.environ["OPENBLAS_NUM_THREADS"] == "5"
    assert "MKL_NUM_THREADS" not in os.environ


# --- failures ---


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_names_its_task_and_finished_tasks_remain(fake_benchmark, sweep_folder, workers, capsys):
    with pytest.raises(
        SweepError, match=r"Task 0.9-100, seed 1 failed: ValueError: division of nothing\. Finished"
    ) as raised:
        run_fake_sweep(replace(fake_benchmark, fault="raise", task_seconds=0.05), sweep_folder, workers)
    assert "run the same command again" in str(raised.value)
    assert "in fail" in capsys.readouterr().err  # the traceback of the worker process
    assert not (sweep_folder / "results.parquet").exists()
    started = set(run_counts(fake_benchmark))
    assert finished_tasks(sweep_folder) == started - {("0.9-100", 1)}  # running tasks were allowed to finish
    assert len(started) < TASKS
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
    assert {task for task, count in run_counts(fake_benchmark).items() if count > 1} == {("0.9-100", 1)}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_written_for_the_user_is_shown_in_full(fake_benchmark, sweep_folder, workers, capsys):
    with pytest.raises(SweepError, match=r"seed 0 failed: salt: is damaged. Write it again. Finished task") as raised:
        run_fake_sweep(replace(fake_benchmark, fault="open"), sweep_folder, workers)
    assert raised.value.exit_code == 1
    assert capsys.readouterr().err == ""


def test_returning_other_scores_than_requested_is_a_failure_of_the_task(fake_benchmark, sweep_folder):
    with pytest.raises(SweepError, match=r"0\.0-100, seed 0 failed: .*not the requested ones"):
        run_fake_sweep(replace(fake_benchmark, fault="incomplete"), sweep_folder)
    assert finished_tasks(sweep_folder) == set()


def test_a_dead_worker_is_reported_and_finished_tasks_remain(fake_benchmark, sweep_folder):
    with pytest.raises(SweepError, match=r"0.9-100, seed 1: the worker process died.*run the same command again"):
        run_fake_sweep(replace(fake_benchmark, fault="die"), sweep_folder, 2)
    assert all_dead(fake_benchmark)
    before = finished_tasks(sweep_folder)
    assert before
    counts = run_counts(fake_benchmark)
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
    assert all(run_counts(fake_benchmark)[task] == counts[task] for task in before)


def test_a_worker_that_is_killed_costs_a_retry_and_changes_no_score(fake_benchmark, sweep_folder):
    """Killed from outside, as by a system that is short of memory."""
    counts = threading.Thread(target=kill_first_worker, args=(fake_benchmark,))
    counts.start()
    scores = run_fake_sweep(replace(fake_benchmark, task_seconds=0.3), sweep_folder, 2)
    counts.join()
    assert scores_digest(scores) == expected_digest(fake_benchmark)
    assert run_counts(fake_benchmark).total() == TASKS + 1


def kill_first_worker(benchmark: FakeBenchmark) -> None:
    assert wait_until(lambda: run_counts(benchmark).total() > 0)
    os.kill(int((benchmark.history / "runs").read_text().split()[4]), signal.SIGKILL)


def test_a_folder_is_locked_by_one_sweep_at_a_time(fake_benchmark, sweep_folder):
    with (
        locked_folder(sweep_folder, fake_benchmark, print),
        pytest.raises(UsageError, match=rf"in use by another sweep \(process {os.getpid()}\)"),
    ):
        run_fake_sweep(fake_benchmark, sweep_folder)
    run_fake_sweep(fake_benchmark, sweep_folder)


@pytest.mark.parametrize("blocked", ["sweep", "sweep/tasks", "sweep/.sweep.lock"])
def test_an_unusable_folder_is_rejected_before_any_work(fake_benchmark, tmp_path, blocked):
    path = tmp_path / blocked
    path.parent.mkdir(exist_ok=True)
    if path.name == ".sweep.lock":
        path.mkdir()
    else:
        path.write_text("mine")
    with pytest.raises(UsageError, match="another folder with -o"):
        run_fake_sweep(fake_benchmark, tmp_path / "sweep")
    assert not run_counts(fake_benchmark)
    assert path.is_dir() or path.read_text() == "mine"


@pytest.mark.parametrize("request_part", [{"cells": []}, {"seeds": []}, {"families": []}, {"workers": 0}])
def test_an_empty_request_is_an_error(fake_benchmark, sweep_folder, request_part):
    with pytest.raises(UsageError, match="at least"):
        run_fake_sweep(fake_benchmark, sweep_folder, **request_part)


# --- stopped from outside ---


@pytest.mark.parametrize(
    ("workers", "moments"),
    [
        (2, (0.0,)),
        pytest.param(1, (0.011, 0.137, 0.064), marks=pytest.mark.slow),
        pytest.param(2, (0.011, 0.137, 0.064), marks=pytest.mark.slow),
    ],
    ids=["once", "three times", "three times with two workers"],
)
def test_a_killed_sweep_resumes_without_repeating_finished_tasks(fake_benchmark, sweep_folder, workers, moments):
    """Killed some moments (in seconds) after its first task has started, and not before a task has finished."""
    finished: set[tuple[str, int]] = set()
    counts: Counter[tuple[str, int]] = Counter()
    for moment in moments:
        with sweep_in_process(replace(fake_benchmark, task_seconds=0.05), sweep_folder, workers) as process:
            assert wait_until(lambda before=counts: run_counts(fake_benchmark).total() > before.total())
            time.sleep(moment)
            assert wait_until(lambda: finished_tasks(sweep_folder))
            process.kill()
        assert all_dead(fake_benchmark)
        assert {task for task in finished if run_counts(fake_benchmark)[task] > counts[task]} == set()
        finished, counts = finished_tasks(sweep_folder), run_counts(fake_benchmark)
    assert 0 < len(finished) < TASKS
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
    assert {task for task in finished if run_counts(fake_benchmark)[task] > counts[task]} == set()


def test_workers_end_when_their_parent_is_killed(fake_benchmark, sweep_folder):
    with sweep_in_process(replace(fake_benchmark, task_seconds=LONG), sweep_folder, 2) as process:
        assert wait_until(lambda: len(run_counts(fake_benchmark)) == 2)
        assert not all_dead(fake_benchmark, 0.0)
        process.kill()
        assert all_dead(fake_benchmark, 2.0)
    assert len(run_counts(fake_benchmark)) == 2


def test_ctrl_c_stops_quickly_and_prints_how_to_continue(fake_benchmark, sweep_folder):
    """The whole process group gets the signal, as from a terminal."""
    run_fake_sweep(fake_benchmark, sweep_folder, seeds=[0])
    with sweep_in_process(replace(fake_benchmark, task_seconds=LONG), sweep_folder, 2) as process:
        assert wait_until(lambda: len(run_counts(fake_benchmark)) == 6)
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        message = process.communicate(timeout=10)[1]
        assert time.monotonic() - start < 3
    assert process.returncode == 130
    advice = f"Finished tasks are saved in {sweep_folder}; run the same command again to continue."
    assert message == f"Stopped. {advice}\n"
    assert all_dead(fake_benchmark)
    assert len(finished_tasks(sweep_folder)) == 4
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)


def test_ctrl_c_with_one_worker_leaves_finished_tasks_saved(fake_benchmark, sweep_folder, capsys):
    with pytest.raises(KeyboardInterrupt):
        run_fake_sweep(replace(fake_benchmark, fault="interrupt"), sweep_folder)
    assert "run the same command again" in capsys.readouterr().err
    assert finished_tasks(sweep_folder) == set(run_counts(fake_benchmark)) - {fake_benchmark.faulty_task}

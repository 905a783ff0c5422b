"""Sweeps: whatever stops them, what is finished stays, and the numbers are the same in the end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from io import StringIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deconfound.bench.results import Cell, Choice, Score, read_scores, to_table
from deconfound.bench.sweep import Bar, SweepError, Task, digest, select, sweep
from deconfound.bench.sweep.birth import quiet_birth
from deconfound.bench.sweep.files import write
from deconfound.bench.sweep.folder import opened
from deconfound.bench.sweep.pool import Failure, _collect
from deconfound.errors import DataError, Problem, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

CELLS = tuple(Cell(c, n, m, "plain") for c, n, m in product((0.0, 0.9), (100, 200), (10, 20)))
SEEDS = (0, 1, 2)
FAMILIES = ("second", "first")  # not in the order of the alphabet
TASKS = 4 * len(SEEDS)  # the fake groups cells by confounding and n_log
LONG = 60.0  # seconds; longer than any test may take
MOMENTS = (0.011, 0.137, 0.064)  # seconds after the first task has begun


@dataclass(frozen=True, slots=True)
class Fake:
    """Scores out of a hash; with a diary of what ran, a nap and a trouble to order."""

    diary: Path
    nap: float = 0.0
    trouble: str = ""
    where: tuple[str, int] = ("0.9-100", 1)
    version: int = 1
    timed: bool = False
    name: str = "fake"

    @property
    def constants(self) -> str:
        return json.dumps({"version": self.version, "level": 0.1 + 0.2})

    def group(self, cell: Cell) -> str:
        return f"{cell.confounding}-{cell.n_log}"

    def prepare(self, directory: Path, progress) -> None:
        progress("preparing", 0.5)
        (directory / "salt").write_text("salt")

    def open(self, directory: Path) -> FakeWorker:
        if self.trouble == "open":
            raise DataError([Problem("salt", "is spoilt", "Buy new salt.")])
        self.diary.mkdir(exist_ok=True)
        return FakeWorker(self, (directory / "salt").read_text(), Life(self.diary / "alive"))


class Life:
    """A lock held as long as its process or its owner lives; no process identifier is as sure a sign."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.handle, fcntl.LOCK_SH)

    def __del__(self) -> None:
        os.close(self.handle)


@dataclass(frozen=True, slots=True)
class FakeWorker:
    fake: Fake
    salt: str
    life: Life | None

    def run(self, task: Task) -> list[Score]:
        with (self.fake.diary / "runs").open("a") as file:
            deaf = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            file.write(f"{task.group} {task.seed} {os.environ.get('OPENBLAS_NUM_THREADS')} {deaf} {os.getpid()}\n")
        if self.fake.trouble and (task.group, task.seed) == self.fake.where:
            self.fail()
        time.sleep(self.fake.nap)
        scores = [self.score(cell, task.seed, family) for cell, family in task.wanted]
        return scores[1:] if self.fake.trouble == "lazy" else scores

    def fail(self) -> None:
        if self.fake.trouble == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fake.trouble == "raise":
            raise ValueError("a wheel came off")
        if self.fake.trouble == "interrupt":
            raise KeyboardInterrupt

    def score(self, cell: Cell, seed: int, family: str) -> Score:
        drawn = sha256(f"{self.salt} {cell} {seed} {family}".encode()).digest()
        numbers = [int.from_bytes(drawn[i : i + 6], "big") / 3**30 for i in range(5)]
        seconds = time.perf_counter() if self.fake.timed else 0.25
        choice = Choice(penalty=numbers[0] / 7, mode="fixed", basis=None if seed else "linear")
        return Score(self.fake.name, cell, seed, family, *numbers, float("nan"), seconds, choice)


@pytest.fixture
def fake(tmp_path) -> Fake:
    return Fake(tmp_path / "diary")


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "sweep"


def run(fake: Fake, folder: Path, workers: int = 1, cells=CELLS, seeds=SEEDS, families=FAMILIES) -> tuple[Score, ...]:
    return sweep(fake, cells, seeds, families, folder, workers, Bar(quiet=True))


def runs(fake: Fake) -> Counter[tuple[str, int]]:
    """How often each task was begun."""
    lines = (fake.diary / "runs").read_text().splitlines() if (fake.diary / "runs").exists() else []
    return Counter((line.split()[0], int(line.split()[1])) for line in lines)


def finished(folder: Path) -> set[tuple[str, int]]:
    bodies = [json.loads(path.read_text())["body"] for path in (folder / "tasks").glob("*.json")]
    return {(body["group"], body["seed"]) for body in bodies}


def table(folder: Path) -> pa.Table:
    import pyarrow.parquet as pq  # not above: worker processes import this file and do not need it

    return pq.read_table(folder / "results.parquet")


def expected(fake: Fake, cells: Iterable[Cell] = CELLS, seeds: Iterable[int] = SEEDS) -> str:
    worker = FakeWorker(fake, "salt", None)
    return digest([worker.score(*key) for key in product(cells, seeds, FAMILIES)])


# --- what comes out


def test_every_score_asked_for_comes_out_in_the_order_of_the_table(fake, folder):
    scores = run(fake, folder)
    assert [one.key for one in scores] == list(product(CELLS, SEEDS, FAMILIES))
    assert digest(scores) == expected(fake)
    assert str(table(folder).to_pylist()) == str(to_table(scores, FAMILIES).to_pylist())
    assert digest(read_scores(folder / "results.parquet")) == digest(scores)
    assert sum(runs(fake).values()) == TASKS


def test_the_folder_says_what_the_results_were_made_with(fake, folder):
    run(fake, folder)
    stored = json.loads((folder / "constants.json").read_text())
    assert stored == {"benchmark": "fake", "constants": json.loads(fake.constants)}
    metadata = table(folder).schema.metadata
    assert metadata[b"benchmark"] == b"fake"
    assert metadata[b"constants"].decode() == fake.constants


def test_any_number_of_workers_gives_the_same_bytes(fake, tmp_path):
    tables = []
    for workers in (1, 2, 3):
        run(fake, tmp_path / f"by{workers}", workers)
        tables.append((tmp_path / f"by{workers}" / "results.parquet").read_bytes())
    assert tables[0] == tables[1] == tables[2]


def test_the_digest_overlooks_times_and_order_and_nothing_else(fake, folder):
    scores = run(replace(fake, timed=True), folder)
    assert digest(scores) == expected(fake)
    assert digest(scores[::-1]) == digest(scores)
    assert digest([replace(scores[0], seconds=-1.0), *scores[1:]]) == digest(scores)
    regret = scores[0].regret
    other_last_bit = replace(scores[0], regret=regret + 2**-52 * regret)
    assert digest([other_last_bit, *scores[1:]]) != digest(scores)
    assert digest([replace(scores[0], choice=Choice()), *scores[1:]]) != digest(scores)


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


def test_early_seeds_come_first_for_all_cells(fake, folder):
    run(fake, folder, seeds=[2, 0, 1])
    assert [seed for _, seed in runs(fake)] == [0] * 4 + [1] * 4 + [2] * 4


# --- going on


def test_a_second_sweep_runs_nothing_and_leaves_the_same_bytes(fake, folder):
    run(replace(fake, timed=True), folder)
    before = (folder / "results.parquet").read_bytes()
    run(replace(fake, timed=True, trouble="open"), folder)
    assert (folder / "results.parquet").read_bytes() == before


def test_more_seeds_cells_or_families_run_only_what_is_new(fake, folder):
    run(fake, folder, cells=CELLS[:3], seeds=[1], families=["first"])
    assert runs(fake) == {("0.0-100", 1): 1, ("0.0-200", 1): 1}
    asked: list[Task] = []

    @dataclass(frozen=True)
    class Watched(Fake):
        def open(self, directory: Path):
            worker = Fake.open(self, directory)

            class Watch:
                def run(self, task):
                    asked.append(task)
                    return worker.run(task)

            return Watch()

    scores = run(Watched(fake.diary), folder)
    assert digest(scores) == expected(fake)
    again = {(cell, 1, "first") for cell in CELLS[:3]} & {key for task in asked for key in task.keys}
    assert again == set()
    assert sum(len(task.wanted) for task in asked) == len(scores) - 3


def test_a_family_can_be_left_out_of_some_cells(fake, folder):
    def only(cell, family):
        return family == "first" or cell.confounding == 0.0

    scores = sweep(fake, CELLS, SEEDS, FAMILIES, folder, 1, Bar(quiet=True), only=only)
    assert {one.key for one in scores} == {key for key in everything() if only(key[0], key[2])}
    assert digest(read_scores(folder / "results.parquet")) == digest(scores)
    assert len(run(fake, folder)) == len(everything())


def everything():
    return {(cell, seed, family) for cell in CELLS for seed in SEEDS for family in FAMILIES}


def test_asking_for_less_gives_exactly_that(fake, folder):
    run(fake, folder)
    scores = run(fake, folder, cells=CELLS[1:3], seeds=[2], families=["first"])
    assert [one.key for one in scores] == [(cell, 2, "first") for cell in CELLS[1:3]]
    assert len(table(folder)) == 2
    assert digest(run(fake, folder)) == expected(fake)
    assert sum(runs(fake).values()) == TASKS


@pytest.mark.parametrize("damage", ["cut", "empty", "number", "constants", "binary", "list"])
def test_a_damaged_task_file_is_run_again(fake, folder, damage, capsys):
    run(fake, folder)
    path = sorted((folder / "tasks").glob("*.json"))[5]
    whole = path.read_bytes()
    damaged = {
        "cut": whole[:-40],
        "empty": b"",
        "number": whole.replace(b'"regret":', b'"regret":1', 1),
        "constants": whole.replace(b'"constants":"', b'"constants":"0', 1),
        "binary": b"\xff\xfe\x00",
        "list": b"[]",
    }
    path.write_bytes(damaged[damage])
    assert digest(run(fake, folder)) == expected(fake)
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(runs(fake).values()) == [1] * (TASKS - 1) + [2]
    assert path.read_bytes() == whole


def test_half_written_files_are_removed(fake, folder, capsys):
    run(fake, folder)
    half = folder / "tasks" / ".00001-0123456789abcdef.json.tmp"
    half.write_text('{"sha256": "')
    run(fake, folder)
    assert not half.exists()
    assert "1 half-written or damaged files are removed" in capsys.readouterr().err
    assert sum(runs(fake).values()) == TASKS


def test_damaged_constants_are_written_again_when_the_tasks_agree(fake, folder, capsys):
    run(fake, folder)
    (folder / "constants.json").write_text('{"bench')
    run(fake, folder)
    assert "constants.json is damaged" in capsys.readouterr().err
    assert json.loads((folder / "constants.json").read_text())["benchmark"] == "fake"
    assert sum(runs(fake).values()) == TASKS


@pytest.mark.parametrize("change", [{"version": 2}, {"name": "other"}])
@pytest.mark.parametrize("lost", [False, True])
def test_results_of_other_constants_are_refused_and_left_alone(fake, folder, change, lost):
    run(fake, folder)
    if lost:
        (folder / "constants.json").unlink()
    with pytest.raises(UsageError, match=r"other constants.*another folder with -o, or delete") as raised:
        run(replace(fake, **change), folder)
    assert str(folder) in str(raised.value)
    assert digest(run(fake, folder)) == expected(fake)
    assert sum(runs(fake).values()) == TASKS


def test_a_folder_prepared_for_other_constants_is_refused_before_any_task_is_there(fake, folder):
    with pytest.raises(SweepError):
        run(replace(fake, trouble="open"), folder)
    assert finished(folder) == set()
    with pytest.raises(UsageError, match="other constants"):
        run(replace(fake, version=2), folder)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_file_that_cannot_be_written_to_the_end_leaves_the_old_one(tmp_path, monkeypatch, error):
    def fail(_handle: int) -> None:
        raise error

    write(tmp_path / "results", b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        write(tmp_path / "results", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("results", b"old")]


# --- what goes wrong


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


# --- stopped from outside


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
    code = "import sys; sys.path.insert(0, sys.argv[1]); from test_bench_sweep import main; main(*sys.argv[2:])"
    command = [sys.executable, "-c", code, str(Path(__file__).parent), *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


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


# --- the bar


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


# --- choosing cells


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("confounding=0.9", 4),
        ("confounding=0.9,n_log=100", 2),
        ("n_experiment=10|20, confounding = 0", 4),
        ("n_log=100,n_log=2e2", 8),
        ("reward=plain,n_log=200,n_experiment=20,confounding=0.90", 1),
    ],
)
def test_conditions_choose_cells(text, count):
    chosen = select(CELLS, text)
    assert len(chosen) == count
    assert list(chosen) == [cell for cell in CELLS if cell in chosen]


def test_conditions_of_one_name_are_alternatives_and_of_two_must_both_hold():
    assert select(CELLS, "n_log=100|200,confounding=0.9") == tuple(cell for cell in CELLS if cell.confounding == 0.9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n_logs=100", "The names are confounding, n_log, n_experiment, reward"),
        ("n_log", "n_experiment=20"),
        ("", "The names are"),
        ("n_log=300", "n_log 100, 200"),
        ("n_log=many", "n_log 100, 200"),
        ("confounding=nan", "confounding 0.0, 0.9"),
        ("reward=plain|fancy", "reward plain"),
    ],
)
def test_unknown_names_and_values_are_refused_with_what_there_is(text, said):
    with pytest.raises(UsageError) as raised:
        select(CELLS, text)
    assert said in str(raised.value)


def test_conditions_that_no_cell_meets_at_once_are_refused_with_the_cells():
    cells = (CELLS[0], CELLS[-1])
    with pytest.raises(UsageError, match=r"confounding=0.9,n_log=200,n_experiment=20,reward=plain"):
        select(cells, "confounding=0.0,n_log=200")

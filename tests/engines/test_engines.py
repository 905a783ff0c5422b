"""The contract of all engines: results in order, errors as they were, lost workers replaced, nothing left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deconfound.engines import (
    Engine,
    EngineOptions,
    LostWorkerError,
    Task,
    TaskError,
    map_as_completed,
    map_in_order,
    map_merge,
    open_engine,
)
from deconfound.engines.process_engine import ProcessEngine
from deconfound.engines.thread_engine import ThreadEngine
from deconfound.errors import DataError, EvidenceError, UsageError
from deconfound.threads import THREAD_PREFIX, parallel_map
from tests.support import engine_tasks
from tests.support.engine_tasks import payloads, task
from tests.support.engine_workers import dask_cluster, process_ends, write_parts
from tests.support.small_disk import mounted_disk

ROOT = Path(__file__).parents[2]
LOCAL = {
    "one thread": lambda: ThreadEngine(1),
    "threads": lambda: ThreadEngine(2),
    "processes": lambda: ProcessEngine(2),
}
LOSING = ("processes", "dask", "ray")  # engines whose workers can be lost


@pytest.fixture(params=[*LOCAL, "dask", "ray"])
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    pytest.importorskip("distributed", reason="Dask is not installed")
    with dask_cluster(workers=2) as address:
        yield address


@pytest.fixture(scope="module")
def ray_engine() -> Iterator[Engine]:
    """One for all tests: Ray takes many seconds to start."""
    pytest.importorskip("ray", reason="Ray is not installed")
    with open_engine(EngineOptions("ray", workers=2)) as started:
        yield started


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "disk") as place:
        yield place


@pytest.fixture
def engine(name: str, request: pytest.FixtureRequest) -> Iterator[Engine]:
    if name == "ray":
        yield request.getfixturevalue("ray_engine")
    elif name == "dask":
        with open_engine(EngineOptions("dask", request.getfixturevalue("scheduler"))) as started:
            yield started
    else:
        with LOCAL[name]() as started:
            yield started


# --- results ---


def test_results_are_in_the_order_of_the_payloads(engine, tmp_path):
    waits = [0.2, 0.0, 0.1, 0.0, 0.05, 0.0, 0.0]
    results = map_in_order(engine, task(engine_tasks.wait, str(tmp_path).encode()), payloads(*waits))
    assert [json.loads(result) for result in results] == waits


def test_payloads_are_not_read_before_they_can_be_used(engine, tmp_path):
    """Memory is for ``in_flight`` payloads and results, not for all of them."""
    read = 0

    def reading():
        nonlocal read
        for payload in payloads(*[0.0] * 60):
            read += 1
            yield payload

    for at, _ in enumerate(map_in_order(engine, task(engine_tasks.wait, str(tmp_path).encode()), reading())):
        assert read <= at + engine.in_flight + 1


def test_a_task_has_what_it_shares_and_tasks_may_alternate(engine):
    for shared in (b"first", b"", b"second"):
        results = map_in_order(engine, task(engine_tasks.repeat, shared), payloads(1, 2, 3))
        assert list(results) == [shared + b" 1", shared + b" 2", shared + b" 3"]


def test_large_payloads_and_results_arrive_whole(engine):
    large = "x" * 5_000_000
    (result,) = map_in_order(engine, task(engine_tasks.repeat, b"y" * 3_000_000), payloads(large))
    assert result == b"y" * 3_000_000 + b' "' + large.encode() + b'"'


def test_sums_over_files_are_the_same_to_the_last_bit(engine, tmp_path):
    parts = write_parts(tmp_path)
    with ThreadEngine(1) as one:
        expected = map_merge(one, task(engine_tasks.sum_columns), parts, engine_tasks.read_sums, engine_tasks.add_sums)
    found = map_merge(engine, task(engine_tasks.sum_columns), parts, engine_tasks.read_sums, engine_tasks.add_sums)
    assert found["rows"] == 6000
    for array in expected:
        np.testing.assert_array_equal(found[array], expected[array])


def test_the_order_of_merging_would_change_the_sums(tmp_path):
    """Otherwise the test above could not fail."""
    parts = write_parts(tmp_path)
    with ThreadEngine(1) as one:
        forward, backward = (
            map_merge(one, task(engine_tasks.sum_columns), order, engine_tasks.read_sums, engine_tasks.add_sums)
            for order in (parts, parts[::-1])
        )
    assert (forward["gram"] != backward["gram"]).any()


def test_there_is_no_sum_of_nothing():
    with ThreadEngine(1) as one, pytest.raises(UsageError, match="nothing to merge"):
        map_merge(one, task(engine_tasks.repeat), [], len, int.__add__)


def test_results_may_come_as_they_finish(engine, tmp_path):
    results = map_as_completed(engine, task(engine_tasks.wait, str(tmp_path).encode()), payloads(*[0.01] * 7))
    assert sorted((number, json.loads(future.result())) for number, future in results) == [
        (at, 0.01) for at in range(7)
    ]


# --- errors of tasks ---


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        ("data", DataError, "a.csv row 2: no outcome. Add it.\nb.csv: empty. Fill it."),
        ("usage", UsageError, "Not like this."),
        ("evidence", EvidenceError, "Too few rows."),
        ("value", TaskError, "part 1: ValueError: division of\\nnothing"),
        ("memory", MemoryError, "too large"),
        ("file", FileNotFoundError, "[Errno 2] No such file or directory: '/nowhere/at all'"),
    ],
)
def test_an_error_of_a_task_arrives_as_what_it_was(engine, error, kind, message):
    with pytest.raises(kind) as raised:
        list(map_in_order(engine, task(engine_tasks.fail), payloads("fine", error, "fine")))
    assert str(raised.value) == message
    assert type(raised.value) is kind


def test_all_problems_of_the_data_arrive_and_so_does_the_traceback_of_a_defect(engine):
    with pytest.raises(DataError) as raised:
        list(map_in_order(engine, task(engine_tasks.fail), payloads("data")))
    assert [problem.where for problem in raised.value.problems] == ["a.csv row 2", "b.csv"]
    with pytest.raises(TaskError) as defect:
        list(map_in_order(engine, task(engine_tasks.fail), payloads("value")))
    assert "engine_tasks.py" in defect.value.trace
    assert defect.value.what == "ValueError: division of\\nnothing"


def test_an_error_while_opening_a_task_arrives_too(engine):
    with pytest.raises(DataError, match="salt: is damaged"):
        list(map_in_order(engine, task(engine_tasks.refuse_to_open), payloads(1)))


def test_a_task_that_does_not_exist_is_named(engine):
    with pytest.raises(TaskError, match=r"part 0: AttributeError: .*no_such_task"):
        list(map_in_order(engine, Task(engine_tasks.MODULE, "no_such_task"), payloads(1)))


def test_after_a_failure_what_runs_is_finished_and_nothing_new_is_started(engine):
    done = dict(map_as_completed(engine, task(engine_tasks.fail), payloads(*["fine"] * 3, "value", *["fine"] * 60)))
    assert isinstance(done[3].exception(), TaskError)
    assert len(done) - 1 - list(done).index(3) <= engine.in_flight  # whatever had finished before
    assert all(future.exception() is None for number, future in done.items() if number != 3)


def test_an_engine_works_on_after_an_error(engine):
    with pytest.raises(TaskError):
        list(map_in_order(engine, task(engine_tasks.fail), payloads("fine", "value", "fine")))
    assert len(list(map_in_order(engine, task(engine_tasks.fail), payloads("fine", "fine")))) == 2


def test_a_full_disk_is_an_error_with_the_name_of_the_payload(engine, small_disk):
    """The system does not say which file could not grow."""
    with pytest.raises(OSError, match="No space left on device: 'part 1'"):
        list(map_in_order(engine, task(engine_tasks.fail, str(small_disk / "sums").encode()), payloads("fine", "disk")))


# --- lost workers ---


@pytest.mark.parametrize("name", LOSING)
def test_a_worker_that_dies_costs_a_retry(engine, tmp_path):
    contents = ["a", "once", "b", "c", "d"]
    results = map_in_order(engine, task(engine_tasks.die, str(tmp_path).encode()), payloads(*contents))
    assert [json.loads(result) for result in results] == contents
    assert (tmp_path / "died-once").read_text() == "x"


@pytest.mark.parametrize("name", LOSING)
def test_a_payload_that_kills_every_worker_is_named_after_some_tries(engine, tmp_path):
    with pytest.raises(LostWorkerError, match=r"part 2: the worker process died on it at every try"):
        list(map_in_order(engine, task(engine_tasks.die, str(tmp_path).encode()), payloads("a", "b", "always", "c")))
    assert 3 <= len((tmp_path / "died-always").read_text()) <= 5


@pytest.mark.parametrize("name", LOSING)
def test_a_worker_killed_in_mid_run_changes_no_number(engine, tmp_path):
    """``kill -9`` from outside, while other payloads are with other workers."""
    parts = write_parts(tmp_path)
    with ThreadEngine(1) as one:
        expected = map_merge(one, task(engine_tasks.sum_columns), parts, engine_tasks.read_sums, engine_tasks.add_sums)
    waiting = task(engine_tasks.wait, str(tmp_path).encode())
    results, started = [], tmp_path / "started"

    def kill_the_first() -> None:
        while not (started.exists() and started.read_text().endswith("\n")):
            time.sleep(0.01)
        os.kill(int(started.read_text().split()[0]), signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    results = [json.loads(result) for result in map_in_order(engine, waiting, payloads(*[0.3] * 6))]
    killer.join()
    assert results == [0.3] * 6
    assert len(started.read_text().split()) >= 7  # one of them ran twice
    found = map_merge(engine, task(engine_tasks.sum_columns), parts, engine_tasks.read_sums, engine_tasks.add_sums)
    for array in expected:
        np.testing.assert_array_equal(found[array], expected[array])


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:99999"])
def test_an_address_without_a_ray_cluster_is_refused_within_seconds(address):
    pytest.importorskip("ray", reason="Ray is not installed")
    begin = time.monotonic()
    with pytest.raises(UsageError, match="no Ray cluster answers there"):
        open_engine(EngineOptions("ray", address)).__enter__()
    assert time.monotonic() - begin < 20


# --- processes and threads ---


def test_worker_processes_have_one_blas_thread_and_ignore_ctrl_c(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    with ProcessEngine(2) as engine:
        seen = [json.loads(one) for one in map_in_order(engine, task(engine_tasks.identify), payloads(*range(6)))]
    assert {(one["threads"], one["blocked"]) for one in seen} == {("1", True)}
    assert len({one["process"] for one in seen}) == 2
    assert os.getpid() not in {one["process"] for one in seen}
    assert os.environ["OPENBLAS_NUM_THREADS"] == "5"
    assert all(process_ends(one["process"]) for one in seen)


@pytest.mark.parametrize("error", [KeyboardInterrupt, UsageError])
def test_no_process_is_left_after_an_error(tmp_path, error):
    def interrupted() -> None:
        with ProcessEngine(2) as engine:
            results = map_in_order(engine, task(engine_tasks.wait, str(tmp_path).encode()), payloads(0, 0, 60, 60, 60))
            assert [next(results), next(results)] == [b"0", b"0"]
            while len((tmp_path / "started").read_text().split()) < 4:
                time.sleep(0.01)
            raise error

    with pytest.raises(error):
        interrupted()
    processes = set(map(int, (tmp_path / "started").read_text().split()))
    assert all(process_ends(process) for process in processes)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path, ending):
    """Killed, or stopped by Ctrl-C, which a terminal sends to the whole group."""
    code = (
        "from tests.support.engine_tasks import *; from deconfound.engines import *; import sys\n"
        "with open_engine(EngineOptions('processes', workers=2)) as engine:\n"
        "    list(map_in_order(engine, task(wait, sys.argv[1].encode()), payloads(60, 60, 60)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, stderr=subprocess.PIPE, start_new_session=True
    ) as parent:
        started = tmp_path / "started"
        while not (started.exists() and len(started.read_text().split()) == 2):
            assert parent.poll() is None
            time.sleep(0.01)
        begin = time.monotonic()
        os.killpg(parent.pid, ending)
        parent.wait(timeout=50)
        assert all(process_ends(int(process)) for process in started.read_text().split())
        assert time.monotonic() - begin < 50  # the payloads take 60 seconds


@pytest.mark.parametrize("error", [KeyboardInterrupt, UsageError])
def test_threads_end_between_the_steps_of_a_task_after_an_error(tmp_path, error):
    """Two tasks of 2,000 steps, or 20 seconds; the interrupt comes after the tenth."""
    steps = tmp_path / "steps"

    def interrupted() -> None:
        with ThreadEngine(2) as engine:
            results = map_in_order(
                engine, task(engine_tasks.take_steps, str(tmp_path).encode()), payloads(1, 2_000, 2_000)
            )
            assert next(results) == b"1"
            while len(steps.read_text().split()) < 10:
                time.sleep(0.01)
            raise error

    with pytest.raises(error):
        interrupted()
    working = [thread for thread in threading.enumerate() if thread.name.startswith(f"{THREAD_PREFIX}-part")]
    for thread in working:
        thread.join(timeout=60)
    assert len(steps.read_text().split()) < 1_000


def test_threads_begin_nothing_after_an_error(tmp_path):
    """The third payload follows the first; the fourth would follow the second, after the error."""

    def failing() -> None:
        with ThreadEngine(2) as engine:
            waiting = task(engine_tasks.wait, str(tmp_path).encode())
            assert next(map_in_order(engine, waiting, payloads(0.1, 1, 1, 1))) == b"0.1"
            raise UsageError("stop")

    with pytest.raises(UsageError, match="stop"):
        failing()
    time.sleep(1.5)
    assert len((tmp_path / "started").read_text().split()) <= 3


def test_threads_of_a_task_are_its_own_only_with_one_worker():
    """With several, the tasks themselves are spread over the threads."""
    caller = threading.current_thread().name
    with ThreadEngine(1) as one, ThreadEngine(3) as several:
        (alone,) = map_in_order(one, Task(__name__, "name_threads"), payloads(0))
        crowd = list(map_in_order(several, Task(__name__, "name_threads"), payloads(*range(3))))
    assert json.loads(alone)[0] == caller
    for names in map(json.loads, crowd):
        assert len(set(names)) == 1
        assert names[0] != caller


def name_threads(shared: bytes):  # noqa: ARG001
    """The thread of the task, and the threads that it spreads work over."""

    def run(content: bytes) -> bytes:  # noqa: ARG001
        spread = parallel_map(lambda _: threading.current_thread().name, range(3))
        return json.dumps([threading.current_thread().name, *spread]).encode()

    return run

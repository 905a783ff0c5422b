"""Real Dask clusters: two nodes, lost workers and schedulers, and workers with other code."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from deconfound.engines import EngineOptions, LostClusterError, map_in_order, open_engine
from deconfound.engines.dask_engine import DaskEngine
from deconfound.errors import UsageError
from tests.support import engine_tasks
from tests.support.engine_tasks import payloads, task
from tests.support.engine_workers import ROOT, dask_cluster, running, wait_for_line, worker_environment, write_parts
from tests.support.streams import write_study
from tests.support.two_nodes import Node, two_nodes

pytest.importorskip("distributed", reason="Dask is not installed")

pytestmark = pytest.mark.slow  # schedulers and workers start in time on an idle machine only

DASK = (sys.executable, "-m", "dask")
PAUSE = "0.3"  # seconds per payload, so that a worker can be killed in mid-run


def run(work: str, engine: str, scheduler: str, folder: Path, on: Node | None = None) -> dict[str, list[str]]:
    with client(work, engine, scheduler, folder, "0", on) as process:
        return finish(process)


@contextmanager
def client(
    work: str, engine: str, scheduler: str, folder: Path, pause: str, on: Node | None = None
) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "tests.support.engine_client", work, engine, scheduler, str(folder), pause]
    command = on.command(words) if on else words
    with subprocess.Popen(
        command, env=worker_environment(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(process: subprocess.Popen[str]) -> dict[str, list[str]]:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    found: dict[str, list[str]] = json.loads(output)
    return found


@contextmanager
def cluster_on(nodes: Sequence[Node], folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler on the first node and one worker on each, which nobody restarts."""
    with ExitStack() as stack:
        log = folder / "scheduler.log"
        options = ["--host", nodes[0].address, "--port", "8786", "--no-dashboard"]
        scheduler = stack.enter_context(running(nodes[0].command([*DASK, "scheduler", *options]), log))
        address = wait_for_line(log, "Scheduler at:", scheduler).split()[-1]
        workers = []
        for at, node in enumerate(nodes):
            (place := folder / f"node-{at}").mkdir()
            local = ["--local-directory", str(place), "--no-dashboard", "--no-nanny", "--nthreads", "1"]
            command = node.command([*DASK, "worker", address, "--host", node.address, *local])
            workers.append(stack.enter_context(running(command, place / "worker.log")))
            wait_for_line(place / "worker.log", "Registered to", workers[-1])
        yield address, workers


@pytest.mark.parametrize("work", ["sum_files", "evaluate_log"])
def test_one_process_two_processes_and_two_nodes_give_the_same_numbers(tmp_path, work):
    """The target is 1e-10; they are the same to the last bit."""
    write_parts(tmp_path)
    write_study(tmp_path)
    expected = run(work, "local", "", tmp_path)
    assert run(work, "processes", "", tmp_path) == expected
    with two_nodes() as nodes, cluster_on(nodes, tmp_path) as (address, workers):
        assert address == f"tcp://{nodes[0].address}:8786"
        assert run(work, "dask", address, tmp_path, nodes[0]) == expected
        with client(work, "dask", address, tmp_path, PAUSE, nodes[0]) as process:
            wait_until_working(workers[1], tmp_path, process)
            workers[1].send_signal(signal.SIGKILL)
            assert finish(process) == expected
        assert "Remove worker" in (tmp_path / "scheduler.log").read_text()


def wait_until_working(worker: subprocess.Popen[bytes], folder: Path, client: subprocess.Popen[str]) -> None:
    """A worker is in mid-run when its task says so, or soon after its processor time grows."""
    before, started = processor_time(worker.pid), folder / "started"
    deadline = time.monotonic() + 120
    while processor_time(worker.pid) < before + 0.2:
        if started.exists() and str(worker.pid) in started.read_text().split():
            return
        assert time.monotonic() < deadline, (folder / "node-1" / "worker.log").read_text()
        assert client.poll() is None, "the client was finished first"
        time.sleep(0.01)


def processor_time(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_address_where_no_scheduler_answers_is_refused_within_seconds():
    begin = time.monotonic()
    with pytest.raises(UsageError, match=r"tcp://127.0.0.1:9.: no Dask scheduler answers there"):
        open_engine(EngineOptions("dask", "tcp://127.0.0.1:9")).__enter__()
    assert time.monotonic() - begin < 20
    with pytest.raises(UsageError, match="no Dask scheduler answers there"):
        open_engine(EngineOptions("dask", "nonsense://x")).__enter__()


def test_a_program_that_accepts_connections_and_says_nothing_is_refused(monkeypatch):
    monkeypatch.setattr("deconfound.engines.dask_engine.CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(UsageError, match="no Dask scheduler answers there"):
            open_engine(EngineOptions("dask", address)).__enter__()
        assert time.monotonic() - begin < 20


def test_a_scheduler_without_workers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("deconfound.engines.dask_engine.FIRST_WORKER_SECONDS", 1)
    with running_scheduler(tmp_path) as (address, _), pytest.raises(UsageError, match=f"has no workers.*{address}"):
        open_engine(EngineOptions("dask", address)).__enter__()


@contextmanager
def running_scheduler(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    log = folder / "scheduler.log"
    command = [*DASK, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with running(command, log) as scheduler:
        yield wait_for_line(log, "Scheduler at:", scheduler).split()[-1], scheduler


@contextmanager
def running_worker(
    address: str, folder: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    options = ["--local-directory", str(folder), "--no-dashboard", "--no-nanny", "--nthreads", "1"]
    with running([*DASK, "worker", address, *options], folder / "worker.log", environment) as worker:
        wait_for_line(folder / "worker.log", "Registered to", worker)
        yield worker


@pytest.mark.parametrize(
    ("lost", "message"),
    [("worker", "has had no workers for 1 seconds"), ("scheduler", r"connection to the Dask scheduler \S+ was lost")],
)
def test_a_lost_cluster_is_an_error(tmp_path, monkeypatch, lost, message):
    """Its only worker, or its scheduler."""
    monkeypatch.setattr("deconfound.engines.dask_engine.CHECK_SECONDS", 0.5)
    waiting = task(engine_tasks.wait, str(tmp_path).encode())
    with (
        running_scheduler(tmp_path) as (address, scheduler),
        running_worker(address, tmp_path) as worker,
        DaskEngine(address, max_seconds_without_workers=1.0) as engine,
    ):
        assert list(map_in_order(engine, waiting, payloads(0))) == [b"0"]
        process = worker if lost == "worker" else scheduler
        killer = threading.Thread(target=kill_when_busy, args=(process, tmp_path))
        killer.start()
        begin = time.monotonic()
        with pytest.raises(LostClusterError, match=message):
            list(map_in_order(engine, waiting, payloads(100, 100)))
        assert time.monotonic() - begin < 60
        killer.join()


def kill_when_busy(process: subprocess.Popen[bytes], folder: Path) -> None:
    while len((folder / "started").read_text().split()) < 2:
        time.sleep(0.01)
    process.kill()


@pytest.mark.parametrize("difference", ["other code", "not installed"])
def test_workers_with_other_code_are_refused(tmp_path, difference):
    """A copy of the package with one more comment, and a worker that finds no package."""
    environment = worker_environment()
    source = str(ROOT / "src")
    paths = [path for path in environment["PYTHONPATH"].split(os.pathsep) if not same_file(path, source)]
    if difference == "other code":
        subprocess.run(["cp", "-r", source, str(tmp_path / "copy")], check=True)  # noqa: S607
        with (tmp_path / "copy" / "deconfound" / "words" / "__init__.py").open("a") as file:
            file.write("# another comment\n")
        paths = [str(tmp_path / "copy"), *paths]
    else:
        blocked = tmp_path / "blocked" / "deconfound"
        blocked.mkdir(parents=True)
        (blocked / "__init__.py").write_text("raise ImportError('not installed')\n")
        paths = [str(blocked.parent), *paths]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    message = {
        "other code": r"A worker runs deconfound \S+ \(\w+\), but this command deconfound \S+ \(\w+\)",
        "not installed": r"deconfound cannot be imported on the Dask worker tcp.*Install the same version",
    }[difference]
    with (
        running_scheduler(tmp_path) as (address, _),
        running_worker(address, tmp_path, environment),
        pytest.raises(UsageError, match=message),
    ):
        use(address)


def use(address: str) -> None:
    with open_engine(EngineOptions("dask", address)) as engine:
        list(map_in_order(engine, task(engine_tasks.repeat), payloads(1, 2)))


def same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def test_a_cluster_with_several_threads_per_worker_shares_one_opened_task(tmp_path):
    with (
        dask_cluster(workers=1, folder=tmp_path, threads=3) as address,
        open_engine(EngineOptions("dask", address)) as engine,
    ):
        assert engine.in_flight == 6
        results = map_in_order(engine, task(engine_tasks.repeat, b"x"), payloads(*range(30)))
        assert list(results) == [f"x {number}".encode() for number in range(30)]

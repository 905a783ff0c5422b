"""Apply a task to many payloads on an engine, and merge the results in the order of the payloads.

At most ``engine.in_flight`` payloads are with the engine or wait for their turn, so memory does not grow with their
number. Merging in a fixed order makes sums of floating-point numbers the same for any engine and number of workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from deconfound.engines.engine import Engine, Payload, Task
from deconfound.errors import UsageError
from deconfound.threads import THREAD_PREFIX

HEARTBEAT_SECONDS = 1.0
S = TypeVar("S")

Submit = Callable[[Payload], Future[bytes]]
Heartbeat = Callable[[], None]


def no_heartbeat() -> None:
    """Show nothing while waiting."""


def map_merge(
    engine: Engine, task: Task, payloads: Iterable[Payload], read: Callable[[bytes], S], merge: Callable[[S, S], S]
) -> S:
    """The results of all payloads, read and merged one after another: ``merge(merge(first, second), third)``."""
    total: S | None = None
    for content in map_in_order(engine, task, payloads):
        total = read(content) if total is None else merge(total, read(content))
    if total is None:
        raise UsageError("There is nothing to merge.")
    return total


def map_in_order(
    engine: Engine, task: Task, payloads: Iterable[Payload], heartbeat: Heartbeat = no_heartbeat
) -> Iterator[bytes]:
    """The result of each payload, in the order of the payloads; the first error ends it.

    ``heartbeat`` is called about once per second while results are awaited.
    """
    running = deque[Future[bytes]]()
    with _submitting(engine, task) as submit:
        for payload in payloads:
            running.append(submit(payload))
            if len(running) >= engine.in_flight:
                yield _wait_for(running.popleft(), heartbeat)
        while running:
            yield _wait_for(running.popleft(), heartbeat)


def _wait_for(future: Future[bytes], heartbeat: Heartbeat) -> bytes:
    while not wait([future], timeout=HEARTBEAT_SECONDS).done:
        heartbeat()
    return future.result()


def map_as_completed(
    engine: Engine, task: Task, payloads: Iterable[Payload], heartbeat: Heartbeat = no_heartbeat
) -> Iterator[tuple[int, Future[bytes]]]:
    """The number of each payload and its finished future, as they finish.

    After a failure nothing new is started, what is running is finished, and the generator ends: the caller finds the
    failures in the futures.
    """
    waiting, running = enumerate(payloads), dict[Future[bytes], int]()
    failed = False
    with _submitting(engine, task) as submit:
        while True:
            while not failed and len(running) < engine.in_flight and (item := next(waiting, None)) is not None:
                running[submit(item[1])] = item[0]
            if not running:
                return
            done = wait(running, HEARTBEAT_SECONDS, FIRST_COMPLETED).done
            if any(future.exception() is not None for future in done):
                failed = True
                running = {future: number for future, number in running.items() if not future.cancel()}
            for future in sorted(done, key=running.__getitem__):
                yield running.pop(future), future
            heartbeat()


@contextmanager
def _submitting(engine: Engine, task: Task) -> Iterator[Submit]:
    """A function that starts the task on a payload, on one of ``in_flight`` threads or, for one, in this thread.

    The threads have the name of our own, so that work inside a task on them is not spread over threads again. After an
    error they are not awaited: leaving the engine's block ends what they wait for.
    """
    if engine.in_flight == 1:
        yield lambda payload: _finished(engine, task, payload)
        return
    pool = ThreadPoolExecutor(engine.in_flight, thread_name_prefix=f"{THREAD_PREFIX}-part")
    try:
        yield lambda payload: pool.submit(engine.run, task, payload)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown(wait=True)


def _finished(engine: Engine, task: Task, payload: Payload) -> Future[bytes]:
    future = Future[bytes]()
    try:
        future.set_result(engine.run(task, payload))
    except Exception as error:
        future.set_exception(error)
    return future

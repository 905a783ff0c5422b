"""Parallel work over tiles with single-threaded BLAS.

Multi-threaded OpenBLAS has crashed in large symmetric products and is ten times slower on many small solves. So the
numerical code runs BLAS on one thread, cuts large work into tiles and maps over the tiles with its own threads.
Results are merged in a fixed order, so the number of threads never changes a bit of the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import Event, current_thread
from typing import Any, TypeVar

THREAD_PREFIX = "deconfound-tile"
T = TypeVar("T")
R = TypeVar("R")
_STOP: ContextVar[Event | None] = ContextVar("_STOP", default=None)


@lru_cache(maxsize=1)
def _controller() -> Any:  # noqa: ANN401  (the library carries no types)
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the libraries are listed)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the block with single-threaded BLAS and restore the caller's setting afterwards."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def thread_count() -> int:
    """Number of threads to use: DECONFOUND_THREADS where it is set, otherwise the cores of this process."""
    requested = os.environ.get("DECONFOUND_THREADS", "")
    if requested.isdecimal() and int(requested) > 0:
        return int(requested)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Apply a function to every item on several threads; results are in the order of the items.

    A call from inside one of the threads runs its items one by one: a thread that waited for another thread of the
    same pool could wait forever. Such a call can be stopped between its items.
    """
    tiles = list(items)
    if len(tiles) < 2 or thread_count() < 2 or current_thread().name.startswith(THREAD_PREFIX):
        return [_apply(function, tile) for tile in tiles]
    return list(_pool().map(function, tiles))


def _apply(function: Callable[[T], R], tile: T) -> R:
    end_if_stopped()
    return function(tile)


@contextmanager
def stoppable(stop: Event) -> Iterator[None]:
    """Let ``end_if_stopped`` end the work of this thread inside the block, as soon as the event is set."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def end_if_stopped() -> None:
    """Raise ``CancelledError`` if nobody waits for the work of this thread any more; called between its steps.

    A thread cannot be ended from outside, and a process that was interrupted ends only after its threads.
    """
    stop = _STOP.get()
    if stop is not None and stop.is_set():
        raise CancelledError


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """The threads, started once: starting them for every product would cost more than some products."""
    if hasattr(os, "register_at_fork"):
        # A forked child inherits the pool without its threads and would wait for them forever.
        os.register_at_fork(after_in_child=_pool.cache_clear)
    return ThreadPoolExecutor(thread_count(), thread_name_prefix=THREAD_PREFIX)

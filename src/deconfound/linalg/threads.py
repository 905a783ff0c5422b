"""Threads that neither crash nor crawl.

Multi-threaded OpenBLAS has crashed in large symmetric products, and makes many small solves ten times slower than
one thread does. So every kernel here runs BLAS on one thread, and large work is cut into tiles that our own threads
take in turn. Tiles are merged in a fixed order: the number of threads never changes a bit of the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import current_thread
from typing import Any, TypeVar

NAME = "deconfound-tile"
T = TypeVar("T")
R = TypeVar("R")


@lru_cache(maxsize=1)
def _controller() -> Any:  # noqa: ANN401  (the library carries no types)
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the libraries are listed)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the block with single-threaded BLAS and restore the caller's setting after it."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def thread_count() -> int:
    """Cores this process may use; DECONFOUND_THREADS says so where several processes share them."""
    asked = os.environ.get("DECONFOUND_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Map over tiles on our own threads; results in the order of the items.

    A tile that calls this again is already on one of the threads, and runs its own tiles there one by one: waiting
    for a thread while holding one could wait for ever.
    """
    listed = list(items)
    if len(listed) < 2 or thread_count() < 2 or current_thread().name.startswith(NAME):
        return [function(item) for item in listed]
    return list(_pool().map(function, listed))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """Threads that are started once: starting them for every product would cost more than some products."""
    if hasattr(os, "register_at_fork"):
        # A forked child inherits the pool but not its threads, and would wait for them for ever.
        os.register_at_fork(after_in_child=_pool.cache_clear)
    return ThreadPoolExecutor(thread_count(), thread_name_prefix=NAME)

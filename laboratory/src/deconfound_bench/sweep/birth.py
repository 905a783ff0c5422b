"""Start worker processes that keep to one thread and leave Ctrl-C to their parent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "DECONFOUND_THREADS",
)
"""What makes a process compute on one thread; the libraries read it when they are loaded, so it must be set before."""


@contextmanager
def quiet_birth() -> Iterator[None]:
    """Let processes started inside inherit one thread and a deaf ear; this one is afterwards as it was."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    with _interrupts_later():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold back a Ctrl-C that would leave a process half started.

    Blocking the signal is not enough: BLAS has threads of its own, and any of them may take it for this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            signal.raise_signal(signal.SIGINT)

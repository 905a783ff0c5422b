"""Ctrl-C ends a command with one line and exit code 130, whatever it was doing.

Inside an import an interrupt can be swallowed or come out as another error, and inside a save it could leave files
behind. There it is only noted, and raised afterwards. The second Ctrl-C ends the process at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import CodeType, FrameType
from typing import final

INTERRUPTED = 130  # the shells' code for a command that was stopped by Ctrl-C
MESSAGE = "deconfound: interrupted.\n"
SAME_PRESS_SECONDS = 0.3  # programs that start others pass Ctrl-C on, so one press can arrive twice
RETRY_SECONDS = 0.02  # until an import may have finished


@final
class Interrupts:
    """The interrupts of one command at a time: when the first one arrived, and whether it was raised."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._raised = False
        self._is_held = False
        self._command: CodeType | None = None
        self._alarm: Callable[[int, FrameType | None], object] | int | None = None  # the handler before ours

    @contextmanager
    def handled(self, command: CodeType, *, ends_process: bool) -> Iterator[None]:
        """Handle Ctrl-C inside the block, which the function with this code runs; a handler of others stays.

        Where the process ends after the block, nothing is left to interrupt: Ctrl-C then simply kills it.
        """
        self._first, self._raised, self._is_held, self._command = None, False, False, command
        if not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._receive)
        try:
            yield
        finally:
            self._stop_timer()
            signal.signal(signal.SIGINT, signal.SIG_DFL if ends_process else signal.default_int_handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let the block finish first: it is short, and half of it would leave something behind."""
        self.check()
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        self.check()

    def check(self) -> None:
        """Raise an interrupt that was noted, or that was raised where nothing could end."""
        if self._first is not None and not self._is_held and _in_main_thread():
            self._raised = True
            raise KeyboardInterrupt

    def explain(self, error: BaseException | None = None) -> bool:
        """Whether the command was interrupted, or the error began as an interrupt."""
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            if isinstance(error, KeyboardInterrupt):
                return True
            seen.add(id(error))
            error = error.__cause__ or error.__context__
        return self._first is not None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        now = monotonic()
        if number == signal.SIGINT and self._first is not None and now - self._first > SAME_PRESS_SECONDS:
            end_at_once()
        self._first = now if self._first is None else self._first
        if self._raised or self._is_held:
            return
        if not self._is_importing(frame):
            self._raised = True
            raise KeyboardInterrupt
        self._start_timer()

    def _start_timer(self) -> None:
        """Receive the signal again soon."""
        if sys.platform == "win32":  # it has no such timer
            end_at_once()
        elif self._alarm is None:
            self._alarm = signal.signal(signal.SIGALRM, self._receive)
        signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)

    def _stop_timer(self) -> None:
        if self._alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._alarm)
            self._alarm = None

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None and frame.f_code is not self._command:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return True
            frame = frame.f_back
        return False


interrupts = Interrupts()
"""Signals belong to the process, so there is one of these."""


def report_interrupt() -> None:
    """Say it on stderr, if there is one."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(MESSAGE)
        sys.stderr.flush()


def end_at_once() -> None:
    """End the process without anything else."""
    with suppress(OSError):
        os.write(2, MESSAGE.encode())
    os._exit(INTERRUPTED)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()

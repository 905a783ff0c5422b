"""Ctrl-C and SIGTERM end a command with one line and the shells' exit code, whatever it was doing.

Inside an import an interrupt can be swallowed or come out as another error, and inside a save it could leave files
behind. There it is only noted, and raised afterwards. The second Ctrl-C or SIGTERM ends the process at once.
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

MESSAGES = {signal.SIGINT: "deconfound: interrupted.\n", signal.SIGTERM: "deconfound: terminated.\n"}
SIGNALED = 128  # and the number of the signal is the shells' exit code of a command that a signal has ended
SAME_PRESS_SECONDS = 0.3  # programs that start others pass Ctrl-C on, so one press can arrive twice
RETRY_SECONDS = 0.02  # until an import may have finished

Handler = Callable[[int, FrameType | None], object] | int | None


@final
class Interrupts:
    """The interrupts of one command at a time: when the first one arrived, which, and whether it was raised."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._signal = signal.SIGINT
        self._raised = False
        self._is_held = False
        self._command: CodeType | None = None
        self._alarm: Handler = None  # the handler before ours

    @contextmanager
    def handled(self, command: CodeType, *, ends_process: bool) -> Iterator[None]:
        """Handle both signals inside the block, which the function with this code runs; a handler of others stays.

        Where the process ends after the block, nothing is left to interrupt: Ctrl-C then simply kills it.
        """
        self._first, self._raised, self._is_held, self._command = None, False, False, command
        self._signal = signal.SIGINT
        before = _default_handlers() if _in_main_thread() else {}
        for number in before:
            signal.signal(number, self._receive)
        try:
            yield
        finally:
            self._stop_timer()
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if ends_process else handler)

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

    def report(self) -> int:
        """Say on stderr, if there is one, what has ended the command, and return its exit code."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(MESSAGES[self._signal])
            sys.stderr.flush()
        return SIGNALED + self._signal

    def _receive(self, number: int, frame: FrameType | None) -> None:
        now = monotonic()
        if number in MESSAGES and self._first is not None and now - self._first > SAME_PRESS_SECONDS:
            end_at_once(signal.Signals(number))
        if self._first is None:
            self._first, self._signal = now, signal.Signals(number)
        if self._raised or self._is_held:
            return
        if not self._is_importing(frame):
            self._raised = True
            raise KeyboardInterrupt
        self._start_timer()

    def _start_timer(self) -> None:
        """Receive the signal again soon."""
        if sys.platform == "win32":  # it has no such timer
            end_at_once(self._signal)
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


def end_at_once(number: signal.Signals) -> None:
    """End the process without anything else."""
    with suppress(OSError):
        os.write(2, MESSAGES[number].encode())
    os._exit(SIGNALED + number)


def _default_handlers() -> dict[signal.Signals, Handler]:
    """Python's own handlers of the signals that have no other: one that is ignored, as with nohup, stays so."""
    own: dict[signal.Signals, Handler] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    return {number: handler for number, handler in own.items() if signal.getsignal(number) == handler}


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()

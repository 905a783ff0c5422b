"""A worker process: reads tasks from its standard input, answers on its standard output, and ends with its parent."""

from __future__ import annotations

import os
import signal
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO

from deconfound.engines.pipe_messages import read_parts, write_parts
from deconfound.engines.task_runner import run_task

PARTS = 3  # header, what the task shares (empty if it has this header's already), payload

Request = tuple[str, bytes, bytes]


def main() -> None:
    """Answer requests until the parent closes the pipe or dies."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the parent decides what Ctrl-C ends
    requests, answers = _take_streams()
    waiting: SimpleQueue[Request] = SimpleQueue()
    Thread(target=_read_requests, args=(requests, waiting), daemon=True).start()
    shared, shared_header = b"", ""
    while True:
        header, sent, payload = waiting.get()
        if header != shared_header:
            shared, shared_header = sent, header
        write_parts(answers, [run_task(header, shared, payload)])


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the parent; what a task itself prints goes to standard error, and it has no input."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _read_requests(requests: BinaryIO, waiting: SimpleQueue[Request]) -> None:
    """Reading on a thread of its own notices the end of the parent also in the middle of a task."""
    try:
        while True:
            header, shared, payload = read_parts(requests, PARTS)
            waiting.put((header.decode(), shared, payload))
    except (EOFError, OSError):
        os._exit(0)

"""Run a benchmark's cells, seeds and families in parallel, and go on after any interruption."""

from __future__ import annotations

from deconfound.bench.sweep.bar import Bar
from deconfound.bench.sweep.parent import end_with_parent
from deconfound.bench.sweep.run import sweep
from deconfound.bench.sweep.selection import select
from deconfound.bench.sweep.table import digest
from deconfound.bench.sweep.task import Benchmark, Only, Progress, SweepError, Task, Worker

__all__ = [
    "Bar",
    "Benchmark",
    "Only",
    "Progress",
    "SweepError",
    "Task",
    "Worker",
    "digest",
    "end_with_parent",
    "select",
    "sweep",
]

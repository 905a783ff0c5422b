"""Run a benchmark's cells, seeds and families in parallel, and go on after any interruption."""

from __future__ import annotations

from deconfound_bench.sweep.bar import Bar
from deconfound_bench.sweep.parent import end_with_parent
from deconfound_bench.sweep.run import sweep
from deconfound_bench.sweep.selection import select
from deconfound_bench.sweep.table import digest
from deconfound_bench.sweep.task import Benchmark, Only, Progress, SweepError, Task, Worker

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

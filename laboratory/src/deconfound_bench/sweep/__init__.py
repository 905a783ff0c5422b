"""Run a benchmark's cells, seeds and families in parallel, and resume after any interruption."""

from __future__ import annotations

from deconfound_bench.sweep.folder import require_run_folder
from deconfound_bench.sweep.progress import SweepProgress
from deconfound_bench.sweep.request import (
    Benchmark,
    FamilyFilter,
    Opener,
    Progress,
    SweepError,
    Task,
    Worker,
    filter_cells,
)
from deconfound_bench.sweep.run import run_sweep

__all__ = [
    "Benchmark",
    "FamilyFilter",
    "Opener",
    "Progress",
    "SweepError",
    "SweepProgress",
    "Task",
    "Worker",
    "filter_cells",
    "require_run_folder",
    "run_sweep",
]

"""Grids of real outputs: every model's output on every context, with its judged components."""

from __future__ import annotations

from deconfound_bench.grid.grid import Grid, with_digest
from deconfound_bench.grid.read import read_grid

__all__ = ["Grid", "read_grid", "with_digest"]

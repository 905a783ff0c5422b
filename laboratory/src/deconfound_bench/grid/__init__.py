"""Grids of real outputs: every model on every context, written and judged once."""

from __future__ import annotations

from deconfound_bench.grid.grid import Grid, signed
from deconfound_bench.grid.reading import read_grid

__all__ = ["Grid", "read_grid", "signed"]

"""Replayed outputs as rows of numbers, indexed by context and model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design.arrays import FloatArray, IntArray
from deconfound.design.rows import Rows


@dataclass(frozen=True, slots=True)
class ReplayRows:
    """The features of a replay, ready to average a reward over the draws of each (context, model) cell.

    Equal outputs share one row of ``distinct``, so a reward is computed once for all of them.
    """

    distinct: Rows  # u rows without outcomes
    row_index: IntArray  # (n,) into distinct
    context: IntArray  # (n,) from 0 to n_contexts - 1
    model: IntArray  # (n,) from 0 to n_models - 1
    n_contexts: int
    n_models: int

    def draw_counts(self) -> FloatArray:
        """Number of draws of each cell (n_contexts, n_models)."""
        count = np.bincount(self._cell, minlength=self.n_contexts * self.n_models)
        return count.reshape(-1, self.n_models).astype(np.float64)

    def mean_over_draws(self, values: FloatArray) -> FloatArray:
        """Mean over the draws of each cell (n_contexts, n_models) of ``values`` (u,); NaN where there is no draw."""
        return self.mean_by_cell(values[self.row_index])

    def mean_by_cell(self, by_draw: FloatArray) -> FloatArray:
        """Mean over the draws of each cell (n_contexts, n_models) of ``by_draw`` (n,); NaN where there is no draw."""
        total = np.bincount(self._cell, weights=by_draw, minlength=self.n_contexts * self.n_models)
        with np.errstate(invalid="ignore"):
            return np.asarray(total.reshape(-1, self.n_models) / self.draw_counts())

    @property
    def _cell(self) -> IntArray:
        return self.context * self.n_models + self.model

"""Means and counts over the draws of each replayed cell."""

from __future__ import annotations

import numpy as np

from deconfound.design import ReplayRows, Rows


def test_means_and_counts_go_over_the_draws_of_each_cell() -> None:
    """Two contexts and two models; one cell has three draws on two distinct rows, and one has none."""
    replay = ReplayRows(
        distinct=Rows(np.eye(3)),
        row_index=np.array([0, 0, 1, 2, 1]),
        context=np.array([0, 0, 0, 1, 1]),
        model=np.array([0, 0, 0, 0, 1]),
        n_contexts=2,
        n_models=2,
    )
    np.testing.assert_array_equal(replay.draw_counts(), [[3, 0], [1, 1]])
    mean = replay.mean_over_draws(np.array([1.0, 4.0, 7.0]))
    np.testing.assert_allclose(mean, [[2.0, np.nan], [7.0, 4.0]])

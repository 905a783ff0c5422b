"""Metrics on tables small enough to compute by hand."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.metrics import argmax_model, regret, rmse, top_k_recall

TRUTH = np.array([[0.1, 0.5, 0.9], [0.8, 0.2, 0.4]])


def test_regret_is_the_mean_loss_against_the_best_model() -> None:
    """Recommends the second model (0.5 of 0.9) and the third (0.4 of 0.8): (0.4 + 0.4) / 2."""
    estimated = np.array([[0.0, 0.7, 0.6], [0.3, 0.2, 0.31]])
    assert regret(estimated, TRUTH) == pytest.approx(0.4)


def test_the_truth_and_any_increasing_function_of_it_have_no_regret() -> None:
    assert regret(TRUTH, TRUTH) == 0.0
    assert regret(10 * TRUTH - 3, TRUTH) == 0.0
    assert regret(-TRUTH, TRUTH) == pytest.approx((0.8 + 0.6) / 2)


def test_equal_estimates_recommend_the_first_model() -> None:
    assert argmax_model(np.array([[0.5, 0.5, 0.1], [0.1, 0.3, 0.3]])).tolist() == [0, 1]


def test_rmse_averages_over_all_entries() -> None:
    assert rmse(TRUTH + np.array([[0.3, 0.0, 0.0], [0.0, 0.0, 0.0]]), TRUTH) == pytest.approx(np.sqrt(0.09 / 6))
    assert rmse(np.array([0.5, 0.1]), np.array([0.1, 0.4])) == pytest.approx(np.sqrt((0.16 + 0.09) / 2))


@pytest.mark.parametrize(
    ("k", "share"),
    [(1, 1.0), (2, 0.5), (3, 2 / 3), (4, 1.0), (9, 1.0)],
)
def test_top_k_recall_counts_the_truly_best_among_the_estimated_best(k: int, share: float) -> None:
    """True order 3, 2, 1, 0; estimated order 3, 0, 2, 1."""
    truth, estimated = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.6, 0.1, 0.3, 0.9])
    assert top_k_recall(estimated, truth, k) == pytest.approx(share)

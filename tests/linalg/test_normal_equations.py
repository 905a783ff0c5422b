"""Conjugate gradients on the log's normal equations against a dense solve."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.linalg.normal_equations import NormalEquations
from tests.support.least_squares_problems import KINDS, random_problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooling", [0.1, 1.0])
def test_any_start_leads_to_the_solution(kind: str, pooling: float) -> None:
    features, targets, weight = random_problem(30, 50)
    normalized = weight / weight.sum()
    equations = NormalEquations.from_rows(KINDS[kind](features), targets, normalized)
    rng = np.random.default_rng(1)
    experiment_rhs = rng.standard_normal(50)
    covariance = np.cov(features.T, aweights=normalized, ddof=0)
    cross = features.T @ (normalized * (targets[:, 0] - normalized @ targets[:, 0]))
    exact = np.linalg.solve(pooling * covariance + 0.1 * np.eye(50), pooling * cross + experiment_rhs)
    for start in (np.zeros(50), exact, exact + 1e-3 * rng.standard_normal(50)):
        before = start.copy()
        np.testing.assert_allclose(equations.solve(start, experiment_rhs, pooling, 0.1), exact, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(start, before)


def test_a_system_without_a_right_hand_side_has_the_solution_zero() -> None:
    features, targets, weight = random_problem(30, 50)
    equations = NormalEquations.from_rows(KINDS["csr"](features), targets, weight / weight.sum())
    assert not equations.solve(np.ones(50), np.zeros(50), pooling=0.0, penalty=0.1).any()

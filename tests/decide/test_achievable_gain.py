"""Upper bound of what routing could gain: zero where nothing varies, and above the truth where something does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.decide.achievable_gain import achievable_gain_bound
from deconfound.decide.calibration import Calibration, SlopeFit
from deconfound.decide.context_variance import ContextVariance

Q = np.random.default_rng(0).normal(0.5, 0.1, (400, 3))
NO_COST = np.zeros(3)
KNOWN = replace(ContextVariance.zero(3), estimated=True)
EXACT = replace(Calibration.identity(3), value=np.array([0.6, 0.5, 0.4]), mean_q=Q.mean(axis=0), context_variance=KNOWN)


def test_without_any_uncertainty_it_is_the_plug_in_gain():
    calibrated = EXACT.value + Q - Q.mean(axis=0)
    gain = calibrated.max(axis=1).mean() - calibrated.mean(axis=0).max()
    assert achievable_gain_bound(Q, np.zeros((3, 3)), EXACT, NO_COST, 0.95) == pytest.approx(gain)


def test_it_is_zero_where_one_model_leads_on_every_context():
    flat = replace(EXACT, slope=0.0)
    costly = np.array([0.0, 5.0, 5.0])
    assert achievable_gain_bound(Q, np.zeros((3, 3)), flat, NO_COST, 0.95) == pytest.approx(0.0, abs=1e-12)
    assert achievable_gain_bound(Q, np.zeros((3, 3)), EXACT, costly, 0.95) == pytest.approx(0.0, abs=1e-12)


def test_differences_that_the_reward_does_not_predict_can_be_gained_too():
    hidden = replace(EXACT, slope=0.0, context_variance=replace(KNOWN, by_model=np.full(3, 0.04)))
    bound = achievable_gain_bound(Q, np.zeros((3, 3)), hidden, NO_COST, 0.95)
    draws = EXACT.value + 0.2 * np.random.default_rng(1).normal(size=(100_000, 3))
    true_gain = draws.max(axis=1).mean() - 0.6
    assert true_gain < bound < true_gain + 0.05


def test_uncertain_values_raise_the_bound_and_missing_evidence_removes_it():
    exact = achievable_gain_bound(Q, np.zeros((3, 3)), EXACT, NO_COST, 0.95)
    assert achievable_gain_bound(Q, 0.01 * np.eye(3), EXACT, NO_COST, 0.95) > exact + 0.02
    assert achievable_gain_bound(Q, np.diag([np.inf, 1.0, 1.0]), EXACT, NO_COST, 0.95) == 1.0
    assert achievable_gain_bound(Q, np.eye(3), replace(EXACT, slope_standard_error=np.inf), NO_COST, 0.95) == 1.0
    assumed = replace(EXACT, context_variance=ContextVariance.zero(3))
    assert achievable_gain_bound(Q, np.zeros((3, 3)), assumed, NO_COST, 0.95) == 1.0


def test_a_slope_that_was_shrunk_counts_as_it_was_estimated():
    """Shrinkage keeps noise out of recommendations, but what it takes away can be real."""
    shrunk = SlopeFit(0.6, 0.2, 1.0, np.zeros(3), 50.0)
    assert shrunk.shrunken_slope == pytest.approx(0.6 - 0.16 / 0.6)
    calibration = replace(EXACT, slope=shrunk.shrunken_slope, slope_standard_error=0.2)
    assert calibration.largest_slope_estimate == pytest.approx(0.6)
    assert replace(calibration, slope=0.0).largest_slope_estimate == pytest.approx(0.4)

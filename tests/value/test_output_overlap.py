"""Overlap of outputs, and propensities of all models inferred from those of the assigned ones."""

from __future__ import annotations

import numpy as np

from deconfound.design import UNKNOWN_MODEL
from deconfound.value.output_overlap import OutputOverlap, propensities_by_model


def test_the_effective_number_of_models_is_one_without_overlap_and_k_with_full_overlap() -> None:
    model = np.array([0, 1, 2, UNKNOWN_MODEL])
    alone = np.vstack([np.eye(3), np.zeros(3)])
    shared = np.vstack([np.full((3, 3), 1 / 3), np.zeros(3)])
    assert OutputOverlap.from_probability(alone, model).effective_models == 1
    assert OutputOverlap.from_probability(alone, model).shared_rows == 0
    overlap = OutputOverlap.from_probability(shared, model)
    np.testing.assert_allclose(overlap.effective_models, 3)
    assert overlap.shared_rows == 1
    np.testing.assert_allclose(overlap.own_probability, 1 / 3)


def test_overlap_without_compared_rows_is_none() -> None:
    overlap = OutputOverlap.from_probability(np.zeros((2, 3)), np.full(2, UNKNOWN_MODEL))
    assert overlap.effective_models == 1
    assert np.isnan(overlap.own_probability).all()


def test_propensities_follow_from_the_rows_if_each_model_always_had_the_same() -> None:
    model, propensity = np.array([0, 1, 1, 2, UNKNOWN_MODEL]), np.array([0.5, 0.2, 0.2, 0.1, 0.2])
    np.testing.assert_allclose(propensities_by_model(model, propensity, 3), np.tile([0.5, 0.2, 0.1], (5, 1)))


def test_a_model_without_rows_has_a_known_propensity_only_if_all_are_equal() -> None:
    model = np.array([0, 1])
    np.testing.assert_allclose(propensities_by_model(model, np.full(2, 1 / 3), 3), np.full((2, 3), 1 / 3))
    assert propensities_by_model(model, np.array([0.5, 0.3]), 3) is None
    assert propensities_by_model(model, np.array([0.5, 0.5]), 3) is None


def test_propensities_printed_with_two_decimals_may_sum_to_slightly_more_than_one() -> None:
    assert propensities_by_model(np.arange(6), np.full(6, 0.17), 6) is not None
    assert propensities_by_model(np.arange(6), np.full(6, 0.2), 6) is None


def test_propensities_that_vary_within_a_model_cannot_be_inferred() -> None:
    assert propensities_by_model(np.array([0, 0, 1, 2]), np.array([0.5, 0.6, 0.2, 0.2]), 3) is None


def test_of_two_models_one_has_what_the_other_leaves() -> None:
    propensity = np.array([0.5, 0.6, 0.3])
    found = propensities_by_model(np.array([0, 0, 1]), propensity, 2)
    np.testing.assert_allclose(found, [[0.5, 0.5], [0.6, 0.4], [0.7, 0.3]])
    assert propensities_by_model(np.array([0, 0, 1]), np.array([1.0, 0.6, 0.3]), 2) is None
    assert propensities_by_model(np.array([0, 0, UNKNOWN_MODEL]), propensity, 2) is None

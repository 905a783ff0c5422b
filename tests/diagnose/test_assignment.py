"""Assignments: what the declared propensities determine, and which rows are independent draws."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.diagnose.assignment import (
    OTHER_MODELS,
    Assignment,
    constant_shares,
    one_row_per_cluster,
    read_assignment,
    reconstruct_probabilities,
    redraw,
    within_cluster_repeat_p_value,
)
from tests.support.checking import MODELS, each, every, make_study

TWO = ("ant", "bee")


def assignment(model, probability):
    model, probability = np.asarray(model), np.asarray(probability, float)
    names = tuple(f"model {code}" for code in range(probability.shape[1]))
    return Assignment(names, model, probability, np.arange(len(model)), by_cluster=False)


def test_shares_are_constant_or_vary():
    assert constant_shares(2, np.array([0, 1, 0, 1]), np.array([0.3, 0.7, 0.3, 0.7])) == pytest.approx([0.3, 0.7])
    assert constant_shares(2, np.array([0, 1, 0, 1]), np.array([0.3, 0.7, 0.6, 0.4])) is None
    assert constant_shares(2, np.array([0, 1]), np.array([0.9, 0.9])) is None  # they sum to more than one
    printed = constant_shares(3, np.array([0, 1, 0, 1]), np.array([0.33, 0.33, 0.333, 0.333]))
    assert printed == pytest.approx([0.3315, 0.3315, 0.337], abs=1e-3)


def test_constant_propensities_determine_those_of_all_models():
    names, probability = reconstruct_probabilities(MODELS, np.array([0, 1, 0]), np.array([0.5, 0.3, 0.5]))
    assert names == MODELS
    assert probability == pytest.approx(np.tile([0.5, 0.3, 0.2], (3, 1)))
    names, probability = reconstruct_probabilities(TWO, np.array([0, 1, 0]), np.array([0.5, 0.3, 0.5]))
    assert names == (*TWO, OTHER_MODELS)
    assert probability == pytest.approx(np.tile([0.5, 0.3, 0.2], (3, 1)))


def test_of_two_models_one_propensity_determines_the_other():
    names, probability = reconstruct_probabilities(TWO, np.array([0, 1, 0]), np.array([0.9, 0.6, 0.2]))
    assert names == TWO
    assert probability == pytest.approx(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]))


def test_varying_propensities_of_three_models_determine_nothing():
    assert reconstruct_probabilities(MODELS, np.array([0, 1, 0]), np.array([0.7, 0.2, 0.1]))[1] is None


def test_models_are_drawn_with_the_probabilities_of_their_row():
    """Shares of 20,000 draws have a standard error of at most 0.0036; five of them are allowed."""
    probability = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    model = redraw(probability, 20_000, np.random.default_rng(0))
    shares = (model[:, :, None] == np.arange(3)).mean(axis=0)
    assert shares == pytest.approx(probability, abs=0.018)
    assert (model[:, 2] == 0).all()


def test_an_assignment_by_cluster_is_detected_and_each_cluster_counts_once():
    rng = np.random.default_rng(0)
    person, even = np.repeat(np.arange(40), 3), np.full((120, 3), 1 / 3)
    by_person, by_row = rng.integers(3, size=40)[person], rng.integers(3, size=120)
    assert within_cluster_repeat_p_value(person, assignment(by_person, even), rng) < 0.01
    assert within_cluster_repeat_p_value(person, assignment(by_row, even), rng) > 0.01
    assert person[one_row_per_cluster(person, rng)].tolist() == list(range(40))
    study = make_study(experiment=each(lambda at, row: row.update(cluster=f"p{at // 3}", model=MODELS[by_person[at]])))
    assert read_assignment(study, 0).by_cluster
    assert len(read_assignment(study, 0)) == 30


def test_propensities_of_their_own_do_not_make_people_look_assigned_as_a_whole():
    """Each person mostly gets one model, row by row: permutations of all rows would take that for one draw."""
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(60), 5)
    probability = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])[person % 3]
    assigned = assignment(redraw(probability, 1, rng)[0], probability)
    assert within_cluster_repeat_p_value(person, assigned, rng) > 0.01
    assert within_cluster_repeat_p_value(person, assignment(assigned.model, np.full((300, 3), 1 / 3)), rng) < 0.01


def test_a_declared_model_without_rows_belongs_to_the_assignment():
    declared = {"propensity_ant": 0.3, "propensity_bee": 0.3, "propensity_cat": 0.3, "propensity_dog": 0.1}
    assigned = read_assignment(make_study(experiment=every(**declared)), 0)
    assert assigned.names == (*MODELS, "dog")
    assert assigned.probability == pytest.approx(np.tile([0.3, 0.3, 0.3, 0.1], (90, 1)))
    assert assigned.counts[3] == 0

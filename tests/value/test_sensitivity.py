"""How wrong an assumption would have to be: against a naive search that shifts rewards and outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.value import ScoredExperiment, Values, tuned_doubly_robust
from deconfound.value.control_variate import experiment_only
from deconfound.value.sensitivity import Sensitivity, estimate_sensitivity, replay_differences

MODELS = ("ant", "bee", "cat", "dog")
LEVEL = 0.95
STEP = 5e-4  # of the naive search


@pytest.fixture(scope="module")
def data() -> ScoredExperiment:
    """400 randomized rows of four models, with a reward that explains part of the outcomes."""
    rng, n, k = np.random.default_rng(4), 400, len(MODELS)
    value, quality = np.array([0.75, 0.55, 0.5, 0.3]), rng.normal(0, 0.08, (n, k))
    q = np.clip(value + quality, 0, 1)
    model = rng.integers(0, k, n)
    prediction = np.clip(q[np.arange(n), model] + rng.normal(0, 0.05, n), 0, 1)
    outcome = np.clip(prediction + rng.normal(0, 0.1, n), 0, 1)
    return ScoredExperiment.from_arrays(MODELS, q, prediction, model, outcome)


@pytest.fixture(scope="module")
def values(data) -> Values:
    return tuned_doubly_robust(data)


def sensitivities(data: ScoredExperiment, values: Values) -> tuple[Sensitivity, Sensitivity]:
    experiment = experiment_only(MODELS, data.model, data.outcome)
    log = replace(experiment, estimate=experiment.estimate + np.array([0.0, 0.1, -0.2, 0.05]))
    replay, outcome = estimate_sensitivity(values, data.q.mean(axis=0), data, log, experiment, LEVEL)
    return replay, outcome


def shifted_values(data: ScoredExperiment, values: Values, shift: np.ndarray, assumption: str) -> Values:
    """Values if the truth is this much worse (k,) than replay or outcomes show, at the same reward weights."""
    mean_q, rows = data.q.mean(axis=0), data.model[:, None] == np.arange(len(MODELS))
    if assumption == "A2":
        mean_q = (data.q - shift).mean(axis=0)
    outcome = data.outcome - (shift[data.model] if assumption == "A3" else 0.0)
    estimate = [
        outcome[rows[:, a]].mean() + values.reward_weight[a] * (mean_q[a] - data.prediction[rows[:, a]].mean())
        for a in range(len(MODELS))
    ]
    return replace(values, estimate=np.array(estimate))


def naive(data: ScoredExperiment, values: Values, assumption: str) -> tuple[float, float]:
    """The smallest shift on a grid at which another model is first, and at which another may be the best."""
    leader = MODELS.index(values.ranking()[0])
    tipping = possible = np.inf
    for rival in set(range(len(MODELS))) - {leader}:
        direction = np.zeros(len(MODELS))
        direction[leader], direction[rival] = 1.0, -1.0
        for size in np.arange(0.0, 0.6, STEP):
            moved = shifted_values(data, values, size * direction, assumption)
            if len(moved.best_set(LEVEL)) > 1:
                possible = min(possible, size)
            if moved.ranking()[0] != MODELS[leader]:
                tipping = min(tipping, size)
                break
    return tipping, possible


@pytest.mark.parametrize("place", [0, 1])
def test_both_shifts_are_those_of_a_naive_search(data, values, place):
    one = sensitivities(data, values)[place]
    tipping, possible = naive(data, values, one.assumption)
    assert 0 < possible < tipping < 0.6
    assert one.tipping_shift == pytest.approx(tipping, abs=2 * STEP)
    assert one.best_set_shift == pytest.approx(possible, abs=2 * STEP)
    assert (one.leader, one.rival, one.possible_rival) == ("ant", "bee", "bee")


def test_the_units_are_the_largest_observed_differences(data, values):
    replay, outcome = sensitivities(data, values)
    assert (outcome.observed_model, outcome.observed_difference) == ("cat", pytest.approx(0.2))
    assert outcome.tipping_ratio == pytest.approx(outcome.tipping_shift / 0.2)
    own = [data.q[data.model == a, a].mean() - data.prediction[data.model == a].mean() for a in range(len(MODELS))]
    np.testing.assert_allclose(replay_differences(data), own)
    assert replay.observed_difference == pytest.approx(np.abs(own).max())


def test_a_reward_without_weight_makes_the_replay_irrelevant(data):
    replay, outcome = sensitivities(data, tuned_doubly_robust(data, reward_weight=0.0))
    assert replay.tipping_shift == replay.best_set_shift == replay.tipping_ratio == np.inf
    assert outcome.tipping_shift < 1


def test_costs_change_the_gap_and_not_the_weights(data, values):
    net = values.net_of(np.array([0.05, 0.0, 0.0, 0.0]))
    replay, outcome = sensitivities(data, net)
    gap = values.estimate[0] - values.estimate[1] - 0.05
    assert outcome.tipping_shift == pytest.approx(gap / 2)
    assert replay.tipping_shift == pytest.approx(gap / values.reward_weight[:2].sum())


def test_models_that_may_be_best_already_need_no_violation(data, values):
    close = replace(values, covariance=100 * values.covariance)
    for one in sensitivities(data, close):
        assert one.best_set_shift == one.best_set_ratio == 0.0
        assert one.tipping_shift > 0


def test_a_model_without_randomized_rows_is_compared_by_its_prediction(data, values):
    covariance = values.covariance.copy()
    covariance[1, :] = covariance[:, 1] = 0.0
    covariance[1, 1] = np.inf
    only_replayed = replace(values, covariance=covariance)
    _, outcome = sensitivities(data, only_replayed)
    assert outcome.possible_rival == "bee"
    assert outcome.best_set_shift == 0.0
    assert outcome.tipping_shift == pytest.approx((values.estimate[0] - values.estimate[1]) / 2)


def test_without_rows_in_both_sources_there_is_no_unit(data, values):
    nothing = replace(values, estimate=np.full(len(MODELS), np.nan))
    _, outcome = estimate_sensitivity(values, data.q.mean(axis=0), data, nothing, values, LEVEL)
    assert np.isnan(outcome.observed_difference)
    assert outcome.observed_model == ""
    assert outcome.tipping_ratio == np.inf

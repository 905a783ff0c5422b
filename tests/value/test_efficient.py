"""Efficient values: formula, limits, double robustness, the exclusion test and its switch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.efficient import Cell, draw
from deconfound.design import UNKNOWN_MODEL, FloatArray
from deconfound.errors import UsageError
from deconfound.value import ScoredExperiment, Values, tuned_doubly_robust
from deconfound.value.efficient import METHOD, efficient
from deconfound.value.output_overlap import assigned
from tests.support.experiments import MODELS, predicted_experiment, with_simple_design

MAX_BIAS_SE = 4.5  # a correct mean is off by more standard errors with probability 7e-6
ALWAYS = 0.0  # level of an exclusion test that never rejects
GREEDY = Cell(models=3, outputs=4, rows=200, draws=1, greedy=True)


def shared(data: ScoredExperiment, seed: int = 1) -> FloatArray:
    """Probabilities that favor the row's own model."""
    probability = np.random.default_rng(seed).random((len(data.model), 3)) + 2 * assigned(data.model, 3)
    return np.asarray(probability / probability.sum(axis=1, keepdims=True))


def same(one: Values, other: Values) -> bool:
    pairs = ((one.estimate, other.estimate), (one.covariance, other.covariance), (one.df_or_inf, other.df_or_inf))
    return all(np.array_equal(a, b) for a, b in pairs)


def test_values_equal_a_naive_loop_with_uneven_propensities_weights_and_clusters() -> None:
    data = predicted_experiment()
    share = np.array([0.5, 0.3, 0.2])
    data = replace(data, propensity=share[data.model])
    probability = shared(data)
    predictions = data.prediction[:, None] + 0.05 * np.random.default_rng(4).normal(size=(60, 3))
    predictions[np.arange(60), data.model] = data.prediction
    result = efficient(data, probability, predictions=predictions, reward_weight=0.3, level=ALWAYS)
    assert result.values.method == METHOD
    assert result.uses_shared_outputs.all()
    for a in range(3):
        weight = [data.weight[j] * probability[j, a] / share[a] for j in range(60)]
        residual = [data.outcome[j] - 0.3 * predictions[j, a] for j in range(60)]
        mean = sum(w * r for w, r in zip(weight, residual, strict=True)) / sum(weight)
        q = (data.weight * data.q[:, a]).sum() / data.weight.sum()
        assert result.values.estimate[a] == pytest.approx(0.3 * q + mean, abs=1e-12)
        sensitivity = sum(w * (1 - probability[j, a]) for j, w in enumerate(weight)) / sum(weight)
        assert result.exclusion.sensitivity[a] == pytest.approx(sensitivity)


@pytest.mark.parametrize("reward_weight", [None, 0.6])
def test_without_shared_outputs_the_result_is_doubly_robust_to_the_last_bit(reward_weight: float | None) -> None:
    data, extra_q = with_simple_design(predicted_experiment()), np.random.default_rng(2).random((20, 3))
    plain = tuned_doubly_robust(data, extra_q=extra_q, reward_weight=reward_weight)
    result = efficient(data, assigned(data.model, 3), extra_q=extra_q, reward_weight=reward_weight)
    assert same(result.values, plain)
    assert result.values.method == plain.method
    assert not result.uses_shared_outputs.any()
    assert np.isnan(result.exclusion.p_value)


def test_the_indicator_as_probability_reproduces_the_doubly_robust_formula() -> None:
    """The path of shared outputs, forced by probabilities that are an indicator up to rounding."""
    data = with_simple_design(predicted_experiment())
    nearly = assigned(data.model, 3) * (1 - 1e-12) + 1e-12 / 3
    plain, result = tuned_doubly_robust(data), efficient(data, nearly, level=ALWAYS)
    np.testing.assert_allclose(result.values.estimate, plain.estimate, atol=1e-9)


def test_models_with_the_same_outputs_all_get_the_mean_of_all_rows() -> None:
    data = with_simple_design(predicted_experiment())
    result = efficient(data, np.full((60, 3), 1 / 3), reward_weight=0.0, level=ALWAYS)
    np.testing.assert_allclose(result.values.estimate, data.outcome.mean())
    assert (
        result.values.standard_error / result.widening
        < 0.7 * tuned_doubly_robust(data, reward_weight=0.0).standard_error
    ).all()
    np.testing.assert_allclose(result.exclusion.sensitivity, 2 / 3)


def test_a_model_that_shares_no_outputs_keeps_its_doubly_robust_value() -> None:
    data = with_simple_design(predicted_experiment())
    probability = assigned(data.model, 3)
    probability[data.model < 2] = [0.5, 0.5, 0.0]
    result = efficient(data, probability, reward_weight=0.0, level=ALWAYS)
    plain = tuned_doubly_robust(data, reward_weight=0.0)
    assert result.uses_shared_outputs.tolist() == [True, True, False]
    assert result.values.estimate[2] == pytest.approx(plain.estimate[2], abs=1e-14)
    assert result.exclusion.df == 1
    assert result.exclusion.sensitivity[2] == 0


def test_a_model_effect_in_the_reward_changes_nothing_if_predictions_have_it_too() -> None:
    """q and predictions of model a are raised by c_a; without ``predictions`` the values would be biased by it."""
    data, effect = with_simple_design(predicted_experiment()), np.array([0.3, 0.0, -0.2])
    probability = shared(data)
    raised = replace(data, q=data.q + effect, prediction=data.prediction + effect[data.model])
    predictions = data.prediction[:, None] + effect
    plain = efficient(data, probability, reward_weight=0.3, level=ALWAYS)
    right = efficient(raised, probability, predictions=predictions, reward_weight=0.3, level=ALWAYS)
    wrong = efficient(raised, probability, reward_weight=0.3, level=ALWAYS)
    assert plain.uses_shared_outputs.any()
    np.testing.assert_allclose(right.values.estimate, plain.values.estimate)
    np.testing.assert_allclose(right.values.covariance, plain.values.covariance, atol=1e-15)
    np.testing.assert_allclose(right.exclusion.bias, plain.exclusion.bias)
    assert np.abs(wrong.exclusion.bias - plain.exclusion.bias).max() > 0.02


def test_rows_of_models_that_are_not_compared_do_not_matter_without_a_reward() -> None:
    data = with_simple_design(predicted_experiment())
    others = np.arange(60) < 20
    probability = shared(data)
    with_others = replace(data, model=np.where(others, UNKNOWN_MODEL, data.model))
    result = efficient(with_others, np.where(others[:, None], 0.0, probability), reward_weight=0.0, level=ALWAYS)
    rest = efficient(data.take(~others), probability[~others], reward_weight=0.0, level=ALWAYS)
    np.testing.assert_allclose(result.values.estimate, rest.values.estimate)
    assert result.exclusion.p_value == pytest.approx(rest.exclusion.p_value)


def mean_errors(cell: Cell, studies: int, *, wrong_weights: bool) -> FloatArray:
    """Mean error of each model's value at reward weight 1, in its own standard errors."""
    errors = []
    for number in range(studies):
        study = draw(cell, np.random.default_rng([7, number]))
        probability = study.output_probability
        if wrong_weights:  # a function of the output alone, unrelated to who wrote it
            probability = np.tile([0.2, 0.3, 0.5], (cell.rows, 1))
        values = efficient(study.data, probability, reward_weight=1.0, level=ALWAYS).values
        errors.append(values.estimate - study.truth)
    error = np.array(errors)
    return np.asarray(error.mean(axis=0) / error.std(axis=0, ddof=1) * np.sqrt(studies))


def test_right_weights_correct_a_wrong_reward_and_a_right_reward_corrects_wrong_weights() -> None:
    """Some mean error of three models exceeds 4.5 standard errors with probability 2e-5 if the values are unbiased."""
    studies = 60
    reversed_reward = replace(GREEDY, reward="reversed")
    assert np.abs(mean_errors(reversed_reward, studies, wrong_weights=False)).max() < MAX_BIAS_SE
    assert np.abs(mean_errors(replace(GREEDY, reward="true"), studies, wrong_weights=True)).max() < MAX_BIAS_SE
    # With both wrong the bias is large, so the two assertions above have power.
    assert np.abs(mean_errors(reversed_reward, studies, wrong_weights=True)).max() > 3 * MAX_BIAS_SE
    assert 2 * norm.sf(MAX_BIAS_SE) < 7e-6


def test_the_exclusion_test_has_its_size_for_any_reward_and_detects_a_direct_effect() -> None:
    """At level 0.05 more than 15 rejections in 120 studies have a probability of 3e-4, none at all one of 2e-3."""
    for reward in ("good", "reversed"):
        p_values = exclusion_p_values(replace(GREEDY, reward=reward), 120)
        assert 1 <= (p_values < 0.05).sum() <= 15
    assert (exclusion_p_values(replace(GREEDY, rows=1000, direct_effect=-8.0), 10) < 0.05).all()


def exclusion_p_values(cell: Cell, studies: int) -> FloatArray:
    results = (draw(cell, np.random.default_rng([8, number])) for number in range(studies))
    return np.array([efficient(one.data, one.output_probability).exclusion.p_value for one in results])


def test_a_rejected_exclusion_gives_doubly_robust_values_exactly() -> None:
    study = draw(replace(GREEDY, rows=1000, direct_effect=-7.0), np.random.default_rng(1))
    result = efficient(study.data, study.output_probability)
    assert result.exclusion.rejects()
    assert result.exclusion.df == 2
    assert same(result.values, tuned_doubly_robust(study.data))
    assert result.doubly_robust is result.values
    # The first model loses 7 standard errors, which its efficient value would miss in part.
    assert result.exclusion.bias[0] > 3 * result.exclusion.bias_standard_error[0]


def test_errors_allow_for_an_estimated_bias_but_never_exceed_the_doubly_robust_ones() -> None:
    """The factor is that of a normal interval with a known bias; it is 1 where the bias is below its standard error."""
    uncapped = 0
    for number in range(10):
        study = draw(GREEDY, np.random.default_rng([9, number]))
        result = efficient(study.data, study.output_probability, level=ALWAYS)
        squared = np.maximum(result.exclusion.bias**2 - result.exclusion.bias_standard_error**2, 0)
        used, limit = result.uses_shared_outputs, result.doubly_robust.standard_error
        np.testing.assert_array_equal(result.widening > 1, (squared > 0) & used)
        assert (result.values.standard_error <= limit * (1 + 1e-12))[used].all()
        for a in np.flatnonzero((result.widening > 1) & (result.values.standard_error < limit * (1 - 1e-9))):
            z, bias = norm.isf(0.025) * result.widening[a], np.sqrt(squared[a])
            shift = bias / (result.values.standard_error[a] / result.widening[a])
            assert norm.cdf(z - shift) - norm.cdf(-z - shift) == pytest.approx(0.95, abs=1e-6)
            uncapped += 1
    assert uncapped > 2


def test_copies_of_rows_in_one_cluster_change_nothing() -> None:
    study = draw(GREEDY, np.random.default_rng(1))
    doubled = study.data.take(np.repeat(np.arange(200), 2))
    twice = replace(doubled, cluster=np.repeat(np.arange(200), 2))
    probability = np.repeat(study.output_probability, 2, axis=0)
    once = efficient(study.data, study.output_probability, reward_weight=1.0, level=ALWAYS)
    copies = efficient(twice, probability, reward_weight=1.0, level=ALWAYS)
    np.testing.assert_allclose(copies.values.estimate, once.values.estimate)
    np.testing.assert_allclose(copies.values.covariance, once.values.covariance, rtol=1e-9)
    assert copies.exclusion.p_value == pytest.approx(once.exclusion.p_value)


def test_a_model_without_enough_rows_stays_inestimable() -> None:
    data = with_simple_design(predicted_experiment())
    data = data.take(data.model != 2)
    result = efficient(data, np.full((len(data.model), 3), 1 / 3), level=ALWAYS)
    assert np.isinf(result.values.standard_error[2])
    assert not result.uses_shared_outputs[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output_probability": np.full((60, 2), 0.5)}, "output_probability must have"),
        ({"output_probability": np.full((59, 3), 1 / 3)}, "59 rows"),
        ({"output_probability": np.full((60, 3), 0.5)}, "sum to one"),
        ({"output_probability": np.tile([1.5, -0.5, 0.0], (60, 1))}, "at least 0"),
        ({"predictions": np.zeros((60, 2))}, "predictions must have shape"),
        ({"predictions": np.zeros((60, 3))}, "must equal the experiment's prediction"),
        ({"propensities": np.full((60, 3), 0.2)}, "must equal the experiment's propensity"),
        ({"propensities": np.zeros((60, 3))}, "lie in"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(change: dict[str, FloatArray], message: str) -> None:
    data = with_simple_design(predicted_experiment())
    arguments = {"output_probability": np.full((60, 3), 1 / 3), "propensities": None, "predictions": None} | change
    probability = arguments["output_probability"]
    with pytest.raises(UsageError, match=message):
        efficient(data, probability, propensities=arguments["propensities"], predictions=arguments["predictions"])


def test_unknown_propensities_of_other_models_are_refused() -> None:
    data = predicted_experiment()
    assert data.models == MODELS
    with pytest.raises(UsageError, match="propensity of every model"):
        efficient(data, shared(data))


@pytest.mark.slow
def test_the_exclusion_test_has_its_size_if_users_keep_a_model_and_contexts_recur() -> None:
    """60 users assigned to one model each, 40 contexts: at most 12 of 100 rejections at 5 %, exceeded with p = 0.0015.

    Scores summed by context alone, the way with fewer clusters, rejected in 24 % of such studies.
    """
    rejected = 0
    for seed in range(100):
        rng = np.random.default_rng([91, seed])
        user, context, of_user = rng.integers(60, size=300), rng.integers(40, size=300), rng.integers(3, size=60)
        model, answers = of_user[user], rng.integers(2, size=(40, 3))
        output, taste = answers[context, model], 2 * rng.normal(size=60)
        outcome = (rng.random(300) < 1 / (1 + np.exp(-(0.5 * output - 0.25 + taste[user])))).astype(float)
        agrees = (answers[context] == output[:, None]).astype(float)
        cluster, half = np.column_stack([user, context]), np.full((300, 3), 0.5)
        data = ScoredExperiment.from_arrays("abc", half, half[:, 0], model, outcome, cluster=cluster)
        rejected += efficient(data, agrees / agrees.sum(axis=1, keepdims=True)).exclusion.rejects()
    assert rejected <= 12

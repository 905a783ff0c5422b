"""Dispersions, moderation and degrees of freedom of per-model means, with few rows or constant outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value import ScoredExperiment, experiment_only, tuned_doubly_robust
from deconfound.value.cluster_df import MIN_DF
from deconfound.value.control_variate import outcome_means
from deconfound.value.mean_weights import ModelWeights, sum_squared_weight
from deconfound.value.small_sample import (
    MAX_DISPERSION,
    PRIOR_DF,
    PRIOR_DF_CREDIT,
    PSEUDO_ROWS,
    Moderated,
    binomial_variance,
    moderated,
    moderated_df,
    prior_df,
)
from tests.support.experiments import MODELS, predicted_experiment, with_simple_design


def equal_weights(model: IntArray, cluster: IntArray | None = None, n_models: int = 3) -> ModelWeights:
    return ModelWeights.from_rows(model, n_models, np.ones(len(model)), cluster)


def moderated_outcomes(model: IntArray, outcome: FloatArray, cluster: IntArray | None = None) -> Moderated:
    weights = equal_weights(model, cluster)
    influence = weights.influence(outcome)
    return moderated(weights, influence, outcome_means(weights, outcome, influence))


def naive_dispersion(model: IntArray, outcome: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Dispersion before and after moderation, for equal weights and one cluster per row."""
    own, df, variance, possible = (np.zeros(3) for _ in range(4))
    for a in range(3):
        y = outcome[model == a].tolist()
        mean = sum(y) / len(y)
        df[a] = len(y) - 1
        variance[a] = sum((value - mean) ** 2 for value in y) / df[a]
        possible[a] = mean * (1 - mean) * len(y) / df[a]
        own[a] = variance[a] / possible[a]
    shared = sum(df[a] * variance[a] for a in range(3)) / sum(df[a] * possible[a] for a in range(3))
    information, raised = naive_information(model, outcome), np.zeros(3)
    for a in range(3):
        prior, informative = min(PRIOR_DF, df.sum() - df[a]), information * df[a]
        raised[a] = max(own[a], (prior * shared + informative * own[a]) / (prior + informative))
    return own, raised


def naive_information(model: IntArray, outcome: FloatArray) -> float:
    """2 / (kurtosis - 1) of the residuals, each divided by sqrt(1 - 1 / rows of its model)."""
    squared = []
    for a in range(3):
        y = outcome[model == a].tolist()
        mean = sum(y) / len(y)
        squared += [(value - mean) ** 2 / (1 - 1 / len(y)) for value in y]
    mean_square = sum(squared) / len(squared)
    kurtosis = sum(s**2 for s in squared) / len(squared) / mean_square**2
    return min(1.0, 2 / (kurtosis - 1))


@pytest.mark.parametrize("seed", range(4))
def test_dispersions_equal_a_naive_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, outcome = np.repeat([0, 1, 2], [4, 7, 30]), rng.beta(2, 1 if seed % 2 else 0.1, 41)
    own, raised = naive_dispersion(model, outcome)
    result = moderated_outcomes(model, outcome)
    np.testing.assert_allclose(result.dispersion, raised)
    assert (raised > own + 1e-6).any()
    np.testing.assert_allclose(result.df, np.array([3.0, 6.0, 29.0]) + PRIOR_DF_CREDIT * PRIOR_DF)


@settings(max_examples=50, deadline=None)
@given(counts=st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_yes_no_outcomes_have_dispersion_one_whatever_their_means(counts: list[int]) -> None:
    """Also where a model's outcomes, or all outcomes, are equal: MAX_DISPERSION is one."""
    model, place = np.repeat(np.arange(3), 9), np.tile(np.arange(9), 3)
    outcome = (place < np.array(counts)[model]).astype(np.float64)
    np.testing.assert_allclose(moderated_outcomes(model, outcome).dispersion, 1.0)


@pytest.mark.parametrize("constants", [(0.0,) * 3, (0.3,) * 3, (1.0,) * 3, (1.0, 0.5, 0.2)])
def test_outcomes_that_never_vary_have_the_dispersion_of_yes_no_outcomes(constants: tuple[float, ...]) -> None:
    """Five equal outcomes per model, also away from 0 and 1: as wide as if they had been yes and no."""
    model = np.repeat(np.arange(3), 5)
    outcome = np.array(constants)[model]
    np.testing.assert_allclose(moderated_outcomes(model, outcome).dispersion, MAX_DISPERSION)
    values = experiment_only(MODELS, model, outcome)
    mean = np.array(constants)
    largest = np.maximum(mean * (1 - mean) * 5 / 4, binomial_variance(mean, np.full(3, 0.2)))
    np.testing.assert_allclose(values.covariance, np.diag(largest / 5))
    assert (np.ptp(values.interval(), axis=1) > 0.45).all()
    one = experiment_only(MODELS[:1], np.zeros(5, dtype=np.int64), np.full(5, constants[0]), np.ones(5))
    np.testing.assert_allclose(one.covariance, values.covariance[:1, :1])


def test_a_model_that_never_fails_has_the_shared_dispersion() -> None:
    """The other two have dispersion 0.25: outcomes 0.25 and 0.75 around one half."""
    model = np.repeat(np.arange(3), 6)
    outcome = np.concatenate([np.ones(6), np.tile([0.25, 0.75], 6)])
    np.testing.assert_allclose(moderated_outcomes(model, outcome).dispersion, 0.25)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_dispersion_is_lowered_and_none_raised_above_the_shared_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = np.repeat([0, 1, 2], rng.integers(2, 12, 3))
    outcome = rng.beta(*rng.uniform(0.2, 5, 2), len(model)) * rng.uniform(0.1, 1)
    own, _ = naive_dispersion(model, outcome)
    raised = moderated_outcomes(model, outcome).dispersion
    assert (raised >= own * (1 - 1e-9)).all()
    assert (raised <= own.max() * (1 + 1e-9)).all()
    weights = equal_weights(model)
    variance = weights.influence(outcome).variance()
    assert (moderated_outcomes(model, outcome).added_variance(weights, variance, weights.mean(outcome)) >= 0).all()


def test_the_added_variance_fills_up_to_the_dispersion_at_the_estimate() -> None:
    model = np.repeat(np.arange(3), [5, 10, 20])
    weights, dispersion = equal_weights(model), np.array([0.5, 1.0, 0.1])
    own, mean = np.array([0.0, 0.5, 0.0]), np.array([1.0, 0.5, 0.4])
    added = Moderated(dispersion, np.ones(3), np.eye(3)).added_variance(weights, own, mean)
    smoothed = (10 + PSEUDO_ROWS / 2) / (10 + PSEUDO_ROWS)  # a mean of one in ten effective rows
    assert added[0] == pytest.approx(smoothed * (1 - smoothed) / 10)
    assert added[1] == 0.0
    assert added[2] == pytest.approx(0.1 * 0.4 * 0.6 / 19)


def test_a_model_raised_to_the_shared_dispersion_has_the_variance_that_its_rows_would_have_shown() -> None:
    """Variances are divided by n - 1, so the variance at a dispersion must be too: n would lose a tenth of it.

    Two models with outcomes 0.3 and 0.7 and one with the double deviation, around one half, ten rows each.
    """
    model, half = np.repeat(np.arange(3), 10), np.tile([-0.2, 0.2], 5)
    weights = equal_weights(model)
    outcome = 0.5 + np.concatenate([half, half, 2 * half])
    result = moderated_outcomes(model, outcome)
    own = weights.influence(outcome).variance()
    total = own + result.added_variance(weights, own, weights.mean(outcome))
    np.testing.assert_allclose(total / own, result.dispersion / naive_dispersion(model, outcome)[0])
    assert total[0] > 1.2 * own[0]


def test_a_binomial_variance_adds_a_success_and_a_failure() -> None:
    """(x + 1) / (n + 2) as the mean; positive at 0 and 1, for means outside [0, 1] and for missing ones."""
    mean, rows = np.array([0.0, 0.3, 1.0, 1.2, np.nan]), np.full(5, 10.0)
    share = np.array([1.0, 4.0, 11.0, 11.0, 1.0]) / 12
    np.testing.assert_allclose(binomial_variance(mean, 1 / rows), share * (1 - share))
    np.testing.assert_allclose(binomial_variance(mean[1:2], np.zeros(1)), 0.21)
    assert (binomial_variance(mean, np.zeros(5)) > 0).all()


def test_the_prior_counts_at_most_what_the_other_models_have() -> None:
    np.testing.assert_array_equal(prior_df(np.array([20.0, 1.0, 2.0])), [3.0, PRIOR_DF, PRIOR_DF])
    np.testing.assert_array_equal(prior_df(np.array([5.0])), [0.0])


def test_degrees_of_freedom_are_the_own_ones_and_part_of_the_prior() -> None:
    df, prior = np.array([0.0, 0.4, 4.0, 100.0]), np.array([1.0, 0.0, PRIOR_DF, PRIOR_DF])
    np.testing.assert_allclose(moderated_df(df, prior), [MIN_DF, MIN_DF, *(df[2:] + PRIOR_DF_CREDIT * PRIOR_DF)])


def test_weights_of_rows_and_clusters_sum_to_one_per_model() -> None:
    t = predicted_experiment()
    weights = ModelWeights.from_rows(t.model, 4, t.weight / t.propensity, t.cluster)
    np.testing.assert_allclose(weights.weight.sum(axis=0), [1, 1, 1, 0])
    np.testing.assert_allclose(weights.cluster_weight[0].sum(axis=0), [1, 1, 1, 0])
    for a in range(3):
        mine = t.model == a
        expected = np.average(t.outcome[mine], weights=t.weight[mine] / t.propensity[mine])
        assert weights.mean(t.outcome)[a] == pytest.approx(expected)
    assert np.isnan(weights.mean(t.outcome)[3])
    assert weights.inestimable.tolist() == [False, False, False, True]


def test_with_two_ways_the_coarser_one_sets_effective_clusters_and_df() -> None:
    """Twelve rows in a grid of four users and three contexts: effective numbers 4 and 3, so df 2."""
    grid = np.array([[i, j] for i in range(4) for j in range(3)])
    weights = equal_weights(np.zeros(12, dtype=np.int64), grid, 1)
    assert sum_squared_weight(weights)[0] == pytest.approx(1 / 3)
    assert weights.df[0] == pytest.approx(2)
    assert not weights.inestimable[0]
    one_context = np.where([[False, True]] * 12, np.arange(12)[:, None] // 6, grid)
    single = equal_weights(np.repeat([0, 1], 6), one_context, 2)
    assert single.inestimable.all()
    assert (single.df == 0).all()


def test_an_effect_of_one_way_is_in_the_variance_of_two_ways() -> None:
    """Outcomes that depend on the context alone: the unbiased variance of a mean of three context means."""
    grid = np.array([[i, j] for i in range(4) for j in range(3)])
    outcome = np.array([0.2, 0.5, 0.9])[grid[:, 1]]
    weights = equal_weights(np.zeros(12, dtype=np.int64), grid, 1)
    expected = np.var([0.2, 0.5, 0.9], ddof=1) / 3
    assert weights.influence(outcome).variance()[0] == pytest.approx(expected)


def test_with_many_rows_the_error_is_the_textbook_standard_error() -> None:
    """Equal propensities, no clusters: s^2 / n, where moderation adds at most PRIOR_DF / n of the shared dispersion."""
    t = with_simple_design(predicted_experiment(rows=6000))
    values = experiment_only(MODELS, t.model, t.outcome, t.propensity, t.cluster)
    for a in range(3):
        own = t.outcome[t.model == a]
        assert values.estimate[a] == pytest.approx(own.mean())
        assert values.standard_error[a] == pytest.approx(own.std(ddof=1) / np.sqrt(len(own)), rel=2e-3)
    assert values.df is not None
    np.testing.assert_allclose(values.df, np.bincount(t.model) - 1 + PRIOR_DF_CREDIT * PRIOR_DF, rtol=0.01)


def test_five_identical_outcomes_do_not_give_zero_variance() -> None:
    model = np.repeat(np.arange(3), 5)
    outcome = np.concatenate([np.ones(5), [0, 1, 1, 0, 1], [0, 0, 1, 0, 0]]).astype(np.float64)
    values = experiment_only(MODELS, model, outcome, np.full(15, 1 / 3))
    low, high = values.interval()[0]
    assert high == 1.0
    assert low == pytest.approx(0.05 ** (1 / 5))  # half of the probability of five out of five is 2.5 %
    assert np.isfinite(values.standard_error).all()


@pytest.mark.parametrize("rows", [5, 20, 100])
def test_constant_outcomes_leave_the_rule_of_three(rows: int) -> None:
    """n equal outcomes exclude, at level 95 %, probabilities beyond 1 - 0.05^(1 / n), about 3 / n.

    At 0 and 1 the interval is just this.
    """
    model = np.repeat(np.arange(3), rows)
    for outcome in (np.ones(3 * rows), (model == 1).astype(np.float64)):
        width = np.ptp(experiment_only(MODELS, model, outcome, np.full(3 * rows, 1 / 3)).interval(), axis=1)
        assert width == pytest.approx(np.full(3, 1 - 0.05 ** (1 / rows)))


@pytest.mark.parametrize("case", ["one row each", "one row of one", "never drawn", "one cluster", "one context"])
def test_a_model_with_too_few_rows_or_clusters_has_infinite_variance(case: str) -> None:
    model = np.array({"one row each": [0, 1, 2], "never drawn": [0, 0, 0, 1, 1, 1]}.get(case, [0, 0, 0, 1, 1, 1, 2, 2]))
    if case == "one row of one":
        model = model[:-1]
    rows = len(model)
    outcome, cluster = np.random.default_rng(0).random(rows), np.arange(rows)
    if case == "one cluster":
        cluster = np.where(model == 2, 99, cluster)
    if case == "one context":
        cluster = np.column_stack([np.arange(rows) % 4, np.where(model == 2, 99, np.arange(rows) % 3)])
    q, prediction = np.full((rows, 3), 0.5), np.full(rows, 0.5)
    for values in (
        experiment_only(MODELS, model, outcome, np.full(rows, 1 / 3), cluster),
        tuned_doubly_robust(ScoredExperiment.from_arrays(MODELS, q, prediction, model, outcome, cluster=cluster)),
    ):
        assert np.isinf(values.standard_error[2])
        assert values.interval()[2].tolist() == [0.0, 1.0]
        assert values.interval(simultaneous=True)[2].tolist() == [0.0, 1.0]
        assert np.isnan(values.estimate[2]) == (case == "never drawn")
        assert "cat" in values.best_set()
        assert len(values.contrasts()) == 3


def test_a_model_without_an_estimable_variance_does_not_change_the_others() -> None:
    model = np.repeat([0, 1, 2], [6, 6, 1])
    outcome = np.random.default_rng(1).random(13)
    three, two = moderated_outcomes(model, outcome), moderated_outcomes(model[:12], outcome[:12])
    np.testing.assert_allclose(three.dispersion[:2], two.dispersion[:2])
    np.testing.assert_allclose(three.df[:2], two.df[:2])
    assert np.isinf(three.df[2])


@pytest.mark.parametrize("rows", [16, 20, 33, 49])
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_rounding_does_not_give_constant_outcomes_a_dispersion_of_their_own(rows: int, constant: float) -> None:
    """Equal weights sum to one only up to rounding; the model has the dispersion that the other two share."""
    model, outcome = np.repeat([0, 1, 2], rows), np.random.default_rng(0).random(3 * rows)
    outcome[:rows] = constant
    others = [outcome[model == a] for a in (1, 2)]
    shared = sum(y.var() for y in others) / sum(y.mean() * (1 - y.mean()) for y in others)
    assert moderated_outcomes(model, outcome).dispersion[0] == pytest.approx(shared)


def test_an_experiment_without_rows_is_refused() -> None:
    with pytest.raises(UsageError, match="no rows"):
        experiment_only(MODELS, np.zeros(0, dtype=np.int64), np.zeros(0))


def test_rare_extremes_say_little_about_a_variance() -> None:
    """Of 60 rows two are near one, the others near zero: a model without an extreme takes most of the shared variance.

    Without the information factor its share would be 4 / (4 + 19) = 17 %.
    """
    model = np.repeat(np.arange(3), 20)
    outcome = np.random.default_rng(0).uniform(0, 0.02, 60)
    outcome[[0, 25]] = 0.9  # models 0 and 1 have one extreme each
    result = moderated_outcomes(model, outcome)
    assert 0.5 * result.dispersion[0] < result.dispersion[2] < result.dispersion[0]


def test_a_model_whose_outcomes_are_all_equal_has_the_shared_dispersion_wherever_they_are():
    """Rare extremes above a floor: fifty outcomes of 0.02 do not show that none is one."""
    model = np.repeat(np.arange(3), 50)
    outcome = np.where(np.arange(150) % 25 == 0, 1.0, 0.02)
    outcome[:50] = 0.02
    dispersion = moderated_outcomes(model, outcome).dispersion
    assert dispersion[0] > 0.8 * dispersion[1]

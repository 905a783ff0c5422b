"""Moderated variances and degrees of freedom of the experiment alone, with few rows or constant outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.errors import UsageError
from deconfound.value import ScoredExperiment, experiment_only, tuned_doubly_robust
from deconfound.value.small_sample import (
    EDGEWORTH_FACTOR,
    PRIOR_DF,
    PRIOR_DF_CREDIT,
    moderated_df,
    moderated_variance,
    prior_df,
)
from tests.support.experiments import MODELS, predicted_experiment, with_simple_design


def test_with_many_rows_the_error_is_the_textbook_standard_error() -> None:
    """Equal propensities, no clusters: s^2 / n, with s^2 the usual one but for PRIOR_DF rows of the shared one."""
    t = with_simple_design(predicted_experiment(rows=6000))
    values = experiment_only(MODELS, t.model, t.outcome, t.propensity, t.cluster)
    for a in range(3):
        own = t.outcome[t.model == a]
        assert values.estimate[a] == pytest.approx(own.mean())
        assert values.standard_error[a] == pytest.approx(own.std(ddof=1) / np.sqrt(len(own)), rel=1e-3)
    assert values.df is not None
    np.testing.assert_allclose(values.df, np.bincount(t.model) - 1 + PRIOR_DF_CREDIT * PRIOR_DF, rtol=0.01)


def test_the_prior_counts_at_most_what_the_other_models_have() -> None:
    np.testing.assert_array_equal(prior_df(np.array([20.0, 1.0, 2.0])), [3.0, PRIOR_DF, PRIOR_DF])
    np.testing.assert_array_equal(prior_df(np.array([5.0])), [0.0])


def test_a_moderated_variance_lies_between_the_own_and_the_shared_one() -> None:
    df, own = np.array([2.0, 6.0, 600.0]), np.array([0.0, 0.1, 0.3])
    variance = moderated_variance(df * own, df, 0.2, PRIOR_DF)
    np.testing.assert_allclose(variance, [0.15, 0.15, (1.2 + 180) / 606])


def test_symmetric_residuals_lose_no_degrees_of_freedom() -> None:
    df, prior = np.array([0.0, 4.0, 100.0]), np.full(3, PRIOR_DF)
    np.testing.assert_allclose(moderated_df(df, np.zeros(3), prior), df + PRIOR_DF_CREDIT * PRIOR_DF)
    assert (moderated_df(df[1:], np.ones(2), prior[1:]) < df[1:] + PRIOR_DF_CREDIT * PRIOR_DF).all()


def test_five_identical_outcomes_do_not_give_zero_variance() -> None:
    model = np.repeat(np.arange(3), 5)
    outcome = np.concatenate([np.ones(5), [0, 1, 1, 0, 1], [0, 0, 1, 0, 0]]).astype(np.float64)
    values = experiment_only(MODELS, model, outcome, np.full(15, 1 / 3))
    low, high = values.interval()[0]
    assert high == 1.0
    assert 0.5 < low < 0.85
    assert np.isfinite(values.standard_error).all()


@pytest.mark.parametrize("rows", [5, 100])
def test_constant_outcomes_leave_the_rule_of_three(rows: int) -> None:
    """n equal outcomes exclude probabilities beyond 3.7 / n at level 95 %; the interval must not be narrower."""
    model = np.repeat(np.arange(3), rows)
    for outcome in (np.ones(3 * rows), (model == 1).astype(np.float64)):
        values = experiment_only(MODELS, model, outcome, np.full(3 * rows, 1 / 3))
        assert (np.ptp(values.interval(), axis=1) >= min(1 - 0.025 ** (1 / rows), 1.0)).all()
        assert (np.ptp(values.interval(), axis=1) <= 6 / rows + 0.05).all() or rows == 5


@pytest.mark.parametrize("case", ["one row each", "one row of one", "never drawn", "one cluster"])
def test_a_model_with_too_few_rows_or_clusters_has_infinite_variance(case: str) -> None:
    model = np.array({"one row each": [0, 1, 2], "never drawn": [0, 0, 0, 1, 1, 1]}.get(case, [0, 0, 0, 1, 1, 1, 2, 2]))
    if case == "one row of one":
        model = model[:-1]
    rows = len(model)
    outcome, cluster = np.random.default_rng(0).random(rows), np.arange(rows)
    if case == "one cluster":
        cluster = np.where(model == 2, 99, cluster)
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


def test_rare_outcomes_leave_fewer_degrees_of_freedom() -> None:
    """One success in ten: squared skewness (1 - 2p)^2 / pq = 7.1, so 1 / (0.94 * 1.1 * 0.071 + 1 / 99)."""
    model = np.repeat(np.arange(3), 100)
    rare = np.tile(np.arange(100) < 10, 3).astype(np.float64)
    even = np.tile(np.arange(100) < 50, 3).astype(np.float64)
    rare_df, even_df = (experiment_only(MODELS, model, y, np.full(300, 1 / 3)).df for y in (rare, even))
    assert rare_df is not None
    assert even_df is not None
    skewed = 99 / (99 + PRIOR_DF) * EDGEWORTH_FACTOR * 0.64 / 0.09 / 100
    np.testing.assert_allclose(rare_df, 1 / (skewed + 1 / 99) + PRIOR_DF_CREDIT * PRIOR_DF, rtol=1e-6)
    np.testing.assert_allclose(even_df, 99 + PRIOR_DF_CREDIT * PRIOR_DF)


@pytest.mark.parametrize("rows", [16, 20, 33, 49])
def test_rounding_does_not_make_constant_outcomes_skewed(rows: int) -> None:
    model, outcome = np.repeat([0, 1, 2], rows), np.random.default_rng(0).random(3 * rows)
    outcome[:rows] = 0.3
    values = experiment_only(MODELS, model, outcome)
    assert values.df is not None
    assert values.df[0] == pytest.approx(rows - 1 + PRIOR_DF_CREDIT * PRIOR_DF)


def test_an_experiment_without_rows_is_refused() -> None:
    with pytest.raises(UsageError, match="no rows"):
        experiment_only(MODELS, np.zeros(0, dtype=np.int64), np.zeros(0))

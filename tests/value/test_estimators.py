"""Direct, doubly robust and raw-log values against naive loops."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value import ScoredExperiment, direct, doubly_robust, raw_log
from deconfound.value.estimators import welch_satterthwaite_df
from deconfound.value.mean_weights import ModelWeights
from tests.support.experiments import MODELS
from tests.support.experiments import unrelated_experiment as experiment


def naive_influence(data: ScoredExperiment, propensity: FloatArray) -> FloatArray:
    rows, models = data.q.shape
    influence = np.zeros((rows, models))
    for j in range(rows):
        for a in range(models):
            influence[j, a] = data.q[j, a]
            if data.model[j] == a:
                influence[j, a] += (data.outcome[j] - data.prediction[j]) / propensity[j]
    return influence


def naive_covariance(influence: FloatArray, cluster: IntArray) -> FloatArray:
    """sum over clusters of s s' / n^2 * g / (g - 1), s the cluster's sum of centered influence values."""
    rows, models = influence.shape
    total, names = np.zeros((models, models)), sorted(set(cluster.tolist()))
    for name in names:
        s = np.zeros(models)
        for j in range(rows):
            if cluster[j] == name:
                s += influence[j] - influence.mean(axis=0)
        total += np.outer(s, s)
    return np.asarray(total / rows**2 * len(names) / (len(names) - 1))


@pytest.mark.parametrize("declared", [False, True], ids=["uniform", "declared"])
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "clusters"])
def test_doubly_robust_equals_a_naive_loop(declared: bool, grouped: bool) -> None:
    t = experiment()
    propensity = t.propensity if declared else None
    cluster = t.cluster if grouped else None
    values = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, propensity, cluster)
    influence = naive_influence(t, t.propensity if declared else np.full(40, 1 / 3))
    np.testing.assert_allclose(values.estimate, influence.mean(axis=0), atol=1e-12)
    expected = naive_covariance(influence, t.cluster if grouped else np.arange(40))
    np.testing.assert_allclose(values.covariance, expected, atol=1e-12)


def test_direct_equals_a_naive_loop_and_ignores_how_clusters_are_numbered() -> None:
    t = experiment()
    np.testing.assert_allclose(direct(MODELS, t.q).estimate, t.q.mean(axis=0))
    np.testing.assert_allclose(direct(MODELS, t.q).covariance, np.cov(t.q.T) / 40, atol=1e-12)
    values = direct(MODELS, t.q, cluster=1000 - 7 * t.cluster)
    np.testing.assert_allclose(values.covariance, naive_covariance(t.q, t.cluster), atol=1e-12)


def test_one_cluster_per_row_is_the_same_as_no_clusters() -> None:
    t = experiment()
    each = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, cluster=np.arange(40)[::-1])
    none = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction)
    np.testing.assert_allclose(each.covariance, none.covariance, atol=1e-15)


def test_duplicated_rows_within_a_cluster_do_not_reduce_the_error() -> None:
    t = experiment()
    once = direct(MODELS, t.q, cluster=t.cluster)
    twice = direct(MODELS, np.repeat(t.q, 2, axis=0), cluster=np.repeat(t.cluster, 2))
    np.testing.assert_allclose(twice.covariance, once.covariance, atol=1e-15)
    unclustered = direct(MODELS, np.repeat(t.q, 2, axis=0))
    assert (unclustered.standard_error < direct(MODELS, t.q).standard_error).all()


def test_with_a_perfect_reward_doubly_robust_equals_direct() -> None:
    t = experiment()
    robust = doubly_robust(MODELS, t.q, t.model, t.prediction, t.prediction, t.propensity)
    np.testing.assert_allclose(robust.estimate, direct(MODELS, t.q).estimate)
    np.testing.assert_allclose(robust.covariance, direct(MODELS, t.q).covariance)


@pytest.mark.parametrize("times", [0, 1])
def test_a_model_drawn_less_than_twice_has_infinite_variance(times: int) -> None:
    t = experiment(rows=30)
    model = np.where(np.arange(30) < times, 2, np.arange(30) % 2)
    values = doubly_robust(MODELS, t.q, model, t.outcome, t.prediction)
    assert np.isinf(values.standard_error[2])
    assert np.isfinite(values.standard_error[:2]).all()
    assert values.interval()[2].tolist() == [0.0, 1.0]
    against = values.contrast("ant", "cat")
    assert (against.low, against.high, against.p_value) == (-1.0, 1.0, 1.0)
    assert np.isfinite(values.contrast("ant", "bee").standard_error)


def test_a_single_cluster_gives_infinite_variances() -> None:
    t = experiment()
    values = direct(MODELS, t.q, cluster=np.zeros(40, dtype=int))
    assert values.interval().tolist() == [[0.0, 1.0]] * 3
    against = values.contrast("ant", "bee")
    assert (against.low, against.high) == (-1.0, 1.0)
    assert not against.significant


def test_wrong_arrays_are_refused() -> None:
    t = experiment()
    with pytest.raises(UsageError, match="3 columns"):
        direct(MODELS, t.q[:, :2])
    with pytest.raises(UsageError, match="at least one row"):
        direct(MODELS, t.q[:0])
    with pytest.raises(UsageError, match="weight has 39 entries"):
        direct(MODELS, t.q, weight=np.ones(39))
    with pytest.raises(UsageError, match="propensity"):
        doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, np.where(t.model == 1, 0.0, 0.5))


def test_the_raw_log_is_each_models_mean_with_its_textbook_error_or_slightly_more() -> None:
    """Dispersions below the shared one are raised toward it, with 20 rows per model by little."""
    t = experiment(rows=60)
    values = raw_log(MODELS, t.model, t.outcome)
    for a in range(3):
        own = t.outcome[t.model == a]
        assert values.estimate[a] == pytest.approx(own.mean())
        textbook = own.std(ddof=1) / np.sqrt(len(own))
        assert textbook * (1 - 1e-12) <= values.standard_error[a] < 1.05 * textbook
    assert np.abs(values.covariance - np.diag(np.diag(values.covariance))).max() < 1e-15


def test_copies_of_a_users_rows_do_not_reduce_the_error_of_the_raw_log() -> None:
    """Four copies of every row in its own cluster leave the error unchanged.

    But for the dispersion between rows, which is an estimate with n - 1: it moves by 1 % and hardly counts here.
    """
    t = experiment(rows=60)
    single = raw_log(MODELS, t.model, t.outcome, np.arange(60))
    copied = raw_log(MODELS, np.repeat(t.model, 4), np.repeat(t.outcome, 4), np.repeat(np.arange(60), 4))
    np.testing.assert_allclose(copied.covariance, single.covariance, rtol=1e-5, atol=1e-15)
    np.testing.assert_array_equal(single.covariance, raw_log(MODELS, t.model, t.outcome).covariance)
    assert np.isinf(raw_log(MODELS, t.model, t.outcome, np.zeros(60, dtype=np.int64)).standard_error).all()


def test_a_model_used_by_a_single_user_has_infinite_variance() -> None:
    """Deviations from its mean cancel within the one user, which must not count as precision."""
    t = experiment(rows=60)
    cluster = np.where(t.model == 1, 7, np.arange(60) % 5)
    values = raw_log(MODELS, t.model, t.outcome, cluster)
    assert np.isinf(values.standard_error).tolist() == [False, True, False]


def test_a_log_without_rows_has_no_estimates() -> None:
    values = raw_log(MODELS, np.zeros(0, dtype=np.int64), np.zeros(0))
    assert np.isnan(values.estimate).all()
    assert values.interval().tolist() == [[0.0, 1.0]] * 3


def test_the_variance_is_unbiased_for_few_users() -> None:
    """Three users with one value each: the variance of a mean of three numbers."""
    rng = np.random.default_rng(3)
    user = np.repeat(np.arange(3), 20)
    variances = []
    for _ in range(4000):
        weights = ModelWeights.from_rows(np.zeros(60, dtype=np.int64), 1, np.ones(60), user)
        variances.append(weights.influence(rng.standard_normal(3)[user]).variance()[0])
    assert np.mean(variances) == pytest.approx(1 / 3, rel=0.05)  # its standard error is 1/3 * sqrt(2 / 2 / 4000)


def test_weights_add_no_error_to_a_constant_reward() -> None:
    """A reward that is the same on every context has no error, whatever the weights; otherwise that of a ratio."""
    rng = np.random.default_rng(0)
    weight = rng.lognormal(size=60)
    constant = np.tile([0.2, 0.7, 0.4], (60, 1))
    np.testing.assert_allclose(direct(MODELS, constant, weight=weight).standard_error, 0.0, atol=1e-15)
    q = rng.random((60, 3))
    values = direct(MODELS, q, weight=weight)
    mean = weight @ q / weight.sum()
    np.testing.assert_allclose(values.estimate, mean)
    influence = weight[:, None] * (q - mean) / weight.sum()
    np.testing.assert_allclose(values.standard_error, np.sqrt((influence**2).sum(axis=0) * 60 / 59))


def test_a_model_that_never_occurs_has_no_estimate_and_is_ranked_last() -> None:
    values = raw_log(MODELS, np.array([0, 0, 2, 2]), np.array([0.0, 0.4, 1.0, 0.5]))
    assert np.isnan(values.estimate[1])
    assert values.ranking() == ("cat", "ant", "bee")
    assert values.interval()[1].tolist() == [0.0, 1.0]


def test_two_ways_of_clustering_equal_a_loop_over_pairs_of_rows() -> None:
    """Pairs that share a cluster of either way, times g / (g - 1) with g the smaller number of clusters.

    The first three columns of the influence values have no negative eigenvalue here, so nothing is repaired.
    """
    t, rng = experiment(rows=60), np.random.default_rng(4)
    user, context = rng.integers(0, 8, 60), rng.integers(0, 6, 60)
    q = 0.2 * t.q + rng.uniform(0, 0.4, (8, 3))[user] + rng.uniform(0, 0.4, (6, 3))[context]
    values = direct(MODELS, q, np.column_stack([user, context]))
    influence = (q - q.mean(axis=0)) / 60
    total = np.zeros((3, 3))
    for i in range(60):
        for j in range(60):
            if user[i] == user[j] or context[i] == context[j]:
                total += np.outer(influence[i], influence[j])
    assert np.linalg.eigvalsh(total)[0] > 0
    np.testing.assert_allclose(values.covariance, total * 6 / 5, atol=1e-12)


def test_a_second_way_inside_the_first_changes_nothing() -> None:
    t = experiment()
    once = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, t.propensity, t.cluster)
    nested = np.column_stack([t.cluster, np.arange(40)])
    twice = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, t.propensity, nested)
    np.testing.assert_array_equal(twice.covariance, once.covariance)
    log, nested_log = (raw_log(MODELS, t.model, t.outcome, cluster) for cluster in (t.cluster, nested))
    np.testing.assert_array_equal(nested_log.covariance, log.covariance)


def test_a_model_on_a_single_context_has_infinite_variance_whatever_the_number_of_users() -> None:
    t = experiment(rows=60)
    context = np.where(t.model == 1, 7, np.arange(60) % 5)
    values = raw_log(MODELS, t.model, t.outcome, np.column_stack([np.arange(60) % 11, context]))
    assert np.isinf(values.standard_error).tolist() == [False, True, False]


def test_welch_satterthwaite_df_lie_between_the_smaller_df_and_the_sum() -> None:
    variance, other = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0, 0.0])
    df = welch_satterthwaite_df(variance, np.array([5.0, 5.0, 5.0, 5.0]), other, 10.0)
    np.testing.assert_allclose(df, [5.0, 4 / (1 / 5 + 1 / 10), 10.0, np.inf])

"""Values against naive loops; contrasts and intervals by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value import Values, direct, doubly_robust, raw_log

MODELS = ("ant", "bee", "cat")


@dataclass(frozen=True)
class Drawn:
    """One simulated experiment and a reward for it."""

    q: FloatArray
    model: IntArray
    outcome: FloatArray
    prediction: FloatArray
    propensity: FloatArray
    cluster: IntArray


def table(seed: int = 0, rows: int = 40) -> Drawn:
    """Numbers without meaning, for comparing formulas."""
    rng = np.random.default_rng(seed)
    return Drawn(
        rng.random((rows, 3)),
        rng.integers(0, 3, rows),
        rng.random(rows),
        rng.random(rows),
        rng.uniform(0.1, 0.9, rows),
        rng.integers(0, 9, rows),
    )


def naive_influence(t: Drawn, propensity: FloatArray) -> FloatArray:
    rows, models = t.q.shape
    found = np.zeros((rows, models))
    for j in range(rows):
        for a in range(models):
            found[j, a] = t.q[j, a]
            if t.model[j] == a:
                found[j, a] += (t.outcome[j] - t.prediction[j]) / propensity[j]
    return found


def naive_covariance(influence: FloatArray, cluster: IntArray) -> FloatArray:
    """sum over clusters of s s' / n^2 * g / (g - 1), s the cluster's sum of centred influence values."""
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
    t = table()
    propensity = t.propensity if declared else None
    cluster = t.cluster if grouped else None
    found = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, propensity, cluster)
    influence = naive_influence(t, t.propensity if declared else np.full(40, 1 / 3))
    np.testing.assert_allclose(found.estimate, influence.mean(axis=0), atol=1e-12)
    expected = naive_covariance(influence, t.cluster if grouped else np.arange(40))
    np.testing.assert_allclose(found.covariance, expected, atol=1e-12)


def test_direct_equals_a_naive_loop_and_ignores_how_clusters_are_numbered() -> None:
    t = table()
    np.testing.assert_allclose(direct(MODELS, t.q).estimate, t.q.mean(axis=0))
    np.testing.assert_allclose(direct(MODELS, t.q).covariance, np.cov(t.q.T) / 40, atol=1e-12)
    found = direct(MODELS, t.q, cluster=1000 - 7 * t.cluster)
    np.testing.assert_allclose(found.covariance, naive_covariance(t.q, t.cluster), atol=1e-12)


def test_a_cluster_for_every_row_is_no_cluster_at_all() -> None:
    t = table()
    each = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, cluster=np.arange(40)[::-1])
    none = doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction)
    np.testing.assert_allclose(each.covariance, none.covariance, atol=1e-15)


def test_rows_written_twice_under_their_cluster_carry_no_more_certainty() -> None:
    t = table()
    once = direct(MODELS, t.q, cluster=t.cluster)
    twice = direct(MODELS, np.repeat(t.q, 2, axis=0), cluster=np.repeat(t.cluster, 2))
    np.testing.assert_allclose(twice.covariance, once.covariance, atol=1e-15)
    assert (direct(MODELS, np.repeat(t.q, 2, axis=0)).error < direct(MODELS, t.q).error).all()


def test_a_perfect_reward_leaves_direct_and_doubly_robust_the_same() -> None:
    t = table()
    robust = doubly_robust(MODELS, t.q, t.model, t.prediction, t.prediction, t.propensity)
    np.testing.assert_allclose(robust.estimate, direct(MODELS, t.q).estimate)
    np.testing.assert_allclose(robust.covariance, direct(MODELS, t.q).covariance)


def test_a_contrast_takes_its_error_from_the_covariance() -> None:
    covariance = np.array([[0.04, 0.03, 0.0], [0.03, 0.05, 0.0], [0.0, 0.0, 0.01]])
    values = Values(MODELS, np.array([0.6, 0.5, 0.2]), covariance, "by hand")
    found = values.contrast("ant", "bee", level=0.9)
    assert found.difference == pytest.approx(0.1)
    assert found.error == pytest.approx(np.sqrt(0.04 + 0.05 - 0.06))
    half = norm.ppf(0.95) * found.error
    assert (found.low, found.high) == pytest.approx((0.1 - half, 0.1 + half))
    assert found.p_value == pytest.approx(2 * norm.sf(0.1 / found.error))
    assert not found.significant
    back = values.contrast("bee", "ant", level=0.9)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


def test_models_that_share_their_luck_are_told_apart_where_separate_intervals_overlap() -> None:
    luck = np.random.default_rng(0).uniform(0, 0.8, 50)
    values = direct(("ant", "bee"), np.column_stack([luck + 0.02, luck + 0.01 * np.sin(np.arange(50))]))
    low, high = values.interval()[0, 0], values.interval()[1, 1]
    assert low < high
    assert values.contrast("ant", "bee").significant


def test_the_same_model_against_itself_differs_by_nothing() -> None:
    t = table()
    found = direct(MODELS, t.q).contrast("bee", "bee")
    assert (found.difference, found.error, found.p_value) == (0.0, 0.0, 1.0)
    assert not found.significant


def test_intervals_stay_inside_the_unit_interval_and_grow_with_their_level() -> None:
    values = Values(MODELS, np.array([1.02, 0.5, -0.3]), np.diag([0.01, 0.01, 0.01]), "by hand")
    interval = values.interval(0.95)
    assert interval.min() >= 0
    assert interval.max() <= 1
    np.testing.assert_allclose(interval[1], [0.5 - 1.959964 * 0.1, 0.5 + 1.959964 * 0.1], atol=1e-6)
    assert np.ptp(values.interval(0.99)[1]) > np.ptp(values.interval(0.5)[1])
    assert [row["model"] for row in values.table()] == ["ant", "bee", "cat"]
    assert [row["estimate"] for row in values.table()] == [1.0, 0.5, 0.0]
    for wrong in (0.0, 1.0, 95.0):
        with pytest.raises(UsageError, match="level"):
            values.interval(wrong)


@pytest.mark.parametrize("times", [0, 1])
def test_a_model_drawn_less_than_twice_has_no_known_error(times: int) -> None:
    t = table(rows=30)
    model = np.where(np.arange(30) < times, 2, np.arange(30) % 2)
    found = doubly_robust(MODELS, t.q, model, t.outcome, t.prediction)
    assert np.isinf(found.error[2])
    assert np.isfinite(found.error[:2]).all()
    assert found.interval()[2].tolist() == [0.0, 1.0]
    against = found.contrast("ant", "cat")
    assert (against.low, against.high, against.p_value) == (-1.0, 1.0, 1.0)
    assert np.isfinite(found.contrast("ant", "bee").error)


def test_a_single_cluster_says_nothing_about_any_error() -> None:
    t = table()
    found = direct(MODELS, t.q, cluster=np.zeros(40, dtype=int))
    assert found.interval().tolist() == [[0.0, 1.0]] * 3
    against = found.contrast("ant", "bee")
    assert (against.low, against.high) == (-1.0, 1.0)
    assert not against.significant


def test_what_cannot_be_a_value_is_refused() -> None:
    t = table()
    with pytest.raises(UsageError, match="3 columns"):
        direct(MODELS, t.q[:, :2])
    with pytest.raises(UsageError, match="one row a context"):
        direct(MODELS, t.q[:0])
    with pytest.raises(UsageError, match="propensity"):
        doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, np.where(t.model == 1, 0.0, 0.5))
    with pytest.raises(UsageError, match='"dog"'):
        direct(MODELS, t.q).contrast("ant", "dog")


def test_a_ranking_follows_the_estimates_and_keeps_equals_in_order() -> None:
    assert Values(MODELS, np.array([0.2, 0.9, 0.2]), np.eye(3), "by hand").ranking() == ("bee", "ant", "cat")


def test_the_raw_log_is_each_models_mean_with_its_textbook_error() -> None:
    t = table(rows=60)
    found = raw_log(MODELS, t.model, t.outcome)
    for a in range(3):
        mine = t.outcome[t.model == a]
        assert found.estimate[a] == pytest.approx(mine.mean())
        assert found.error[a] == pytest.approx(mine.std(ddof=1) / np.sqrt(len(mine)))
    assert np.abs(found.covariance - np.diag(np.diag(found.covariance))).max() < 1e-15


def test_rows_of_one_user_make_the_raw_log_no_surer() -> None:
    """Four copies of every row in its own cluster leave the error where it was."""
    t = table(rows=60)
    alone = raw_log(MODELS, t.model, t.outcome, np.arange(60))
    copied = raw_log(MODELS, np.repeat(t.model, 4), np.repeat(t.outcome, 4), np.repeat(np.arange(60), 4))
    np.testing.assert_allclose(copied.covariance, alone.covariance, atol=1e-15)
    np.testing.assert_array_equal(alone.covariance, raw_log(MODELS, t.model, t.outcome).covariance)
    assert np.isinf(raw_log(MODELS, t.model, t.outcome, np.zeros(60, dtype=np.int64)).error).all()


def test_a_model_that_one_user_alone_has_used_is_unknown() -> None:
    """Deviations from its own mean cancel within the one user, which is no certainty."""
    t = table(rows=60)
    cluster = np.where(t.model == 1, 7, np.arange(60) % 5)
    found = raw_log(MODELS, t.model, t.outcome, cluster)
    assert np.isinf(found.error).tolist() == [False, True, False]


def test_a_log_without_rows_says_nothing() -> None:
    found = raw_log(MODELS, np.zeros(0, dtype=np.int64), np.zeros(0))
    assert np.isnan(found.estimate).all()
    assert found.interval().tolist() == [[0.0, 1.0]] * 3


def test_few_users_are_no_surer_than_they_are() -> None:
    """Three users of the same luck each: the variance of a mean of three numbers, unbiased."""
    rng = np.random.default_rng(3)
    user = np.repeat(np.arange(3), 20)
    squares = []
    for _ in range(4000):
        luck = rng.standard_normal(3)
        squares.append(raw_log(("one",), np.zeros(60, dtype=np.int64), luck[user], user).covariance[0, 0])
    assert np.mean(squares) == pytest.approx(1 / 3, rel=0.05)  # its error is 1/3 * sqrt(2 / 2 / 4000) = 0.0053


def test_weights_leave_an_error_of_what_varies_and_not_of_themselves() -> None:
    """A reward that is the same on every context has no error, however uneven the weights; else a ratio's."""
    rng = np.random.default_rng(0)
    weight = rng.lognormal(size=60)
    flat = np.tile([0.2, 0.7, 0.4], (60, 1))
    np.testing.assert_allclose(direct(MODELS, flat, weight=weight).error, 0.0, atol=1e-15)
    q = rng.random((60, 3))
    found = direct(MODELS, q, weight=weight)
    mean = weight @ q / weight.sum()
    np.testing.assert_allclose(found.estimate, mean)
    moved = weight[:, None] * (q - mean) / weight.sum()
    np.testing.assert_allclose(found.error, np.sqrt((moved**2).sum(axis=0) * 60 / 59))


def test_a_model_that_never_occurs_has_no_estimate_and_stands_last() -> None:
    found = raw_log(MODELS, np.array([0, 0, 2, 2]), np.array([0.0, 0.4, 1.0, 0.5]))
    assert np.isnan(found.estimate[1])
    assert found.ranking() == ("cat", "ant", "bee")
    assert found.interval()[1].tolist() == [0.0, 1.0]


def test_refits_add_their_own_spread_to_that_of_the_contexts() -> None:
    """Welch's degrees of freedom: (c + r)^2 / (c^2 / (rows - 1) + r^2 / (refits - 1))."""
    t, rng = table(), np.random.default_rng(1)
    refits = 0.5 + 0.05 * rng.normal(size=(20, 3))
    found, plain = direct(MODELS, t.q, refits=refits), direct(MODELS, t.q)
    np.testing.assert_allclose(found.estimate, plain.estimate)
    np.testing.assert_allclose(found.covariance, plain.covariance + np.cov(refits.T), atol=1e-15)
    contexts, fitted = plain.error[0] ** 2, refits[:, 0].var(ddof=1)
    assert found.df is not None
    assert found.df[0] == pytest.approx((contexts + fitted) ** 2 / (contexts**2 / 39 + fitted**2 / 19))
    assert (found.half_width() > plain.half_width()).all()


def test_refits_that_never_differ_leave_the_contexts_alone_and_one_refit_is_refused() -> None:
    t = table()
    same = direct(MODELS, t.q, refits=np.full((5, 3), 0.5))
    np.testing.assert_allclose(same.covariance, direct(MODELS, t.q).covariance)
    with pytest.raises(UsageError, match="two refits"):
        direct(MODELS, t.q, refits=np.full((1, 3), 0.5))
    with pytest.raises(UsageError, match="refits must have"):
        direct(MODELS, t.q, refits=np.full((5, 2), 0.5))

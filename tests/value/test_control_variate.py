"""Doubly robust values with a tuned reward weight: a naive twin, limits, and the choice of the weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value import ScoredExperiment, Values, direct, experiment_only, tuned_doubly_robust
from deconfound.value.control_variate import MAX_REWARD_WEIGHT, POOLING_DF, InfluenceTerms, optimal_reward_weight
from deconfound.value.mean_weights import ModelWeights
from deconfound.value.small_sample import PRIOR_DF, PRIOR_DF_CREDIT, PSEUDO_ROWS
from tests.support.experiments import MODELS, with_simple_design
from tests.support.experiments import predicted_experiment as experiment
from tests.support.t_ratio import naive_df


def without_reward(data: ScoredExperiment) -> Values:
    return experiment_only(MODELS, data.model, data.outcome, data.propensity, data.cluster, weight=data.weight)


@dataclass(frozen=True)
class Naive:
    """Estimate, covariance, degrees of freedom and binomial variance by loops over rows, clusters and models."""

    estimate: FloatArray
    covariance: FloatArray
    df: FloatArray
    binomial_variance: FloatArray


def smoothed_variance(mean: float, effective_rows: float) -> float:
    """Variance of yes/no outcomes at (x + 1) / (n + 2)."""
    share = (mean * effective_rows + PSEUDO_ROWS / 2) / (effective_rows + PSEUDO_ROWS)
    return share * (1 - share)


def sums_by_cluster(
    weight: dict[int, float], cluster: IntArray, extra: int = 0, extra_weight: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Sums of the rows' weights and of their squares; further rows are clusters of their own."""
    names = sorted({int(cluster[j]) for j in weight})
    by_cluster = [[w for j, w in weight.items() if cluster[j] == name] for name in names]
    by_cluster += [[extra_weight]] * extra
    return np.array([sum(each) for each in by_cluster]), np.array([sum(w**2 for w in each) for each in by_cluster])


def naive_agreement(mean: float, squares: float, row_squares: float) -> float:
    """Weight of the dispersion between rows."""
    n = 1 / squares
    chance = (mean * n + PSEUDO_ROWS / 2) / (n + PSEUDO_ROWS)
    return PRIOR_DF * (chance**n + (1 - chance) ** n) * (1 - row_squares / squares)


def naive_row_dispersion(t: ScoredExperiment, df: FloatArray) -> float:
    """Variance of all models' means over the largest possible, each as if rows were independent."""
    variance, possible = 0.0, 0.0
    for a in range(3):
        mine = t.model == a
        w = t.weight[mine] / t.propensity[mine]
        w /= w.sum()
        mean = float(w @ t.outcome[mine])
        squares = float((w**2).sum())
        variance += df[a] * float((w**2 * (t.outcome[mine] - mean) ** 2 / (1 - w)).sum()) / squares
        possible += df[a] * mean * (1 - mean) / (1 - squares)
    return variance / possible


def naive_correlation(own: FloatArray, informative_df: FloatArray) -> FloatArray:
    """Of influence values (clusters, 3), less where few clusters show it."""
    correlation = np.eye(3)
    for a in range(3):
        for b in set(range(3)) - {a}:
            sizes = (own[:, a] ** 2).sum() * (own[:, b] ** 2).sum()
            shown = np.prod([informative_df[one] / 2 / (informative_df[one] / 2 + 1) for one in (a, b)])
            correlation[a, b] = np.sqrt(shown) * own[:, a] @ own[:, b] / np.sqrt(sizes) if sizes > 1e-40 else 0.0
    return correlation


def naive_information(own: FloatArray, leverage: FloatArray) -> float:
    """2 / (kurtosis - 1) of influence values (clusters, 3), each over the square root of its weight."""
    squares = (leverage**2).sum(axis=0)
    scaled = [own[g, a] ** 2 / leverage[g, a] / squares[a] for g, a in zip(*np.nonzero(leverage), strict=True)]
    return float(min(1.0, 2 / (np.mean(np.square(scaled)) / np.mean(scaled) ** 2 - 1)))


def naive_dispersions(
    t: ScoredExperiment, own: FloatArray, df: FloatArray, prior: FloatArray, squares: FloatArray
) -> tuple[FloatArray, float]:
    """Dispersion of each model after moderation, and the information about them."""
    raised, means, row_squares = np.zeros(3), np.zeros(3), np.zeros(3)
    for a in range(3):
        mine = t.model == a
        w = t.weight[mine] / t.propensity[mine]
        means[a], row_squares[a] = np.average(t.outcome[mine], weights=w), (w**2).sum() / w.sum() ** 2
    leverage = np.zeros_like(own)
    for j, name in enumerate(t.cluster.tolist()):
        mine = t.model == t.model[j]
        total = (t.weight[mine] / t.propensity[mine]).sum()
        leverage[sorted(set(t.cluster.tolist())).index(name), t.model[j]] += t.weight[j] / t.propensity[j] / total
    variance, possible = (own**2).sum(axis=0) / squares, means * (1 - means) / (1 - squares)
    shared, of_rows = (df * variance).sum() / (df * possible).sum(), naive_row_dispersion(t, df)
    information = naive_information(own, leverage)
    for a in range(3):
        informative = information * df[a]
        agreement = naive_agreement(means[a], squares[a], row_squares[a])
        source = prior[a] * shared + agreement * of_rows
        if variance[a] < 1e-20:
            raised[a] = source / (prior[a] + agreement)
        else:
            toward = (source + informative * variance[a] / possible[a]) / (prior[a] + agreement + informative)
            raised[a] = max(variance[a] / possible[a], toward)
    return raised, information


def naive(t: ScoredExperiment, reward_weight: float, extra_q: FloatArray) -> Naive:
    rows, names = len(t.model), sorted(set(t.cluster.tolist()))
    effective = t.weight.sum() ** 2 / (t.weight**2).sum()
    contexts = effective + len(extra_q)
    mean_q, estimate = np.zeros(3), np.zeros(3)
    own, context = np.zeros((len(names), 3)), np.zeros((len(names), 3))
    squares, df, variance, binomial, added, prior = (np.zeros(3) for _ in range(6))
    groups = len(names) + len(extra_q)
    share = {j: t.weight[j] / t.weight.sum() * effective / contexts for j in range(rows)}
    q_df = naive_df(*sums_by_cluster(share, t.cluster, len(extra_q), 1 / contexts))
    for a in range(3):
        inside = sum(t.weight[j] * t.q[j, a] for j in range(rows)) / t.weight.sum()
        mean_q[a] = (effective * inside + sum(row[a] for row in extra_q)) / contexts
        mine = [j for j in range(rows) if t.model[j] == a]
        total = sum(t.weight[j] / t.propensity[j] for j in mine)
        w = {j: t.weight[j] / t.propensity[j] / total for j in mine}
        residual = {j: t.outcome[j] - reward_weight * t.prediction[j] for j in mine}
        mean = sum(w[j] * residual[j] for j in mine)
        estimate[a] = reward_weight * mean_q[a] + mean
        for g, name in enumerate(names):
            leverage = sum(w[j] for j in mine if t.cluster[j] == name)
            centered = sum(w[j] * (residual[j] - mean) for j in mine if t.cluster[j] == name)
            own[g, a] = centered / np.sqrt(1 - leverage)
            at = [j for j in range(rows) if t.cluster[j] == name]
            q_sum = sum(t.weight[j] / t.weight.sum() * effective / contexts * (t.q[j, a] - mean_q[a]) for j in at)
            context[g, a] = q_sum * np.sqrt(groups / (groups - 1))
            squares[a] += leverage**2
        variance[a] = (own[:, a] ** 2).sum()
        df[a] = naive_df(*sums_by_cluster(w, t.cluster))
    for a in range(3):
        prior[a] = max(min(PRIOR_DF, min(df.sum(), len(names) - 1) - df[a]), 0.0)
    dispersion, information = naive_dispersions(t, own, df, prior, squares)
    for a in range(3):
        effective_rows = 1 / (dispersion[a] * squares[a])
        mean = min(max(estimate[a], 0.0), 1.0)
        binomial[a] = smoothed_variance(mean, effective_rows)
        added[a] = max(binomial[a], mean * (1 - mean) / (1 - squares[a])) / effective_rows - variance[a]
    influence = own + reward_weight * context
    extra = np.zeros((3, 3))
    for row in extra_q:
        extra += np.outer(row - mean_q, row - mean_q) / contexts**2 * groups / (groups - 1)
    added_sd = np.sqrt(np.maximum(added, 0.0))
    together = naive_correlation(own, information * df) * np.outer(added_sd, added_sd)
    covariance = influence.T @ influence + together + reward_weight**2 * extra
    one, other = (
        variance + np.maximum(added, 0.0),
        reward_weight**2 * ((context**2).sum(axis=0) + np.diag(extra)),
    )
    welch = (one + other) ** 2 / (one**2 / (df + PRIOR_DF_CREDIT * prior) + other**2 / q_df)
    return Naive(estimate, covariance, welch, binomial)


@pytest.mark.parametrize("reward_weight", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("extra_contexts", [0, 25])
@pytest.mark.parametrize("outcomes", ["any", "yes/no", "one model without failure"])
def test_a_fixed_reward_weight_equals_a_naive_loop(reward_weight: float, extra_contexts: int, outcomes: str) -> None:
    t, extra_q = experiment(), np.random.default_rng(9).random((extra_contexts, 3))
    if outcomes != "any":
        t = replace(t, outcome=(t.outcome > 0.6).astype(np.float64))
    if outcomes == "one model without failure":
        t = replace(t, outcome=np.where(t.model == 1, 0.98, t.outcome))
    expected = naive(t, reward_weight, extra_q)
    values = tuned_doubly_robust(t, extra_q=extra_q, reward_weight=reward_weight)
    np.testing.assert_allclose(values.estimate, expected.estimate, atol=1e-12)
    np.testing.assert_allclose(values.covariance, expected.covariance, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(values.df, expected.df, rtol=1e-4)  # as exact as quantiles are solved
    np.testing.assert_allclose(values.binomial_variance, expected.binomial_variance, rtol=1e-7)


def test_moderation_never_lowers_a_variance() -> None:
    """The variances are those of the influence values, with or without what moderation adds."""
    largest = 0.0
    for seed in range(5):
        t = experiment(seed, rows=20)
        terms = InfluenceTerms.from_experiment(t, t.q[:0])
        residual = terms.outcome_influence - terms.prediction_influence.scaled(0.7)
        plain = (residual + terms.q_influence.scaled(0.7)).variance()
        added = np.diag(tuned_doubly_robust(t, reward_weight=0.7).covariance) - plain
        assert (added >= -1e-15).all()
        largest = max(largest, float((added / plain).max()))
    assert largest > 0.1


def test_a_second_way_of_single_rows_changes_nothing() -> None:
    t = experiment()
    values = tuned_doubly_robust(t)
    for cluster in (t.cluster[:, None], np.column_stack([np.arange(60), t.cluster])):
        other = tuned_doubly_robust(replace(t, cluster=cluster))
        np.testing.assert_array_equal(other.covariance, values.covariance)
        np.testing.assert_array_equal(other.interval(), values.interval())


def test_crossed_clusters_add_the_noise_of_both() -> None:
    """Large effects of six contexts and of ten users: sum of both variances, less that of the sixty pairs.

    Leverages of users, contexts and pairs differ, hence the tolerance.
    """
    rng = np.random.default_rng(2)
    user, context = rng.integers(0, 10, 2000), rng.integers(0, 6, 2000)
    outcome = 0.5 + rng.uniform(-0.2, 0.2, 10)[user] + rng.uniform(-0.2, 0.2, 6)[context]
    model = rng.integers(0, 2, 2000)
    of_user, of_context, of_pair, of_both = (
        ModelWeights.from_rows(model, 2, np.ones(2000), cluster).influence(outcome).variance()
        for cluster in (user, context, 6 * user + context, np.column_stack([user, context]))
    )
    assert (of_both > of_user).all()
    assert (of_both > of_context).all()
    np.testing.assert_allclose(of_both, of_user + of_context - of_pair, rtol=0.01)


def test_reward_weight_zero_equals_the_experiment_alone_to_the_last_bit() -> None:
    t = experiment()
    values, alone = tuned_doubly_robust(t, reward_weight=0.0), without_reward(t)
    for one, other in ((values.estimate, alone.estimate), (values.covariance, alone.covariance)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(values.interval(), alone.interval())


def test_the_chosen_weight_minimizes_the_summed_variance() -> None:
    """Few rows: nearly one weight for all, the minimum of a parabola through three naive variances."""
    t = with_simple_design(experiment(rows=24))
    rows = np.bincount(t.model, minlength=3)

    def summed(reward_weight: float) -> float:
        total = 0.0
        for a in range(3):
            mine = t.model == a
            residual = t.outcome - reward_weight * t.prediction
            own = mine * (residual - residual[mine].mean()) / rows[a] / np.sqrt(1 - 1 / rows[a])
            context = reward_weight * (t.q[:, a] - t.q[:, a].mean()) / 24 * np.sqrt(24 / 23)
            total += float(((own + context) ** 2).sum())
        return total

    curvature, slope, _ = np.polyfit([0.0, 1.0, 2.0], [summed(0.0), summed(1.0), summed(2.0)], 2)
    best = -slope / (2 * curvature)
    weight, df = tuned_doubly_robust(t).reward_weight, rows - 1
    assert weight is not None
    assert 0 < best < MAX_REWARD_WEIGHT
    # Each model's own optimum counts df / (df + POOLING_DF), about a fifth here.
    assert np.abs(weight - best).max() < 0.4 * (df / (df + POOLING_DF)).max() * best + 1e-9
    pooled = (weight * (df + POOLING_DF)).sum() / (df + POOLING_DF).sum()
    assert pooled == pytest.approx(best, rel=0.1)


def test_each_model_gets_its_own_weight_where_rows_are_many() -> None:
    """The reward is good for the first model, noise for the second and reversed for the third: never negative."""
    t = with_simple_design(experiment(rows=3000))
    q = np.column_stack([t.q[:, 0], np.random.default_rng(1).random(3000), 1 - t.q[:, 2]])
    prediction = np.where(t.model == 0, t.prediction, q[np.arange(3000), t.model])
    data = replace(t, q=q, prediction=prediction)
    weight = optimal_reward_weight(InfluenceTerms.from_experiment(data, q[:0])).value
    assert weight[0] > 0.4
    assert 0 <= weight[1] < 0.1
    assert weight[2] == 0


def test_weights_differ_between_models_where_most_models_gain() -> None:
    """Good for the first two models, reversed for the third."""
    t = with_simple_design(experiment(rows=3000))
    q = np.column_stack([t.q[:, :2], 1 - t.q[:, 2]])
    prediction = np.where(t.model < 2, t.prediction, q[np.arange(3000), t.model])
    values = tuned_doubly_robust(replace(t, q=q, prediction=prediction))
    assert values.reward_weight is not None
    assert (values.reward_weight[:2] > 0.4).all()
    assert values.reward_weight[2] == 0
    assert (values.half_width()[:2] < 0.8 * without_reward(t).half_width()[:2]).all()


@pytest.mark.parametrize("reward", ["noise", "reversed", "constant"])
def test_a_useless_reward_does_not_widen_the_intervals(reward: str) -> None:
    t = with_simple_design(experiment(rows=90))
    rng = np.random.default_rng(3)
    q = {"noise": rng.random((90, 3)), "reversed": 1 - t.q, "constant": np.full((90, 3), 0.4)}[reward]
    prediction = q[np.arange(90), t.model] if reward != "reversed" else 1 - t.prediction
    values = tuned_doubly_robust(replace(t, q=q, prediction=prediction))
    assert values.reward_weight is not None
    assert (values.reward_weight <= 0.05).all()
    assert np.median(values.half_width()) <= np.median(without_reward(t).half_width())


def test_a_good_reward_narrows_the_intervals_and_extra_contexts_narrow_them_further() -> None:
    t = with_simple_design(experiment(rows=90))
    extra_q = np.random.default_rng(5).random((5000, 3))
    values, more = tuned_doubly_robust(t), tuned_doubly_robust(t, extra_q=extra_q)
    assert (values.half_width() < 0.9 * without_reward(t).half_width()).all()
    assert (more.half_width() < values.half_width()).all()


def test_a_perfect_reward_leaves_only_the_error_of_the_contexts() -> None:
    t = with_simple_design(experiment())
    own = t.q[np.arange(60), t.model]
    values = tuned_doubly_robust(replace(t, prediction=own, outcome=own), reward_weight=1.0)
    np.testing.assert_allclose(values.standard_error, direct(MODELS, t.q).standard_error)
    np.testing.assert_allclose(values.estimate, direct(MODELS, t.q).estimate)


def test_a_constant_added_to_the_reward_changes_nothing() -> None:
    t = experiment()
    values = tuned_doubly_robust(t)
    raised = tuned_doubly_robust(replace(t, q=t.q + 0.3, prediction=t.prediction + 0.3))
    np.testing.assert_allclose(raised.estimate, values.estimate)
    np.testing.assert_allclose(raised.covariance, values.covariance, atol=1e-15)


def test_zero_weights_leave_rows_out_and_the_scale_of_weights_does_not_matter() -> None:
    t = experiment()
    zeroed = replace(t, weight=np.where(np.arange(60) < 30, t.weight, 0.0))
    first_half = tuned_doubly_robust(t.take(np.arange(30)), reward_weight=0.8)
    np.testing.assert_allclose(tuned_doubly_robust(zeroed, reward_weight=0.8).estimate, first_half.estimate)
    scaled = tuned_doubly_robust(replace(t, weight=5 * t.weight))
    np.testing.assert_allclose(scaled.covariance, tuned_doubly_robust(t).covariance, atol=1e-15)


def test_a_single_row_or_cluster_gives_infinite_variances() -> None:
    t = experiment()
    one_row = tuned_doubly_robust(t.take(np.arange(1)))
    one_cluster = tuned_doubly_robust(replace(t, cluster=np.zeros(60, dtype=np.int64)))
    for values in (one_row, one_cluster):
        assert values.interval().tolist() == [[0.0, 1.0]] * 3
        assert set(values.best_set()) == set(MODELS)


def test_rows_of_uncompared_models_do_not_affect_the_experiment_alone() -> None:
    t = with_simple_design(experiment())
    t = replace(t, propensity=experiment().propensity)
    others = replace(t, model=np.where(np.arange(60) < 20, -1, t.model))
    values, rest = tuned_doubly_robust(others, reward_weight=0.0), without_reward(t.take(np.arange(20, 60)))
    np.testing.assert_allclose(values.estimate, rest.estimate)
    np.testing.assert_allclose(values.covariance, rest.covariance)


def test_a_wrong_reward_weight_or_extra_q_is_refused() -> None:
    t = experiment()
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(UsageError, match="reward_weight"):
            tuned_doubly_robust(t, reward_weight=wrong)
    with pytest.raises(UsageError, match="extra_q must have"):
        tuned_doubly_robust(t, extra_q=np.ones((4, 2)))
    with pytest.raises(UsageError, match="extra_q contains NaN"):
        tuned_doubly_robust(t, extra_q=np.full((4, 3), np.nan))

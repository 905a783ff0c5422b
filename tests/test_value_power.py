"""Power-tuned values and the experiment alone: naive twins, limits, and what a handful of rows may claim."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value import Values, direct, experiment_only, tuned_doubly_robust
from deconfound.value.control_variate import COMMON, MOST_POWER
from deconfound.value.small_sample import DISCOUNT, LOPSIDED, PRIOR_FREEDOM

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
    weight: FloatArray

    def values(self, *, elsewhere: FloatArray | None = None, power: float | None = None) -> Values:
        t = self
        given = (MODELS, t.q, t.model, t.outcome, t.prediction, t.propensity, t.cluster)
        return tuned_doubly_robust(*given, elsewhere=elsewhere, weight=t.weight, power=power)


def drawn(seed: int = 0, rows: int = 60, quality: float = 1.0) -> Drawn:
    """Outcomes that follow ``quality`` of the reward and luck of their own."""
    rng = np.random.default_rng(seed)
    q, model = rng.random((rows, 3)), rng.integers(0, 3, rows)
    prediction = np.clip(q[np.arange(rows), model] + 0.05 * rng.normal(size=rows), 0, 1)
    outcome = 0.2 + 0.5 * quality * prediction + 0.3 * rng.random(rows)
    propensity, cluster = rng.uniform(0.1, 0.9, rows), rng.integers(0, rows // 2, rows)
    return Drawn(q, model, outcome, prediction, propensity, cluster, rng.uniform(0.5, 1.5, rows))


def plain(t: Drawn) -> Drawn:
    """The same rows without weights, clusters or uneven propensities."""
    rows = len(t.model)
    return replace(t, propensity=np.full(rows, 1 / 3), cluster=np.arange(rows), weight=np.ones(rows))


def naive(t: Drawn, power: float, elsewhere: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimate, covariance and degrees of freedom by loops over rows, clusters and models."""
    rows, names = len(t.model), sorted(set(t.cluster.tolist()))
    effective = t.weight.sum() ** 2 / (t.weight**2).sum()
    known = effective + len(elsewhere)
    average, estimate = np.zeros(3), np.zeros(3)
    own, context = np.zeros((len(names), 3)), np.zeros((len(names), 3))
    size, cubes, df, variance, lopsided = (np.zeros(3) for _ in range(5))
    groups = len(names) + len(elsewhere)
    for a in range(3):
        inside = sum(t.weight[j] * t.q[j, a] for j in range(rows)) / t.weight.sum()
        average[a] = (effective * inside + sum(row[a] for row in elsewhere)) / known
        mine = [j for j in range(rows) if t.model[j] == a]
        mass = sum(t.weight[j] / t.propensity[j] for j in mine)
        share = {j: t.weight[j] / t.propensity[j] / mass for j in mine}
        residual = {j: t.outcome[j] - power * t.prediction[j] for j in mine}
        mean = sum(share[j] * residual[j] for j in mine)
        estimate[a] = power * average[a] + mean
        for g, name in enumerate(names):
            held = sum(share[j] for j in mine if t.cluster[j] == name)
            own[g, a] = sum(share[j] * (residual[j] - mean) for j in mine if t.cluster[j] == name) / np.sqrt(1 - held)
            at = [j for j in range(rows) if t.cluster[j] == name]
            weights = [t.weight[j] / t.weight.sum() * effective / known for j in at]
            moved = sum(w * (t.q[j, a] - average[a]) for w, j in zip(weights, at, strict=True))
            context[g, a] = moved * np.sqrt(groups / (groups - 1))
            size[a] += held**2
            cubes[a] += held**3
            df[a] += held**4
        variance[a] = (own[:, a] ** 2).sum() / size[a]
        skew = ((own[:, a] ** 3).sum() / cubes[a]) ** 2 / variance[a] ** 3
        df[a] = size[a] ** 2 / df[a] - 1
        mine_alone = df[a] / (df[a] + PRIOR_FREEDOM)
        lopsided[a] = 1 / (mine_alone * LOPSIDED * skew / (df[a] + 1) + 1 / df[a])
    shared = (df * variance).sum() / df.sum()
    prior = np.minimum(PRIOR_FREEDOM, df.sum() - df)
    wanted = (prior * shared + df * variance) / (prior + df)
    total = own * np.sqrt(np.minimum(wanted / variance, 1)) + power * context
    covariance = total.T @ total + np.diag(np.maximum(wanted - variance, 0) * size)
    beyond = np.zeros((3, 3))
    for row in elsewhere:
        beyond += np.outer(row - average, row - average) / known**2 * groups / (groups - 1)
    covariance += power**2 * beyond
    one, other = wanted * size, power**2 * ((context**2).sum(axis=0) + np.diag(beyond))
    welch = (one + other) ** 2 / (one**2 / (lopsided + DISCOUNT * prior) + other**2 / (groups - 1))
    return estimate, covariance, welch


@pytest.mark.parametrize("power", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("beyond", [0, 25])
def test_powered_equals_a_naive_loop(power: float, beyond: int) -> None:
    t, elsewhere = drawn(), np.random.default_rng(9).random((beyond, 3))
    estimate, covariance, df = naive(t, power, elsewhere)
    found = t.values(elsewhere=elsewhere, power=power)
    np.testing.assert_allclose(found.estimate, estimate, atol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-12)
    np.testing.assert_allclose(found.df, df, rtol=1e-10)


def test_no_power_is_the_experiment_alone_to_the_last_bit() -> None:
    t = drawn()
    found = t.values(power=0.0)
    alone = experiment_only(MODELS, t.model, t.outcome, t.propensity, t.cluster, weight=t.weight)
    for one, other in ((found.estimate, alone.estimate), (found.covariance, alone.covariance)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.interval(), alone.interval())


def test_the_experiment_alone_is_a_weighted_mean_with_a_textbook_error_where_rows_are_many() -> None:
    """Even propensities, no clusters: s^2 / n, with s^2 the usual one but for PRIOR_FREEDOM rows of the shared one."""
    t = plain(drawn(rows=6000))
    found = experiment_only(MODELS, t.model, t.outcome, t.propensity, t.cluster)
    for a in range(3):
        mine = t.outcome[t.model == a]
        assert found.estimate[a] == pytest.approx(mine.mean())
        assert found.error[a] == pytest.approx(mine.std(ddof=1) / np.sqrt(len(mine)), rel=1e-3)
    assert found.df is not None
    np.testing.assert_allclose(found.df, np.bincount(t.model) - 1 + DISCOUNT * PRIOR_FREEDOM, rtol=0.01)


def test_the_chosen_power_makes_the_summed_variance_least() -> None:
    """Few rows: nearly one power for all, the bottom of a parabola through three naive variances."""
    t = plain(drawn(rows=24))
    h = np.bincount(t.model, minlength=3)

    def summed(power: float) -> float:
        total = 0.0
        for a in range(3):
            mine = t.model == a
            residual = t.outcome - power * t.prediction
            own = mine * (residual - residual[mine].mean()) / h[a] / np.sqrt(1 - 1 / h[a])
            context = power * (t.q[:, a] - t.q[:, a].mean()) / 24 * np.sqrt(24 / 23)
            total += float(((own + context) ** 2).sum())
        return total

    square, slope, _ = np.polyfit([0.0, 1.0, 2.0], [summed(0.0), summed(1.0), summed(2.0)], 2)
    best = -slope / (2 * square)
    found = t.values()
    assert found.power is not None
    df = h - 1
    assert 0 < best < MOST_POWER
    # Each model's own power weighs freedom / (freedom + COMMON), about a fifth here.
    assert np.abs(found.power - best).max() < 0.4 * (df / (df + COMMON)).max() * best + 1e-9
    pulled = (found.power * (df + COMMON)).sum() / (df + COMMON).sum()
    assert pulled == pytest.approx(best, rel=0.1)


def test_each_model_gets_its_own_power_where_rows_are_many() -> None:
    """The reward knows the first model, knows nothing of the second and has the third upside down: never negative."""
    t = plain(drawn(rows=3000))
    q = np.column_stack([t.q[:, 0], np.random.default_rng(1).random(3000), 1 - t.q[:, 2]])
    found = replace(t, q=q, prediction=np.where(t.model == 0, t.prediction, q[np.arange(3000), t.model])).values()
    assert found.power is not None
    assert found.power[0] > 0.4
    assert 0 <= found.power[1] < 0.1
    assert found.power[2] == 0


@pytest.mark.parametrize("bad", ["noise", "upside down", "constant"])
def test_a_reward_that_does_not_help_leaves_the_experiment_alone(bad: str) -> None:
    t = plain(drawn(rows=90))
    rng = np.random.default_rng(3)
    q = {"noise": rng.random((90, 3)), "upside down": 1 - t.q, "constant": np.full((90, 3), 0.4)}[bad]
    prediction = q[np.arange(90), t.model] if bad != "upside down" else 1 - t.prediction
    found = replace(t, q=q, prediction=prediction).values()
    alone = experiment_only(MODELS, t.model, t.outcome, t.propensity, t.cluster)
    assert found.power is not None
    assert (found.power <= 0.05).all()
    assert np.median(found.half_width()) <= np.median(alone.half_width())


def test_a_good_reward_narrows_and_contexts_elsewhere_narrow_further() -> None:
    t = plain(drawn(rows=90))
    elsewhere = np.random.default_rng(5).random((5000, 3))
    alone = experiment_only(MODELS, t.model, t.outcome, t.propensity, t.cluster)
    found, more = t.values(), t.values(elsewhere=elsewhere)
    assert (found.half_width() < 0.9 * alone.half_width()).all()
    assert (more.half_width() < found.half_width()).all()


def test_a_perfect_reward_leaves_the_error_of_the_contexts() -> None:
    t = plain(drawn())
    perfect = replace(t, prediction=t.q[np.arange(60), t.model], outcome=t.q[np.arange(60), t.model])
    np.testing.assert_allclose(perfect.values(power=1.0).error, direct(MODELS, t.q).error)
    np.testing.assert_allclose(perfect.values(power=1.0).estimate, direct(MODELS, t.q).estimate)


def test_a_reward_raised_by_a_constant_changes_nothing() -> None:
    t = drawn()
    raised = replace(t, q=t.q + 0.3, prediction=t.prediction + 0.3)
    np.testing.assert_allclose(raised.values().estimate, t.values().estimate)
    np.testing.assert_allclose(raised.values().covariance, t.values().covariance, atol=1e-15)


def test_weights_of_nothing_leave_rows_out_and_their_scale_does_not_matter() -> None:
    t = drawn()
    half = np.where(np.arange(60) < 30, t.weight, 0.0)
    kept = Drawn(
        *(column[:30] for column in (t.q, t.model, t.outcome, t.prediction, t.propensity, t.cluster, t.weight))
    )
    np.testing.assert_allclose(replace(t, weight=half).values(power=0.8).estimate, kept.values(power=0.8).estimate)
    np.testing.assert_allclose(replace(t, weight=5 * t.weight).values().covariance, t.values().covariance, atol=1e-15)


def test_five_thumbs_up_are_not_a_certainty() -> None:
    model = np.repeat(np.arange(3), 5)
    outcome = np.concatenate([np.ones(5), [0, 1, 1, 0, 1], [0, 0, 1, 0, 0]]).astype(np.float64)
    found = experiment_only(MODELS, model, outcome, np.full(15, 1 / 3))
    low, high = found.interval()[0]
    assert high == 1.0
    assert 0.5 < low < 0.85
    assert np.isfinite(found.error).all()


@pytest.mark.parametrize("rows", [5, 100])
def test_outcomes_that_never_vary_leave_the_rule_of_three(rows: int) -> None:
    """n equal outcomes exclude chances beyond 3.7 / n at level 95 %; the interval must not claim more."""
    model = np.repeat(np.arange(3), rows)
    for outcome in (np.ones(3 * rows), (model == 1).astype(np.float64)):
        found = experiment_only(MODELS, model, outcome, np.full(3 * rows, 1 / 3))
        assert (np.ptp(found.interval(), axis=1) >= min(1 - 0.025 ** (1 / rows), 1.0)).all()
        assert (np.ptp(found.interval(), axis=1) <= 6 / rows + 0.05).all() or rows == 5


@pytest.mark.parametrize("case", ["one row each", "one row of one", "never drawn", "one cluster"])
def test_too_few_rows_have_no_known_error(case: str) -> None:
    model = np.array({"one row each": [0, 1, 2], "never drawn": [0, 0, 0, 1, 1, 1]}.get(case, [0, 0, 0, 1, 1, 1, 2, 2]))
    if case == "one row of one":
        model = model[:-1]
    rows = len(model)
    outcome, cluster = np.random.default_rng(0).random(rows), np.arange(rows)
    if case == "one cluster":
        cluster = np.where(model == 2, 99, cluster)
    q = np.full((rows, 3), 0.5)
    for found in (
        experiment_only(MODELS, model, outcome, np.full(rows, 1 / 3), cluster),
        tuned_doubly_robust(MODELS, q, model, outcome, np.full(rows, 0.5), cluster=cluster),
    ):
        assert np.isinf(found.error[2])
        assert found.interval()[2].tolist() == [0.0, 1.0]
        assert found.interval(simultaneous=True)[2].tolist() == [0.0, 1.0]
        assert np.isnan(found.estimate[2]) == (case == "never drawn")
        assert "cat" in found.best_set()
        assert len(found.contrasts()) == 3


@pytest.mark.parametrize("column", ["q", "outcome", "prediction", "propensity", "weight", "cluster", "power", "beyond"])
def test_bad_columns_are_named(column: str) -> None:
    t = drawn()
    bad = {
        "q": {"q": np.where(t.q > 0.9, np.nan, t.q)},
        "outcome": {"outcome": np.append(t.outcome[1:], np.inf)},
        "prediction": {"prediction": t.prediction[1:]},
        "propensity": {"propensity": np.zeros(60)},
        "weight": {"weight": -t.weight},
        "cluster": {"cluster": t.cluster[1:]},
    }.get(column, {})
    named = {"beyond": "elsewhere"}.get(column, column)
    with pytest.raises(UsageError, match=named):
        replace(t, **bad).values(
            power=-1.0 if column == "power" else None, elsewhere=np.ones((4, 2)) if column == "beyond" else None
        )


def test_rare_outcomes_leave_fewer_degrees_of_freedom() -> None:
    """One in ten of yes/no outcomes: squared skewness (1 - 2p)^2 / pq = 7.1, so 1 / (0.94 * 1.1 * 0.071 + 1 / 99)."""
    model = np.repeat(np.arange(3), 100)
    rare = np.tile(np.arange(100) < 10, 3).astype(np.float64)
    even = np.tile(np.arange(100) < 50, 3).astype(np.float64)
    few, all_of_them = (experiment_only(MODELS, model, y, np.full(300, 1 / 3)).df for y in (rare, even))
    assert few is not None
    assert all_of_them is not None
    skewed = 99 / (99 + PRIOR_FREEDOM) * LOPSIDED * 0.64 / 0.09 / 100
    np.testing.assert_allclose(few, 1 / (skewed + 1 / 99) + DISCOUNT * PRIOR_FREEDOM, rtol=1e-6)
    np.testing.assert_allclose(all_of_them, 99 + DISCOUNT * PRIOR_FREEDOM)


@pytest.mark.parametrize("rows", [16, 20, 33, 49])
def test_outcomes_that_never_vary_are_not_skewed_by_rounding(rows: int) -> None:
    model, outcome = np.repeat([0, 1, 2], rows), np.random.default_rng(0).random(3 * rows)
    outcome[:rows] = 0.3
    found = experiment_only(MODELS, model, outcome)
    assert found.df is not None
    assert found.df[0] == pytest.approx(rows - 1 + DISCOUNT * PRIOR_FREEDOM)


def test_a_single_row_or_cluster_knows_nothing_and_no_row_is_refused() -> None:
    t = drawn()
    one = tuned_doubly_robust(MODELS, t.q[:1], t.model[:1], t.outcome[:1], t.prediction[:1])
    together = tuned_doubly_robust(MODELS, t.q, t.model, t.outcome, t.prediction, cluster=np.zeros(60, dtype=np.int64))
    for found in (one, together):
        assert found.interval().tolist() == [[0.0, 1.0]] * 3
        assert set(found.best_set()) == set(MODELS)
    with pytest.raises(UsageError, match="no rows"):
        experiment_only(MODELS, t.model[:0], t.outcome[:0], t.propensity[:0])


def test_rows_of_models_that_are_not_compared_need_their_propensities() -> None:
    t = drawn()
    others = np.where(np.arange(60) < 20, 3, t.model)
    with pytest.raises(UsageError, match="not compared"):
        tuned_doubly_robust(MODELS, t.q, others, t.outcome, t.prediction)
    found = tuned_doubly_robust(MODELS, t.q, others, t.outcome, t.prediction, t.propensity, power=0.0)
    kept = experiment_only(MODELS, t.model[20:], t.outcome[20:], t.propensity[20:])
    np.testing.assert_allclose(found.estimate, kept.estimate)
    np.testing.assert_allclose(found.covariance, kept.covariance)

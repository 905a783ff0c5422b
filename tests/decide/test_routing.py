"""Gain from routing: against naive loops, verdicts, invariances, and coverage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deconfound.decide.calibration import CrossFittedPolicy, FoldCalibration
from deconfound.decide.routing import RoutingGain, joint_level, routing_gain
from deconfound.design import FloatArray, group_folds
from deconfound.errors import EvidenceError, UsageError
from deconfound.report.decision_text import routing_text
from deconfound.value import ScoredExperiment, experiment_only, tuned_doubly_robust

MODELS = ("ant", "bee", "cat")
FAINT = 1e-14  # differences that determine the policy but are far too small to reduce a variance


def experiment(seed: int = 0, rows: int = 90, faint: bool = False) -> ScoredExperiment:
    """Outcomes that follow q; with ``faint`` all differences of q are tiny."""
    rng = np.random.default_rng(seed)
    q, model = rng.random((rows, 3)), rng.integers(0, 3, rows)
    outcome = np.clip(0.6 * q[np.arange(rows), model] + 0.4 * rng.random(rows), 0, 1)
    if faint:
        q = 0.5 + FAINT * q
    propensity = rng.uniform(0.2, 0.6, rows)
    return ScoredExperiment.from_arrays(MODELS, q, q[np.arange(rows), model], model, outcome, propensity=propensity)


def uniform(q: FloatArray, model: object, outcome: FloatArray, prediction: FloatArray) -> ScoredExperiment:
    return ScoredExperiment.from_arrays(MODELS, q, prediction, np.asarray(model), outcome)


def route(
    t: ScoredExperiment,
    q: FloatArray | None = None,
    reference: int = 0,
    cost: FloatArray | None = None,
    level: float = 0.95,
    achievable: float = 1.0,
    contenders: int = 1,
) -> RoutingGain:
    """Route by q, by default that of the experiment, and compare with a single model."""
    values = np.tile(np.where(np.arange(len(t.models)) == reference, 1.0, 0.0), (len(t.q), 1))
    policy = CrossFittedPolicy(t.q if q is None else q, values)
    return routing_gain(
        t,
        policy,
        best=t.models[reference],
        contenders=contenders,
        achievable_gain_bound=achievable,
        cost=cost,
        level=level,
    )


def bounds(routing: RoutingGain) -> tuple[float, float, float]:
    return routing.gain, routing.gain_low, routing.gain_high


def naive_gain(t: ScoredExperiment, b: int) -> float:
    """Weighted mean outcomes of the policy and of b, over contexts where they differ, by loops."""
    sums = {"policy": [0.0, 0.0], "b": [0.0, 0.0]}
    differ = 0
    for j in range(len(t.model)):
        pick = max(range(3), key=lambda a: t.q[j, a])
        if pick == b:
            continue
        differ += 1
        for name, code in (("policy", pick), ("b", b)):
            if t.model[j] == code:
                sums[name][0] += t.outcome[j] / t.propensity[j]
                sums[name][1] += 1 / t.propensity[j]
    (high, mass), (low, weight) = sums["policy"], sums["b"]
    return differ / len(t.model) * (high / mass - low / weight)


@pytest.mark.parametrize("reference", range(3))
def test_the_gain_over_the_reference_equals_a_naive_loop(reference):
    t = experiment(faint=True)
    assert route(t, reference=reference).gain == pytest.approx(naive_gain(t, reference), abs=1e-9)


@pytest.mark.parametrize("users", [0, 6])
def test_the_interval_is_built_from_the_contexts_where_the_policy_differs(users):
    """The bound over every single model is the smallest of their lower ends. Shared users limit degrees of freedom."""
    t = experiment(faint=True)
    user = np.arange(90) % users if users else np.arange(90)
    t, picked = replace(t, cluster=user), t.q.argmax(axis=1)
    lows, highs = [], []
    for b in range(3):
        differs = picked != b
        code = np.where(t.model == picked, 0, np.where(t.model == b, 1, 2))[differs]
        both = experiment_only(("policy", "b"), code, t.outcome[differs], t.propensity[differs], user[differs])
        difference, share = both.estimate[0] - both.estimate[1], differs.mean()
        own = np.diag(both.covariance)
        variance = own.sum() - 2 * both.covariance[0, 1]
        df = min(own.sum() ** 2 / (own**2 / both.df).sum(), both.difference_df_limit[0, 1])
        by_user = np.array([(differs - share)[user == one].sum() for one in np.unique(user)])
        share_variance = (by_user**2).sum() / 90**2 * len(by_user) / (len(by_user) - 1)
        error = np.sqrt(share**2 * variance + (difference**2 + variance) * share_variance)
        lows.append(share * difference - stats.t.ppf(0.975, df) * error)
        highs.append(share * difference + stats.t.ppf(0.975, df) * error)
    routing = route(t, reference=1)
    assert (routing.gain_low, routing.gain_high) == pytest.approx((lows[1], highs[1]), abs=1e-8)
    assert routing.gain_bound == pytest.approx(min(lows), abs=1e-8)


def test_among_contenders_the_gain_has_the_level_of_intervals_that_hold_together():
    """The bound over every single model is a lower limit without adjustment, also of the gain over the best one."""
    for seed in range(5):
        t = experiment(seed)
        alone, among, stricter = route(t), route(t, contenders=3), route(t, level=0.95 ** (1 / 3))
        assert among.gain_bound == alone.gain_bound
        assert bounds(among) == pytest.approx(
            (alone.gain, max(stricter.gain_low, alone.gain_bound), stricter.gain_high)
        )
        assert among.gain_high > alone.gain_high


def test_the_gain_lies_inside_its_interval_whatever_cannot_be_estimated():
    """A gain without evidence is NaN; it is never replaced by that over another model."""
    for seed in range(60):
        routing = route(experiment(seed, rows=8), reference=seed % 3)
        assert np.isnan(routing.gain) or routing.gain_low <= routing.gain <= routing.gain_high
        assert routing.gain_bound <= routing.gain_low + 1e-12


def test_a_policy_that_follows_noise_in_replayed_outputs_is_not_overrated():
    """All models are equal, and the policy picks the one whose replayed output happens to look best.

    The reward of the row's own output does not share that chance. With 60 studies of 60 rows the mean gain has a
    standard error of 0.007; predictions from the own output would give a mean of 0.03 or more.
    """
    gains = []
    for seed in range(60):
        rng = np.random.default_rng([6, seed])
        quality = rng.random(60)
        model, outcome = rng.integers(0, 3, 60), np.clip(quality + 0.02 * rng.normal(size=60), 0, 1)
        q = 0.5 * quality[:, None] + 0.4 * rng.random((60, 3))
        own = 0.5 * quality + 0.4 * rng.random(60)
        gains.append(route(ScoredExperiment.from_arrays(MODELS, q, own, model, outcome)).gain)
    assert abs(np.mean(gains)) < 0.02


def test_shares_rows_and_plug_in_gain_describe_the_policy():
    t = experiment()
    routing, picked = route(t), t.q.argmax(axis=1)
    assert routing.model_shares == pytest.approx([np.mean(picked == a) for a in range(3)])
    assert routing.on_policy_rows == sum(picked == t.model)
    assert routing.best_model_share == routing.model_shares[MODELS.index(routing.best)]
    assert routing.plug_in_gain == pytest.approx(t.q.max(axis=1).mean() - t.q.mean(axis=0).max())


def test_the_value_of_a_constant_policy_is_that_of_its_model():
    t = experiment()
    level = np.array([0.2, 0.7, 0.4])
    routing = route(replace(t, q=np.tile(level, (90, 1)), prediction=level[t.model]), reference=1)
    alone = experiment_only(MODELS, t.model, t.outcome, t.propensity)
    assert routing.value == pytest.approx(alone.estimate[1], abs=1e-9)
    assert (routing.gain, routing.model_shares) == (0.0, (0.0, 1.0, 0.0))
    # The rule of three: the policy may differ on contexts outside the experiment.
    assert -3.85 / 90 < routing.gain_low < 0 < routing.gain_high < 3.85 / 90


def test_a_policy_that_no_row_follows_cannot_be_evaluated():
    q = np.zeros((30, 3))
    q[:, 2] = 1.0
    q[:10, 0] = 2.0
    routing = route(uniform(q, np.full(30, 1), np.linspace(0, 1, 30), np.zeros(30)), reference=1)
    assert routing.on_policy_rows == 0
    assert np.isnan(routing.value)
    assert (routing.value_low, routing.value_high) == (0.0, 1.0)
    assert routing.verdict == "cannot tell"
    assert np.isnan(routing.gain)
    assert (routing.gain_low, routing.gain_high) == pytest.approx((-1.0, 1.0), abs=0.55)


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_a_handful_of_rows_is_inconclusive(rows):
    routing = route(experiment(3, rows))
    assert routing.verdict != "route"
    assert -1.0 <= routing.gain_low <= routing.gain_high <= 1.0
    assert routing.gain_high - routing.gain_low > 0.5


def test_a_router_that_is_clearly_right_is_recommended():
    rng = np.random.default_rng(1)
    right, model = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    q = 0.2 + 0.6 * (right[:, None] == np.arange(3))
    outcome = (rng.random(300) < q[np.arange(300), model]).astype(float)
    routing = route(uniform(q, model, outcome, q[np.arange(300), model]))
    assert routing.verdict == "route"
    assert routing.gain_low < 0.4 < routing.gain_high  # 0.8 against 0.2 + 0.6 / 3


@pytest.mark.parametrize(("achievable", "verdict"), [(0.005, "one model"), (0.05, "cannot tell")])
def test_one_model_is_enough_only_if_no_policy_could_gain_the_minimum(achievable, verdict):
    """Two models that are equal on every context, and hardly any noise: the gain of this policy is close to zero."""
    rng = np.random.default_rng(2)
    model, q = rng.integers(0, 3, 600), rng.random((600, 3))
    q[:, 2] = -1.0
    outcome = np.where(model == 2, 0.1, 0.6) + 0.001 * rng.normal(size=600)
    routing = route(uniform(q, model, outcome, np.full(600, 0.5)), achievable=achievable)
    assert routing.verdict == verdict
    assert routing.gain_high < routing.min_gain


def test_the_summary_is_the_text_of_the_report():
    routing = route(experiment())
    assert routing.summary == routing_text(routing)


def test_a_separate_policy_q_decides_the_policy_and_not_the_reward():
    t = experiment()
    policy_q = np.random.default_rng(8).random((90, 3))
    routing = route(t, policy_q)
    shares = np.bincount(policy_q.argmax(axis=1), minlength=3) / 90
    assert routing.model_shares == pytest.approx(shares)
    assert routing.plug_in_gain == route(t).plug_in_gain


def test_a_cost_common_to_all_models_changes_only_the_value():
    t = experiment()
    free, costly = route(t), route(t, cost=np.full(3, 0.2))
    assert bounds(costly) == pytest.approx(bounds(free))
    assert costly.value == pytest.approx(free.value - 0.2)
    assert costly.model_shares == free.model_shares


def test_a_cost_changes_the_policy():
    t = experiment()
    assert route(t, cost=np.array([0.0, 5.0, 5.0])).model_shares == (1.0, 0.0, 0.0)
    subsidized = route(t, cost=np.array([-0.3, 0.0, 0.0]))
    shares = np.bincount((t.q + np.array([0.3, 0, 0])).argmax(axis=1), minlength=3) / 90
    assert subsidized.model_shares == pytest.approx(shares)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(3)), st.integers(0, 1000))
def test_the_order_of_models_and_rows_does_not_matter(order, seed):
    t = experiment(seed, 40)
    reordered = replace(t, q=t.q[:, order], model=np.argsort(order)[t.model])
    shuffled = t.take(np.random.default_rng(seed).permutation(40))
    first = route(t)
    for other in (route(reordered, reference=list(order).index(0)), route(shuffled)):
        assert (*bounds(other), other.value) == pytest.approx((*bounds(first), first.value), nan_ok=True, abs=1e-9)


def test_copies_of_a_row_in_its_cluster_do_not_narrow_the_intervals():
    t = experiment(5, 40)
    once, twice = route(t), route(t.take(np.tile(np.arange(40), 2)))
    assert bounds(twice) == pytest.approx(bounds(once), abs=0.02)
    assert (twice.value_low, twice.value_high) == pytest.approx((once.value_low, once.value_high), abs=0.005)


def test_a_weight_equals_that_many_copies_in_one_cluster():
    """Up to the dispersion between rows, for which copies are more rows."""
    t, weight = experiment(2), np.random.default_rng(0).integers(1, 4, 90)
    weighted = route(replace(t, weight=weight * 1.0))
    copied = route(t.take(np.repeat(np.arange(90), weight)))
    assert bounds(weighted) == pytest.approx(bounds(copied), abs=1e-6)
    for name in ("value", "value_low", "value_high", "plug_in_gain", "model_shares", "best_model_share"):
        assert getattr(weighted, name) == pytest.approx(getattr(copied, name), abs=1e-6), name
    assert weighted.gain != pytest.approx(route(t).gain, abs=1e-3)


def test_wrong_input_is_refused():
    t = experiment()
    with pytest.raises(UsageError, match="level"):
        route(t, level=95)
    with pytest.raises(UsageError, match="cost"):
        route(t, cost=np.array([1.0, 2.0]))
    with pytest.raises(EvidenceError, match="single"):
        route(t.take(np.arange(1)))


def covered(seed: int, visible_sd: float, rows: int) -> tuple[bool, bool]:
    """Whether the interval contains the true gain, and whether it lies entirely above it.

    The true values of the models are uniform around their means, and the policy is the argmax of them with noise. Its
    true value is computed on a second, large sample to within 0.001.
    """
    rng = np.random.default_rng([9, seed])
    many = 40_000
    x = rng.uniform(-1, 1, (rows + many, 3))
    q_true = np.array([0.55, 0.5, 0.45]) + visible_sd * x
    q = q_true + 0.05 * rng.normal(size=q_true.shape)
    picked = q.argmax(axis=1)[rows:]
    gain = (q_true[np.arange(rows, rows + many), picked] - q_true[rows:, 0]).mean()
    model = rng.integers(0, 3, rows)
    outcome = (rng.random(rows) < q_true[np.arange(rows), model]).astype(float)
    routing = route(uniform(q[:rows], model, outcome, q[np.arange(rows), model]))
    return routing.gain_low <= gain <= routing.gain_high, routing.gain_low > gain


def test_the_interval_covers_the_gain_in_few_studies():
    """With exact 95 % coverage, fewer than 33 hits in 40 have probability 0.0007."""
    assert sum(covered(seed, 0.3, 60)[0] for seed in range(40)) >= 33


@pytest.mark.slow
@pytest.mark.parametrize(("visible_sd", "rows"), [(0.3, 60), (0.02, 60), (0.3, 300)])
def test_the_interval_covers_the_gain(visible_sd, rows):
    """Routing helps a lot, or not at all.

    With exact 95 % coverage, 138 or fewer hits in 150 have probability 0.09; below 137 it is 0.03, below 135 it is
    0.003. An interval entirely above the truth, which would recommend a useless router, has probability 2.5 %: more
    than nine in 150 have probability 0.005.
    """
    results = np.array([covered(seed, visible_sd, rows) for seed in range(150)])
    assert results[:, 0].sum() >= 135
    assert results[:, 1].sum() <= 9


@pytest.mark.parametrize(("models", "plain"), [(2, 0.90), (3, 0.88), (6, 0.84)])
def test_the_joint_level_allows_for_folds_that_choose_on_each_others_rows(models, plain):
    """The value of the single model that the other four folds prefer, of equal models with standard error one.

    The choice correlates the folds' errors, so that plain intervals cover too seldom. 20,000 draws have standard errors
    of at most 0.003; the tolerance is three of them and the rounding of ``plain``.
    """
    by_fold = np.sqrt(5) * np.random.default_rng(models).standard_normal((20_000, 5, models))
    preferred = (by_fold.sum(axis=1, keepdims=True) - by_fold).argmax(axis=2)
    error = np.abs(np.take_along_axis(by_fold, preferred[:, :, None], axis=2).mean(axis=(1, 2)))
    assert (error <= stats.norm.ppf(0.975)).mean() == pytest.approx(plain, abs=0.013)
    assert (error <= stats.norm.ppf(0.5 + joint_level(0.95, models) / 2)).mean() >= 0.94


def covered_near_ties(seed: int, rows: int = 300) -> tuple[bool, bool]:
    """Whether the interval contains the final policy's gain over the model named best, with and without contenders.

    Three equal models with slopes -0.2, 0 and 0.2 of a uniform x, a known reward, and folds that choose the single
    model and the policy. The true gain is computed on 20,000 contexts to within 0.001.
    """
    rng = np.random.default_rng([17, seed])
    x = rng.uniform(-1, 1, rows + 20_000)
    q = 0.5 + 0.2 * x[:, None] * np.array([-1.0, 0.0, 1.0])
    model = rng.integers(0, 3, rows)
    outcome = (rng.random(rows) < q[np.arange(rows), model]).astype(float)
    t = uniform(q[:rows], model, outcome, q[np.arange(rows), model])
    values, final = tuned_doubly_robust(t), FoldCalibration.fit(t)
    best = int(np.argmax(final.value))
    chosen = final.calibrate(q[rows:]).argmax(axis=1)
    truth = (q[rows:][np.arange(20_000), chosen] - q[rows:, best]).mean()
    policy = CrossFittedPolicy.fit(t, group_folds(np.arange(rows), 5, seed))
    contained = (routing_gain(t, policy, best=MODELS[best], contenders=count) for count in (len(values.best_set()), 1))
    among, alone = (routing.gain_low <= truth <= routing.gain_high for routing in contained)
    return among, alone


@pytest.mark.slow
def test_the_interval_covers_the_gain_over_the_model_named_best_among_near_ties():
    """Folds that choose on each other's rows have correlated errors.

    With exact 95 % coverage, fewer than 180 hits in 200 have probability 0.001. Without contenders there are too few.
    """
    among, alone = np.array([covered_near_ties(seed) for seed in range(200)]).sum(axis=0)
    assert among >= 180
    assert alone < 180

"""Routing against one model: what the gain is, what it may claim, and that its interval holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deconfound.decide.routing import RoutingGain, routing_gain
from deconfound.design import FloatArray, IntArray
from deconfound.errors import EvidenceError, UsageError
from deconfound.value import experiment_only

MODELS = ("ant", "bee", "cat")
FAINT = 1e-14  # differences that choose a model and are far too small to sharpen a value


@dataclass(frozen=True)
class ExperimentArrays:
    q: FloatArray
    model: IntArray
    outcome: FloatArray
    prediction: FloatArray
    propensity: FloatArray

    def route(self, cost: FloatArray | None = None, level: float = 0.95) -> RoutingGain:
        t = self
        return routing_gain(MODELS, t.q, t.model, t.outcome, t.prediction, t.propensity, cost=cost, level=level)


def drawn(seed: int = 0, rows: int = 90, faint: bool = False) -> ExperimentArrays:
    rng = np.random.default_rng(seed)
    q, model = rng.random((rows, 3)), rng.integers(0, 3, rows)
    outcome = np.clip(0.6 * q[np.arange(rows), model] + 0.4 * rng.random(rows), 0, 1)
    if faint:
        q = 0.5 + FAINT * q
    return ExperimentArrays(q, model, outcome, q[np.arange(rows), model], rng.uniform(0.2, 0.6, rows))


def naive_gain(t: ExperimentArrays, b: int) -> float:
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


def test_the_gain_is_the_least_over_single_models_as_loops_find_it():
    t = drawn(faint=True)
    assert t.route().gain == pytest.approx(min(naive_gain(t, b) for b in range(3)), abs=1e-9)


def test_the_interval_is_built_from_the_contexts_where_the_policy_differs():
    """Lower end: the least plain bound. Upper end: the least of bounds at a third of the tail each."""
    t = drawn(faint=True)
    picked = t.q.argmax(axis=1)
    lows, highs = [], []
    for b in range(3):
        there = picked != b
        code = np.where(t.model == picked, 0, np.where(t.model == b, 1, 2))[there]
        both = experiment_only(("policy", "b"), code, t.outcome[there], t.propensity[there])
        lead, share, rows = both.estimate[0] - both.estimate[1], there.mean(), len(picked)
        variance, df = np.diag(both.covariance), both.df
        free = variance.sum() ** 2 / (variance**2 / df).sum()
        wobble = share * (1 - share) / (rows - 1)
        error = np.sqrt(share**2 * variance.sum() + (lead**2 + variance.sum()) * wobble)
        lows.append(share * lead - stats.t.ppf(0.975, free) * error)
        highs.append(share * lead + stats.t.ppf(1 - 0.025 / 3, free) * error)
    found = t.route()
    assert (found.low, found.high) == pytest.approx((min(lows), min(highs)), abs=1e-8)


def test_shares_rows_and_promise_are_counts_of_what_the_policy_does():
    t = drawn()
    found, picked = t.route(), t.q.argmax(axis=1)
    assert found.share == pytest.approx([np.mean(picked == a) for a in range(3)])
    assert found.rows == sum(picked == t.model)
    assert found.same == found.share[MODELS.index(found.best)]
    assert found.promised == pytest.approx(t.q.max(axis=1).mean() - t.q.mean(axis=0).max())


def test_the_value_of_a_policy_that_picks_one_model_is_that_models():
    t = drawn()
    constant = ExperimentArrays(
        np.tile([0.2, 0.7, 0.4], (90, 1)), t.model, t.outcome, np.array([0.2, 0.7, 0.4])[t.model], t.propensity
    )
    found = constant.route()
    alone = experiment_only(MODELS, t.model, t.outcome, t.propensity)
    assert found.value == pytest.approx(alone.estimate[1], abs=1e-9)
    assert (found.verdict, found.share) == ("one model", (0.0, 1.0, 0.0))
    assert found.gain == pytest.approx(min(0.0, alone.estimate[1] - np.delete(alone.estimate, 1).max()), abs=1e-9)
    assert found.low < found.gain <= found.high <= 3.85 / 90  # the rule of three: it may differ on contexts not seen
    assert 'picks "bee" on every context' in found.sentence


def test_a_policy_that_no_row_follows_is_unknown():
    q = np.zeros((30, 3))
    q[:, 2] = 1.0
    q[:10, 0] = 2.0
    model = np.full(30, 1)
    found = routing_gain(MODELS, q, model, np.linspace(0, 1, 30), np.zeros(30))
    assert found.rows == 0
    assert np.isnan(found.value)
    assert (found.value_low, found.value_high) == (0.0, 1.0)
    assert found.verdict == "cannot tell"
    assert (found.low, found.high) == pytest.approx((-1.0, 1.0), abs=0.55)
    assert "0 rows" in found.sentence


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_a_handful_of_rows_claims_nothing(rows):
    t = drawn(3, rows)
    found = t.route()
    assert found.verdict != "route"
    assert -1.0 <= found.low <= found.high <= 1.0
    assert found.high - found.low > 0.5


def test_a_router_that_is_plainly_right_is_recommended():
    rng = np.random.default_rng(1)
    right, model = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    q = 0.2 + 0.6 * (right[:, None] == np.arange(3))
    outcome = (rng.random(300) < q[np.arange(300), model]).astype(float)
    found = routing_gain(MODELS, q, model, outcome, q[np.arange(300), model])
    assert found.verdict == "route"
    assert found.low < 0.4 < found.high  # 0.8 against 0.2 + 0.6 / 3
    assert "gains" in found.sentence


def test_a_gain_below_its_worth_is_not_worth_a_router():
    """Two models that are equal on every context, and hardly any noise: the gain is known to be about zero."""
    rng = np.random.default_rng(2)
    model, q = rng.integers(0, 3, 600), rng.random((600, 3))
    q[:, 2] = -1.0
    outcome = np.where(model == 2, 0.1, 0.6) + 0.001 * rng.normal(size=600)
    found = routing_gain(MODELS, q, model, outcome, np.full(600, 0.5))
    assert found.verdict == "one model"
    assert found.high < found.worth


def test_a_cost_that_all_models_share_changes_nothing_but_the_value():
    t = drawn()
    plain, priced = t.route(), t.route(np.full(3, 0.2))
    assert (priced.gain, priced.low, priced.high) == pytest.approx((plain.gain, plain.low, plain.high))
    assert priced.value == pytest.approx(plain.value - 0.2)
    assert priced.share == plain.share


def test_a_cost_decides_what_is_picked_and_is_paid():
    t = drawn()
    found = t.route(np.array([0.0, 5.0, 5.0]))
    assert found.share == (1.0, 0.0, 0.0)
    cheap = t.route(np.array([-0.3, 0.0, 0.0]))
    assert cheap.share == pytest.approx(np.bincount((t.q + np.array([0.3, 0, 0])).argmax(axis=1), minlength=3) / 90)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(3)), st.integers(0, 1000))
def test_names_and_order_do_not_matter(order, seed):
    t = drawn(seed, 40)
    place = np.argsort(order)
    turned = ExperimentArrays(t.q[:, order], place[t.model], t.outcome, t.prediction, t.propensity)
    rows = np.random.default_rng(seed).permutation(40)
    mixed = ExperimentArrays(t.q[rows], t.model[rows], t.outcome[rows], t.prediction[rows], t.propensity[rows])
    first = t.route()
    for other in (turned.route(), mixed.route()):
        assert (other.gain, other.low, other.high, other.value) == pytest.approx(
            (first.gain, first.low, first.high, first.value), nan_ok=True, abs=1e-9
        )


def test_copies_of_a_row_in_its_cluster_add_no_certainty():
    t = drawn(5, 40)
    twice = [np.concatenate([part, part]) for part in (t.q, t.model, t.outcome, t.prediction, t.propensity)]
    found, cluster = t.route(), np.tile(np.arange(40), 2)
    again = routing_gain(MODELS, *twice[:4], twice[4], cluster)
    assert (again.gain, again.low, again.high) == pytest.approx((found.gain, found.low, found.high), abs=0.02)
    assert (again.value_low, again.value_high) == pytest.approx((found.value_low, found.value_high), abs=0.005)


def test_a_weight_is_as_many_copies_in_one_cluster():
    t, weight = drawn(2), np.random.default_rng(0).integers(1, 4, 90)
    cluster = np.arange(90)
    heavy = routing_gain(MODELS, t.q, t.model, t.outcome, t.prediction, t.propensity, cluster, weight=weight * 1.0)
    columns = (t.q, t.model, t.outcome, t.prediction, t.propensity, cluster)
    copied = routing_gain(MODELS, *(np.repeat(column, weight, axis=0) for column in columns))
    for name in ("value", "gain", "low", "high", "value_low", "value_high", "promised", "share", "same"):
        assert getattr(heavy, name) == pytest.approx(getattr(copied, name), abs=1e-9), name
    assert heavy.gain != pytest.approx(t.route().gain, abs=1e-3)


def test_bad_input_is_refused():
    t = drawn()
    with pytest.raises(UsageError, match="level"):
        t.route(level=95)
    with pytest.raises(UsageError, match="cost"):
        t.route(np.array([1.0, 2.0]))
    with pytest.raises(UsageError, match="NaN"):
        routing_gain(MODELS, np.full((90, 3), np.nan), t.model, t.outcome, t.prediction)
    with pytest.raises(UsageError, match="propensity"):
        routing_gain(MODELS, t.q, t.model + 1, t.outcome, t.prediction)
    with pytest.raises(EvidenceError, match="single"):
        routing_gain(MODELS, t.q[:1], t.model[:1], t.outcome[:1], t.prediction[:1])


def covered(seed: int, seen: float, rows: int) -> tuple[bool, bool]:
    """Whether the interval holds the true gain, and whether it lies above it, for a reward of its own making.

    Worths are uniform around the models' levels, so the policy argmax of a blurred worth has a true value that the
    contexts of a second, large sample give to within 0.001.
    """
    rng = np.random.default_rng([9, seed])
    many = 40_000
    x = rng.uniform(-1, 1, (rows + many, 3))
    worth = np.array([0.55, 0.5, 0.45]) + seen * x
    q = worth + 0.05 * rng.normal(size=worth.shape)
    picked = q.argmax(axis=1)[rows:]
    truth = (worth[np.arange(rows, rows + many), picked] - worth[rows:, 0]).mean()
    model = rng.integers(0, 3, rows)
    outcome = (rng.random(rows) < worth[np.arange(rows), model]).astype(float)
    found = routing_gain(MODELS, q[:rows], model, outcome, q[np.arange(rows), model])
    return found.low <= truth <= found.high, found.low > truth


@pytest.mark.parametrize(("seen", "rows"), [(0.3, 60), (0.02, 60), (0.3, 300)])
def test_the_interval_of_the_gain_holds(seen, rows):
    """Routing helps much, or not at all.

    With exact 95 % coverage, 138 or fewer hits in 150 have probability 0.09; below 137 it is 0.03, below 135 it is
    0.003. An interval above the truth, which would send people to a router in vain, has 2.5 %: more than nine in 150
    have probability 0.005.
    """
    seen_so = np.array([covered(seed, seen, rows) for seed in range(150)])
    assert seen_so[:, 0].sum() >= 135
    assert seen_so[:, 1].sum() <= 9

"""What a plan starts from: beliefs about values, pilots and logs, against closed forms and naive twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2, multivariate_normal

from deconfound.design import FloatArray
from deconfound.errors import DataError, EvidenceError
from deconfound.plan import LogAndReplay, Plan, from_pilot, load_log_and_replay, plan
from deconfound.plan.beliefs import believed, given_spread
from deconfound.plan.evidence import believable
from deconfound.plan.forecast import typical
from deconfound.plan.from_log import BELIEVED, KEPT, Seen, from_seen
from deconfound.plan.widths import choice_cost, widths
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.small_sample import ModelWeights, moderated
from tests.support.checking import make_study

# --- beliefs ---


def test_at_one_spread_estimates_are_drawn_together_by_the_share_of_luck_in_them():
    """Equal independent errors: mean and covariance in closed form, the common value's own doubt included."""
    estimate, noise, tau = np.array([0.3, 0.5, 0.7]), 0.01, 0.2
    mean, doubt, _ = given_spread(tau, estimate, noise * np.eye(3), np.arange(3))
    trust = tau**2 / (tau**2 + noise)
    assert mean == pytest.approx(0.5 + trust * (estimate - 0.5))
    common = (1 - trust) ** 2 * (tau**2 + noise) / 3
    assert doubt == pytest.approx(tau**2 * (1 - trust) * np.eye(3) + common)


def test_the_likelihood_of_a_spread_is_that_of_the_differences():
    """Whatever the common value, contrasts have a normal law without it; ratios of likelihoods must agree."""
    estimate, noise = np.array([0.3, 0.5, 0.75]), np.diag([0.01, 0.02, 0.005])
    apart = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    laws = [multivariate_normal(np.zeros(2), apart @ (t**2 * np.eye(3) + noise) @ apart.T) for t in (0.1, 0.3)]
    wanted = laws[1].logpdf(apart @ estimate) - laws[0].logpdf(apart @ estimate)
    found = [given_spread(t, estimate, noise, np.arange(3))[2] for t in (0.1, 0.3)]
    assert found[1] - found[0] == pytest.approx(wanted)


def test_beliefs_average_over_the_spreads_that_are_possible():
    """First and second moments, summed spread by spread: doubt also holds how far the spreads disagree."""
    estimate, noise = np.array([0.42, 0.5, 0.61]), np.diag([0.01, 0.004, 0.006])
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for tau in np.linspace(0.01, 0.5, 50):
        mean, spread, likelihood = given_spread(float(tau), estimate, noise, np.arange(3))
        weight = float(np.exp(likelihood))
        mass, first = mass + weight, first + weight * mean
        second += weight * (spread + np.outer(mean, mean))
    found = believed(estimate, noise)
    assert found["mean"] == pytest.approx(first / mass, rel=1e-9)
    assert found["doubt"] == pytest.approx(second / mass - np.outer(first, first) / mass**2, abs=1e-12)


def test_beliefs_are_as_doubtful_as_they_should_be():
    """400 times eight values with tau 0.1 and errors of 0.1: squared errors over doubt average one.

    The 400 means of eight are independent with a standard error of 0.03 in all; 0.15 also leaves room for a tau of
    0.1 not being drawn from the flat law. The likeliest tau alone gives 2.4.
    """
    rng = np.random.default_rng(0)
    ratio = []
    for _ in range(400):
        value = rng.normal(0.5, 0.1, 8)
        found = believed(value + rng.normal(0, 0.1, 8), 0.01 * np.eye(8))
        ratio.extend((value - found["mean"]) ** 2 / np.diag(found["doubt"]))
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.15)


def test_a_model_without_an_estimate_is_believed_to_be_like_the_others():
    found = believed(np.array([0.3, 0.7, np.nan]), np.diag([1e-6, 1e-6, np.inf]))
    assert found["mean"] == pytest.approx([0.3, 0.7, 0.5], abs=1e-3)
    assert found["doubt"][2, 2] > 0.04
    assert found["doubt"][0, 0] < 1e-5
    nothing = believed(np.full(2, np.nan), np.diag([np.inf, np.inf]))
    assert nothing["mean"].tolist() == [0.5, 0.5]


def test_models_that_look_equal_are_still_not_believed_to_be():
    found = believed(np.array([0.5, 0.5]), 1e-8 * np.eye(2))
    assert (np.diag(found["doubt"]) > 0).all()
    unsure = believed(np.array([0.5, 0.5]), 0.01 * np.eye(2))
    assert np.sqrt(unsure["doubt"][0, 0] + unsure["doubt"][1, 1] - 2 * unsure["doubt"][0, 1]) > 0.05


# --- pilots ---


def simulated(rows: int, seed: int = 0, noise: float = 0.2) -> ScoredExperiment:
    """Three models; the reward is exact up to noise of a known size. Residual sd ``noise``, reward sd 0.1."""
    rng = np.random.default_rng(seed)
    q = 0.5 + 0.1 * rng.choice([-1.0, 1.0], (rows, 3)) + np.array([0.0, 0.05, 0.1])
    model = rng.integers(0, 3, rows)
    prediction = q[np.arange(rows), model]
    outcome = prediction + noise * rng.choice([-1.0, 1.0], rows)
    return ScoredExperiment.from_arrays("abc", q, prediction, model, outcome)


def test_a_pilot_tells_what_the_reward_leaves():
    """10,000 rows a model know a variance to 1.5 %."""
    known = from_pilot(simulated(30_000))
    assert known.row == pytest.approx(np.full(3, 0.04), rel=0.03)
    assert known.outcome == pytest.approx(np.full(3, 0.05), rel=0.03)
    assert np.diag(known.context) == pytest.approx(np.full(3, 0.01), rel=0.1)
    assert known.mean == pytest.approx([0.5, 0.55, 0.6], abs=0.01)
    assert known.rows == 30_000
    assert known.findings == ()


def test_a_reward_that_is_held_back_leaves_residuals_that_follow_the_context():
    """Outcomes rise four times as fast as the reward, power stops at two.

    q varies by 0.0025: its own part is 4 * 0.0025, and twice the covariance with the residual is 2 * 2 * 2 * 0.0025.
    """
    rng = np.random.default_rng(2)
    q, model = 0.5 + 0.05 * rng.choice([-1.0, 1.0], (30_000, 3)), rng.integers(0, 3, 30_000)
    prediction = q[np.arange(30_000), model]
    outcome = 0.5 + 4 * (prediction - 0.5) + 0.1 * rng.choice([-1.0, 1.0], 30_000)
    known = from_pilot(ScoredExperiment.from_arrays("abc", q, prediction, model, outcome))
    assert np.diag(known.context) == pytest.approx(np.full(3, 0.03), rel=0.05)


def test_uneven_weights_leave_fewer_rows():
    """Rows count by their weights 1 / propensity: (sum w^2)^2 / sum w^4 of them, model by model."""
    pilot = simulated(60, seed=5)
    propensity = np.random.default_rng(5).uniform(0.1, 0.9, 60)
    known = from_pilot(replace(pilot, propensity=propensity))
    for a in range(3):
        weight = 1 / propensity[pilot.model == a]
        assert known.independent[a] == pytest.approx((weight**2).sum() ** 2 / (weight**4).sum() / len(weight))


def test_a_small_pilot_pays_for_the_power_it_chose():
    """The moderated variance of the residuals at the chosen power, times the charge of ``optimal_reward_weight``."""
    pilot = simulated(45, seed=6, noise=0.05)
    power = tuned_doubly_robust(pilot).reward_weight
    assert power is not None
    shares = ModelWeights.from_rows(pilot.model, 3, np.ones(45), None)
    residual = shares.influence(pilot.outcome) - power * shares.influence(pilot.prediction)
    own = moderated(shares, residual, all_constant=False)
    free = ((own.influence**2).sum(axis=0) + own.added_variance) / shares.sum_squared_weight
    assert from_pilot(pilot).row == pytest.approx(free * choice_cost(shares.df))
    assert (choice_cost(shares.df) > 1.01).all()


def test_no_variance_is_thought_possible_that_no_outcome_has():
    """Four degrees of freedom leave a factor of 3.8 at 90 %, and 0.2 may grow to 0.25 only."""
    assert believable(4, 0.2)[1] == pytest.approx(1.25)
    assert believable(4, 0.01)[1] == pytest.approx(4 / chi2.ppf(0.1, 4))
    assert believable(4, 0.01)[0] == pytest.approx(4 / chi2.ppf(0.9, 4))


def test_rows_that_share_a_user_count_for_less():
    """Every row twice under one user: half as many independent rows, twice the variance of one."""
    once = simulated(3_000)
    both = np.repeat(np.arange(3_000), 2)
    twice = replace(once.take(both), cluster=both)
    known, plain = from_pilot(twice), from_pilot(once)
    assert known.independent == pytest.approx(np.full(3, 0.5), rel=0.01)
    assert known.row == pytest.approx(2 * plain.row, rel=0.03)


def test_the_same_rows_planned_have_the_width_they_had():
    """A pilot planned at its own size gives back its own intervals, but for the median of 40 skewed rows."""
    pilot = simulated(120, seed=3)
    values = tuned_doubly_robust(pilot)
    known = from_pilot(pilot)
    rows = np.bincount(pilot.model).astype(float)
    interval = values.interval()
    assert typical(widths(known, rows)) == pytest.approx(typical(interval[:, 1] - interval[:, 0]), rel=0.06)


def test_five_rows_a_model_are_enough_to_plan_and_are_said_to_be_few():
    known = from_pilot(simulated(15, seed=1))
    assert known.findings[0].check == "thin pilot"
    low, high = known.variance_range
    assert low < 0.8
    assert high > 1.3


def test_a_model_without_pilot_rows_is_taken_to_vary_like_the_others():
    pilot = simulated(40)
    other = np.where(pilot.model == 2, 1, pilot.model)
    known = from_pilot(replace(pilot, model=other, prediction=pilot.q[np.arange(40), other]))
    assert known.row[:2].min() <= known.row[2] <= known.row[:2].max()
    assert np.isfinite(plan(known).at(20).width).all()


def test_outcomes_that_never_vary_cannot_be_planned_from():
    pilot = simulated(30)
    with pytest.raises(EvidenceError, match="do not vary"):
        from_pilot(replace(pilot, outcome=np.ones(30)))
    with pytest.raises(EvidenceError, match="do not vary"):
        from_seen(("a", "b"), Seen(np.array([0, 1] * 5), np.ones(10), np.ones(10), np.ones((3, 2))))


# --- logs ---


def seen(rows: int = 40_000, bias: float = 0.0) -> Seen:
    pilot = simulated(rows)
    return Seen(pilot.model, pilot.outcome + bias * pilot.model, pilot.prediction, pilot.q)


def test_a_log_is_believed_by_half():
    """The reward explains 0.01 of 0.05, means are 0.05 apart; half of either is kept."""
    known = from_seen(("a", "b", "c"), seen())
    assert 1 - known.row / known.outcome == pytest.approx(np.full(3, KEPT * 0.2), rel=0.1)
    assert np.diag(known.context) == pytest.approx(np.full(3, KEPT * 0.01), rel=0.1)
    assert np.diff(known.mean) == pytest.approx(np.full(2, BELIEVED * 0.05), rel=0.1)
    assert np.diag(known.doubt) == pytest.approx(np.full(3, BELIEVED * (1 - BELIEVED) * 0.05**2), rel=0.15)
    low, high = known.variance_range
    assert low < 0.7
    assert high > 1.4


def test_models_the_log_never_saw_get_all_the_doubt():
    full = seen(3_000)
    known = from_seen(("a", "b", "c", "d"), replace(full, q=np.column_stack([full.q, full.q[:, 0]])))
    assert known.doubt[3, 3] > known.doubt[0, 0]
    assert known.findings[1].check == "unseen models"
    assert np.isfinite(plan(known).at(20).width).all()


def tables(outcomes: list[float]) -> dict[str, pa.Table]:
    logged = [
        {"context": f"case {i}", "model": "ant" if i % 2 else "bee", "output": f"word {i}", "outcome": y}
        for i, y in enumerate(outcomes)
    ]
    replayed = [{"context": "new", "model": name, "output": name} for name in ("ant", "bee")]
    return {"log": pa.Table.from_pylist(logged), "replay": pa.Table.from_pylist(replayed)}


def test_a_short_log_makes_a_plan_with_a_wide_range_and_three_rows_do_not():
    """Two rows that happen to be alike would promise an experiment of a dozen rows."""
    short = plan(load_log_and_replay(**tables([0.0, 1.0, 0.5, 0.25, 0.7, 0.1, 0.9, 0.3, 0.6, 0.2, 0.8, 0.4])))
    assert np.isfinite(short.at(20).width).all()
    assert short.evidence.variance_range[0] < 1 / 1.5
    for few in ([0.0, 1.0, 1.0], [1.0] * 40):
        with pytest.raises(EvidenceError, match="do not vary"):
            plan(load_log_and_replay(**tables(few)))


def test_whatever_is_wrong_with_the_tables_is_told():
    found = tables([0.0, 1.0, 1.0])
    with pytest.raises(DataError, match="only ant"):
        load_log_and_replay(log=found["log"], replay=found["replay"].slice(0, 1))
    with pytest.raises(DataError, match="outside"):
        load_log_and_replay(log=tables([0.0, 5.0])["log"], replay=found["replay"])
    assert isinstance(
        load_log_and_replay(log=tables([0.0, 5.0])["log"], replay=found["replay"], outcome_range=(0, 5)), LogAndReplay
    )


def rows_of(made: Plan) -> FloatArray:
    return made.rows_for(width=0.2).expected.rows


def test_a_study_with_a_pilot_and_its_log_alone_plan_alike_when_nothing_confounds():
    """The studies of ``checking`` have no confounding; a factor of three is what the log's stated range leaves."""
    study = make_study(seed=4)
    piloted, logged = plan(study), plan(LogAndReplay(study.log, study.replay, study.models))
    ratio = rows_of(piloted).sum() / rows_of(logged).sum()
    assert 1 / 3 < ratio < 3

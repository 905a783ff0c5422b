"""Plans: closed forms and naive twins, small simulations against ``powered``, and the command as a user meets it."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checking import make_study
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import chi2, multivariate_normal

from deconfound.cli import main
from deconfound.design import FloatArray
from deconfound.errors import DataError, EvidenceError, UsageError
from deconfound.linalg import one_blas_thread
from deconfound.plan import Evidence, History, Numbers, Pilot, Plan, from_pilot, load_history, plan
from deconfound.plan.allocation import LEAST_SHARE, by_contest, by_spread, dealt, rows_needed
from deconfound.plan.beliefs import believed, given_spread
from deconfound.plan.choosing import DRAWS, Chooser
from deconfound.plan.evidence import believable
from deconfound.plan.forecast import Forecast, Goal, typical
from deconfound.plan.history import BELIEVED, KEPT, Seen, from_seen
from deconfound.plan.telling import text
from deconfound.plan.widths import choice_cost, half_widths, widths
from deconfound.value import powered
from deconfound.value.own import DISCOUNT, PRIOR_FREEDOM, Shares, moderated
from deconfound.value.power import COMMON

Z = float(ndtri(0.975))


def evidence(
    row: tuple[float, ...] = (0.04, 0.04),
    mean: tuple[float, ...] = (0.6, 0.5),
    context: float = 0.0,
    doubt: float = 0.0,
) -> Evidence:
    """Models with given variances of a row and values; ``context`` on the diagonal is what the reward explains."""
    count = len(row)
    return Evidence(
        models=tuple("abcdefgh"[:count]),
        outcome=np.array(row) + context,
        row=np.array(row),
        context=context * np.eye(count),
        excess=np.zeros(count),
        independent=np.ones(count),
        mean=np.array(mean),
        doubt=doubt * np.eye(count),
        variance_range=(0.8, 1.25),
        source="numbers",
    )


# --- widths ---


def test_with_many_rows_a_width_is_the_textbook_one():
    """2 z sqrt(row / n_a + context / (n + elsewhere)); corrections of 100,000 rows are below 1e-4."""
    known, rows = evidence((0.04, 0.09), context=0.02), np.array([1e5, 2e5])
    wanted = 2 * Z * np.sqrt(known.row / rows + 0.02 / (3e5 + 5e4))
    assert widths(known, rows, elsewhere=50_000) == pytest.approx(wanted, rel=1e-4)


def test_a_handful_of_rows_is_corrected_as_the_estimator_does_it():
    """Loops over models: moderation, degrees of freedom, t quantile, and the median of a skewed variance."""
    known, rows = evidence((0.04, 0.09, 0.01), (0.5, 0.5, 0.5)), [5, 8, 4]
    freedom = [n - 1 for n in rows]
    total = sum(freedom)
    shared = sum(f * v for f, v in zip(freedom, known.row, strict=True)) / total
    for a, n in enumerate(rows):
        prior = min(PRIOR_FREEDOM, total - freedom[a])
        wanted = (prior * shared + freedom[a] * known.row[a]) / (prior + freedom[a])
        parts = [prior * freedom[b] / total / (prior + freedom[a]) * known.row[b] for b in range(3)]
        parts[a] += freedom[a] / (prior + freedom[a]) * known.row[a]
        effective = sum(parts) ** 2 / sum(p**2 / f for p, f in zip(parts, freedom, strict=True))
        middle = wanted / n * (1 - 2 / 9 / effective) ** 3
        half = stdtrit(freedom[a] + DISCOUNT * prior, 0.975) * np.sqrt(middle)
        found = half_widths(known, np.array(rows, dtype=float), 0, 0.95, helped=False)
        assert found[a] == pytest.approx(half, rel=1e-12)


def test_choosing_the_power_costs_what_the_estimator_charges():
    """The same numbers through ``best_power``: its second result depends on the rows alone."""
    rng = np.random.default_rng(0)
    model = np.repeat([0, 1, 2], [6, 12, 40])
    q = rng.random((58, 3))
    fit = q[np.arange(58), model]
    from deconfound.value.power import _parts, _shares, best_power

    ones = np.ones(58)
    shares = _shares("abc", model, None, None, ones)
    parts = _parts(shares, ones, 0.5 * fit + 0.2 * rng.random(58), fit, q, q[:0])
    assert choice_cost(np.array([5.0, 11.0, 39.0])) == pytest.approx(best_power(parts)[1], rel=1e-12)
    assert COMMON > 0


def test_a_model_with_one_row_has_the_whole_range_as_its_interval():
    found = widths(evidence(), np.array([1.0, 50.0]))
    assert found[0] == 1.0
    assert found[1] < 0.2


def test_a_reward_that_does_not_pay_for_itself_is_left_out():
    """One hundredth explained is less than the choice costs with five rows."""
    known = evidence((0.0396, 0.0396), context=0.0004)
    rows = np.array([5.0, 5.0])
    alone = evidence((0.04, 0.04))
    assert widths(known, rows) == pytest.approx(widths(alone, rows), rel=1e-12)
    assert (widths(known, 1000 * rows) < widths(alone, 1000 * rows)).all()


def test_intervals_are_cut_where_values_end():
    """A value of 0.99 leaves the upper half of its interval no room."""
    middle, edge = (widths(evidence(mean=(m, m)), np.array([20.0, 20.0]))[0] for m in (0.5, 0.99))
    assert edge == pytest.approx(middle / 2 + 0.01, abs=0.01)


def test_contexts_elsewhere_only_help_and_only_a_reward():
    rows = np.array([30.0, 30.0])
    assert (widths(evidence(context=0.04), rows, 5000) < widths(evidence(context=0.04), rows)).all()
    assert (widths(evidence(), rows, 5000) == widths(evidence(), rows)).all()


# --- choosing ---


def test_two_models_are_told_apart_as_the_normal_law_says():
    """P = Phi(gap / error of the difference), regret = gap (1 - P); 10,000 draws are off by 0.016 at four errors."""
    known = evidence((0.01, 0.01), (0.6, 0.5))
    rows = np.array([2.0, 2.0])  # so few that it matters how many each model happens to get
    drawn = (1 + (1 - rows / 4) / rows) / rows
    chance = ndtr(0.1 / np.sqrt((known.row * drawn).sum()))
    chooser = Chooser.of(known)
    four = 4 * np.sqrt(chance * (1 - chance) / DRAWS)
    assert chooser.best(rows) == pytest.approx(chance, abs=four)
    assert chooser.regret(rows) == pytest.approx(0.1 * (1 - chance), abs=0.1 * four)
    assert chooser.best(rows, within=0.1) == 1.0
    tight = Chooser.of(evidence((0.01, 0.01), (0.55, 0.5)))  # 0.55 - 0.5 is above 0.05 in floating point
    assert tight.best(rows, within=0.05) == 1.0


def test_luck_that_all_models_share_costs_no_choice():
    """One context luck for both cancels in the difference."""
    rows = np.array([20.0, 20.0])
    apart = evidence((0.02, 0.02), (0.52, 0.5))
    shared = replace(apart, context=np.full((2, 2), 0.2))
    single = replace(apart, context=np.diag([0.2, 0.2]))
    plain = Chooser.of(apart).best(rows)
    assert Chooser.of(shared).best(rows) == pytest.approx(plain, abs=0.001)
    assert Chooser.of(single).best(rows) < plain - 0.02


def test_more_rows_choose_better():
    made = plan(Numbers(8, 0.4))
    steps = [line.expected for line in made.table()]
    for name in ("typical", "regret"):
        found = [getattr(step, name) for step in steps]
        assert found == sorted(found, reverse=True)
    best = [step.best for step in steps]
    assert best == sorted(best)
    assert best[0] < 0.4
    assert best[-1] > 0.85


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


# --- allocation and search ---


def forecast(known: Evidence) -> Forecast:
    return Forecast.of(known, 0.95, 0, 0.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.floats(0.05, 0.5), st.floats(0.0, 0.9), st.floats(0.03, 0.6))
def test_the_rows_found_do_and_fewer_do_not(models, spread, explained, wish):
    made = forecast(Numbers(models, spread, explained).evidence())
    goal, share = Goal("width", wish), np.full(models, 1 / models)
    rows = rows_needed(made, goal, share)
    assert rows is not None
    assert goal.met(made, rows)
    fewer = rows - 1
    assert (fewer < 2).any() or not goal.met(made, fewer)


def test_rows_by_spread_are_within_a_few_percent_of_the_best_allocation():
    """Brute force over shares of two models whose standard deviations are as 1 to 4.

    Neyman's shares are 0.2 and 0.8; kept from the edge they may need 3 % more rows than the best.
    """
    made, goal = forecast(evidence((0.01, 0.16), (0.5, 0.5))), Goal("width", 0.05)
    share = by_spread(made.evidence)
    assert share == pytest.approx(
        [0.2 * (1 - LEAST_SHARE) + LEAST_SHARE / 2, 0.8 * (1 - LEAST_SHARE) + LEAST_SHARE / 2]
    )
    needed = [rows_needed(made, goal, np.array([s, 1 - s])) for s in np.linspace(0.05, 0.95, 37)]
    least = min(float(rows.sum()) for rows in needed if rows is not None)
    found = rows_needed(made, goal, share)
    assert found is not None
    assert found.sum() <= 1.03 * least
    even = rows_needed(made, goal, np.array([0.5, 0.5]))
    assert even is not None
    assert found.sum() < 0.8 * even.sum()


def test_contenders_get_the_rows_and_stragglers_do_not():
    """OCBA by hand for three models without doubt: variance over 0.05^2 and 0.3^2 for the others."""
    known = evidence((0.04, 0.06, 0.09), (0.7, 0.65, 0.4))
    ratio = np.array([0.0, 0.06 / 0.0025, 0.09 / 0.09])
    ratio[0] = np.sqrt(0.04 * (ratio[1] ** 2 / 0.06 + ratio[2] ** 2 / 0.09))
    wanted = LEAST_SHARE / 3 + (1 - LEAST_SHARE) * ratio / ratio.sum()
    assert by_contest(known) == pytest.approx(wanted)
    answer = plan(known).rows_for(best=0.9, allocation="fewest")
    assert answer.saved > 0.2
    assert answer.propensity.sum() == pytest.approx(1.0)
    assert answer.expected.best >= 0.9


def test_equal_models_are_drawn_equally():
    answer = plan(Numbers(4, 0.4)).rows_for(width=0.2, allocation="fewest")
    assert (answer.propensity == 0.25).all()
    assert answer.saved == 0.0
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low < answer.expected.total < answer.high


def test_dealt_rows_are_whole_and_never_fewer_than_two():
    found = dealt(np.array([0.01, 0.33, 0.66]), 100)
    assert found.tolist() == [2, 33, 66]


@pytest.mark.parametrize(
    ("wish", "error", "words"),
    [
        ({"width": 0.0}, UsageError, "--width must lie strictly between"),
        ({"width": float("nan")}, UsageError, "--width must lie strictly between"),
        ({"best": 1.0}, UsageError, "--best must lie strictly between"),
        ({"width": 1e-5}, EvidenceError, "more than 1,000,000 rows"),
        ({"best": 0.9999}, EvidenceError, "more than 1,000,000 rows"),
        ({"regret": 1e-9}, EvidenceError, "more than 1,000,000 rows"),
        ({}, UsageError, "one goal"),
        ({"width": 0.1, "best": 0.9}, UsageError, "one goal"),
        ({"width": 0.1, "allocation": "fair"}, UsageError, "allocation must be"),
    ],
)
def test_wishes_that_cannot_be_met_say_so(wish, error, words):
    with pytest.raises(error, match=words):
        plan(Numbers(4, 0.4)).rows_for(**wish)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((1, 0.4), "at least 2"),
        ((8, 0.0), "--spread"),
        ((8, 0.6), "--spread"),
        ((8, float("nan")), "--spread"),
        ((8, 0.4, 1.0), "--explained"),
        ((8, 0.4, 0.0, 0.0), "--gap"),
    ],
)
def test_numbers_that_no_outcome_has_are_refused(numbers, words):
    with pytest.raises(UsageError, match=words):
        Numbers(*numbers)


@pytest.mark.parametrize("wrong", [{"level": 95}, {"elsewhere": -1}, {"within": 1.0}, {"seed": -1}])
def test_plans_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError):
        plan(Numbers(4, 0.4), **wrong)


@pytest.mark.parametrize("rows", [0, float("nan"), float("inf"), np.array([5.0, 0.0, 5.0, 5.0])])
def test_no_rows_are_no_experiment(rows):
    with pytest.raises(UsageError, match="at least one row"):
        plan(Numbers(4, 0.4)).at(rows)


# --- evidence from data ---


def simulated(rows: int, seed: int = 0, noise: float = 0.2) -> Pilot:
    """Three models; the reward is exact up to noise of a known size. Residual sd ``noise``, reward sd 0.1."""
    rng = np.random.default_rng(seed)
    q = 0.5 + 0.1 * rng.choice([-1.0, 1.0], (rows, 3)) + np.array([0.0, 0.05, 0.1])
    model = rng.integers(0, 3, rows)
    prediction = q[np.arange(rows), model]
    return Pilot(q, model, prediction + noise * rng.choice([-1.0, 1.0], rows), prediction)


def test_a_pilot_tells_what_the_reward_leaves():
    """10,000 rows a model know a variance to 1.5 %."""
    known = from_pilot("abc", simulated(30_000))
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
    known = from_pilot("abc", Pilot(q, model, outcome, prediction))
    assert np.diag(known.context) == pytest.approx(np.full(3, 0.03), rel=0.05)


def test_uneven_weights_leave_fewer_rows():
    """Rows count by their weights 1 / propensity: (sum w^2)^2 / sum w^4 of them, model by model."""
    pilot = simulated(60, seed=5)
    propensity = np.random.default_rng(5).uniform(0.1, 0.9, 60)
    known = from_pilot("abc", replace(pilot, propensity=propensity))
    for a in range(3):
        weight = 1 / propensity[pilot.model == a]
        assert known.independent[a] == pytest.approx((weight**2).sum() ** 2 / (weight**4).sum() / len(weight))


def test_a_small_pilot_pays_for_the_power_it_chose():
    """The moderated variance of the residuals at the chosen power, times the charge of ``best_power``."""
    pilot = simulated(45, seed=6, noise=0.05)
    power = powered("abc", pilot.q, pilot.model, pilot.outcome, pilot.prediction).power
    assert power is not None
    shares = Shares.of(pilot.model, 3, np.ones(45), None)
    own = moderated(shares, shares.influence(pilot.outcome) - power * shares.influence(pilot.prediction), still=False)
    free = ((own.influence**2).sum(axis=0) + own.extra) / shares.size
    assert from_pilot("abc", pilot).row == pytest.approx(free * choice_cost(shares.freedom))
    assert (choice_cost(shares.freedom) > 1.01).all()


def test_no_variance_is_thought_possible_that_no_outcome_has():
    """Four degrees of freedom leave a factor of 3.8 at 90 %, and 0.2 may grow to 0.25 only."""
    assert believable(4, 0.2)[1] == pytest.approx(1.25)
    assert believable(4, 0.01)[1] == pytest.approx(4 / chi2.ppf(0.1, 4))
    assert believable(4, 0.01)[0] == pytest.approx(4 / chi2.ppf(0.9, 4))


def test_rows_that_share_a_user_count_for_less():
    """Every row twice under one user: half as many independent rows, twice the variance of one."""
    once = simulated(3_000)
    both = np.repeat(np.arange(3_000), 2)
    twice = Pilot(once.q[both], once.model[both], once.outcome[both], once.prediction[both], None, both)
    known, plain = from_pilot("abc", twice), from_pilot("abc", once)
    assert known.independent == pytest.approx(np.full(3, 0.5), rel=0.01)
    assert known.row == pytest.approx(2 * plain.row, rel=0.03)


def test_the_same_rows_planned_have_the_width_they_had():
    """A pilot planned at its own size gives back its own intervals, but for the median of 40 skewed rows."""
    pilot = simulated(120, seed=3)
    values = powered("abc", pilot.q, pilot.model, pilot.outcome, pilot.prediction)
    known = from_pilot("abc", pilot)
    rows = np.bincount(pilot.model).astype(float)
    interval = values.interval()
    assert typical(widths(known, rows)) == pytest.approx(typical(interval[:, 1] - interval[:, 0]), rel=0.06)


def test_five_rows_a_model_are_enough_to_plan_and_are_said_to_be_few():
    known = from_pilot("abc", simulated(15, seed=1))
    assert known.findings[0].check == "thin pilot"
    low, high = known.variance_range
    assert low < 0.8
    assert high > 1.3


def test_a_model_without_pilot_rows_is_taken_to_vary_like_the_others():
    pilot = simulated(40)
    other = np.where(pilot.model == 2, 1, pilot.model)
    known = from_pilot("abc", replace(pilot, model=other, prediction=pilot.q[np.arange(40), other]))
    assert known.row[:2].min() <= known.row[2] <= known.row[:2].max()
    assert np.isfinite(plan(known).at(20).width).all()


def test_outcomes_that_never_vary_cannot_be_planned_from():
    pilot = simulated(30)
    with pytest.raises(EvidenceError, match="no spread to plan from"):
        from_pilot("abc", replace(pilot, outcome=np.ones(30)))
    with pytest.raises(EvidenceError, match="no spread to plan from"):
        from_seen(("a", "b"), Seen(np.array([0, 1] * 5), np.ones(10), np.ones(10), np.ones((3, 2))))


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


# --- plans come true ---


@pytest.fixture(scope="module")
def benchmark_plan() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "plan.py"
    spec = importlib.util.spec_from_file_location("benchmark_plan", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmark_plan"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("rows", "models", "reward", "yes_no", "uneven"),
    [(5, 4, "good", False, False), (5, 8, "useless", True, True), (20, 2, "good", True, True)],
)
def test_planned_widths_come_true(benchmark_plan, monkeypatch, rows, models, reward, yes_no, uneven):
    """Median widths of 60 studies within 15 %; the median of so many is known to 3 %, and the formulas to 5 %.

    The chance to choose the best is a count of 60: four standard errors, and two points for the formula.
    """
    monkeypatch.setattr(benchmark_plan, "PILOTS", 1)
    monkeypatch.setattr(benchmark_plan, "POPULATION", 3_000)
    with one_blas_thread():
        row = benchmark_plan.compare(benchmark_plan.Cell(rows, models, reward, yes_no, uneven), 60, seed=1)
    assert row.typical == pytest.approx(1.0, abs=0.15)
    chance = row.best_planned
    assert row.best_realised == pytest.approx(chance, abs=0.02 + 4 * np.sqrt(chance * (1 - chance) / 60))


@pytest.mark.slow
def test_planned_widths_come_true_everywhere(benchmark_plan):
    """The whole grid; the command's exit code is its verdict."""
    assert benchmark_plan.main(["--studies", "100"]) == 0


# --- the command ---


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder, study = tmp_path_factory.mktemp("plan"), make_study(seed=4)
    paths = {}
    for table in (study.log, study.experiment, study.replay):
        paths[table.role] = str(folder / f"{table.role}.parquet")
        pq.write_table(table.table, paths[table.role])
    return paths


def words(files: dict[str, str], *roles: str) -> list[str]:
    return ["plan", "-q", *(word for role in roles for word in (f"--{role}", files[role]))]


def test_the_answer_comes_first_then_the_table(capsys):
    assert main(["plan", "--models", "8", "--spread", "0.4", "--width", "0.1", "-q"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = plan(Numbers(8, 0.4)).rows_for(width=0.1).expected
    assert lines[0].startswith(
        f"To get intervals of ±0.05 (95 %) you need {rows.total:,} rows: {rows.rows[0]:.0f} a model."
    )
    assert lines[2].split() == ["rows", "a", "model", "rows", "in", "all", "width", "best", "regret"]
    assert [line.split()[0] for line in lines[3:11]] == ["5", "10", "20", "50", "100", "200", "500", "1,000"]
    assert "#####" in out
    assert err == ""


@pytest.mark.parametrize("roles", [("log", "replay"), ("log", "replay", "experiment")])
def test_json_has_every_number_and_repeats_itself(files, roles, capsys):
    command = [*words(files, *roles), "--best", "0.8", "--regret", "0.05", "--allocation", "fewest", "--json"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert main(command) == 0
    assert capsys.readouterr().out == first
    found = json.loads(first)
    assert found["evidence"]["source"] == ("pilot" if "experiment" in roles else "log")
    assert found["within"] == 0.05
    assert len(found["table"]) == 8
    assert found["answers"][0]["expected"]["best"] >= 0.8
    assert sum(found["answers"][0]["propensity"]) == pytest.approx(1.0)


def test_without_a_pilot_the_plan_says_how_it_discounts(files, capsys):
    assert main(words(files, "log", "replay")) == 0
    out = capsys.readouterr().out
    assert "without any randomized row" in out
    assert "50% is expected to last" in out


@pytest.mark.parametrize(("name", "starts"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.json", b"{")])
def test_the_curve_goes_where_it_is_told(tmp_path, name, starts, capsys):
    command = ["plan", "--models", "4", "--spread", "0.3", "-q", "-o", str(tmp_path / name)]
    assert main(command) == 0
    first = (tmp_path / name).read_bytes()
    assert first.startswith(starts)
    assert main(command) == 0
    assert (tmp_path / name).read_bytes() == first
    assert "rows a model" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        ([], 2, "--models N and --spread S"),
        (["--models", "8"], 2, "--models N and --spread S"),
        (["--models", "a,b", "--spread", "0.4"], 2, "how many there are"),
        (["--models", "1", "--spread", "0.4"], 2, "takes two models"),
        (["--models", "8", "--spread", "0.4", "--width", "0"], 2, "--width must lie"),
        (["--models", "8", "--spread", "0.4", "--width", "0.00001"], 4, "1,000,000 rows"),
        (["--models", "8", "--spread", "0.4", "-o", "a.pdf"], 2, "-o takes"),
        (["--log", "none.csv"], 2, "--replay is missing"),
        (["--log", "none.csv", "--replay", "no.csv"], 1, "none.csv"),
        (["--log", "none.csv", "--replay", "no.csv", "--spread", "0.4"], 2, "for plans without data"),
    ],
)
def test_bad_usage_ends_with_its_code(more, code, message, capsys):
    assert main(["plan", "-q", *more]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def tables(outcomes: list[float]) -> dict[str, pa.Table]:
    logged = [
        {"context": f"case {i}", "model": "ant" if i % 2 else "bee", "output": f"word {i}", "outcome": y}
        for i, y in enumerate(outcomes)
    ]
    replayed = [{"context": "new", "model": name, "output": name} for name in ("ant", "bee")]
    return {"log": pa.Table.from_pylist(logged), "replay": pa.Table.from_pylist(replayed)}


def test_a_short_log_makes_a_plan_with_a_wide_range_and_three_rows_do_not():
    """Two rows that happen to be alike would promise an experiment of a dozen rows."""
    short = plan(load_history(**tables([0.0, 1.0, 0.5, 0.25, 0.7, 0.1, 0.9, 0.3, 0.6, 0.2, 0.8, 0.4])))
    assert np.isfinite(short.at(20).width).all()
    assert short.evidence.variance_range[0] < 1 / 1.5
    for few in ([0.0, 1.0, 1.0], [1.0] * 40):
        with pytest.raises(EvidenceError, match="no spread to plan from"):
            plan(load_history(**tables(few)))


def test_a_pilot_of_three_rows_ends_with_code_4(files, tmp_path, capsys):
    pq.write_table(pq.read_table(files["experiment"]).slice(0, 3), tmp_path / "few.parquet")
    command = words({**files, "experiment": str(tmp_path / "few.parquet")}, "log", "replay", "experiment")
    assert main(command) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "few.parquet: 3 rows of 3 models show no spread" in err


def test_whatever_is_wrong_with_the_tables_is_told():
    found = tables([0.0, 1.0, 1.0])
    with pytest.raises(DataError, match="only ant"):
        load_history(log=found["log"], replay=found["replay"].slice(0, 1))
    with pytest.raises(DataError, match="outside"):
        load_history(log=tables([0.0, 5.0])["log"], replay=found["replay"])
    assert isinstance(
        load_history(log=tables([0.0, 5.0])["log"], replay=found["replay"], outcome_range=(0, 5)), History
    )


def test_names_cannot_steer_the_terminal():
    """Rows, propensities and the widest model are all told by name."""
    hostile = replace(evidence((0.01, 0.16), (0.5, 0.5)), models=("\x1b[31mant", "\x1b[32mbee"))
    made = plan(hostile)
    told = text(
        made, [made.rows_for(width=0.05, allocation=way) for way in ("equal", "fewest")], made.table(), curve=True
    )
    assert told.count("\\x1b[32mbee") == 4  # the widest twice, its rows, its propensity
    assert "\x1b" not in told


def rows_of(made: Plan) -> FloatArray:
    return made.rows_for(width=0.2).expected.rows


def test_a_study_with_a_pilot_and_its_log_alone_plan_alike_when_nothing_confounds():
    """The studies of ``checking`` have no confounding; a factor of three is what the log's stated range leaves."""
    study = make_study(seed=4)
    piloted, logged = plan(study), plan(History(study.log, study.replay, study.models))
    ratio = rows_of(piloted).sum() / rows_of(logged).sum()
    assert 1 / 3 < ratio < 3

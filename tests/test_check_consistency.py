"""A3: scale, coding, direction and drift of the outcomes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from deconfound.diagnose.consistency import (
    ALLOWANCE,
    carried,
    coarse,
    coding,
    consistency,
    direction,
    missed_share,
    values_p_value,
)
from deconfound.diagnose.drift import drift, drift_p_value
from deconfound.diagnose.matching import matches, matching
from deconfound.diagnose.signs import level_p_value, signs
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from tests.support.checking import each, every, make_study


def test_a_yes_or_no_beside_five_stars_fails():
    def stars(rows):
        for row in rows:
            row["outcome"] = round(row["outcome"] * 4) / 4

    def yes_or_no(rows):
        for row in rows:
            row["outcome"] = float(row["outcome"] > 0.5)

    assert coding(make_study(log=stars, experiment=stars), 0.95).verdict == "pass"
    finding = coding(make_study(log=stars, experiment=yes_or_no), 0.95)
    assert finding.verdict == "fail"
    assert "experiment: 0 and 1" in finding.message


def test_another_range_fails():
    finding = coding(make_study(rows=200, experiment=each(lambda _, row: row.update(outcome=row["outcome"] / 5))), 0.95)
    assert finding.verdict == "fail"


def test_what_a_source_misses_is_counted_by_value_or_by_range():
    two, five = np.array([0.0, 1.0] * 20), np.array([0.0, 0.25, 0.5, 0.75, 1.0] * 20)
    fine = np.linspace(0.2, 0.6, 50)
    assert coarse(two)
    assert not coarse(fine)
    assert missed_share(two, five) == pytest.approx(0.6)
    assert missed_share(five, two) == 0.0
    assert missed_share(fine, five) == pytest.approx(0.6)  # 0, 0.75 and 1 lie outside


def test_the_chance_of_missing_values_is_the_binomial_one():
    """Of 40 rows none falls where the other has 60 of 100, at its lower limit and ``ALLOWANCE`` times rarer."""
    two, five = np.array([0.0, 1.0] * 20), np.array([0.0, 0.25, 0.5, 0.75, 1.0] * 20)
    lower = stats.binomtest(60, 100).proportion_ci(1 - 2e-4, "exact").low
    assert values_p_value(two, five) == pytest.approx(2 * (1 - lower / ALLOWANCE) ** 40 + 1e-4)
    assert values_p_value(five, five) == 1.0


def test_signs_are_counted_as_by_all_permutations():
    """Naive twin: five rows of one model have 120 orders; 1,999 draws stray by 0.011 (one standard error) at most."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(5), rng.standard_normal(5)
    sums = np.array([x @ y[list(order)] for order in itertools.permutations(range(5))])
    centred = (x - x.mean()) @ (y - y.mean())
    low = np.mean(sums - x.sum() * y.mean() <= centred + 1e-12)
    found_low, found_high, slope = signs(x, y, np.zeros(5, dtype=int), np.arange(5), 0)
    assert found_low == pytest.approx(low, abs=0.05)
    assert found_low + found_high >= 1.0
    assert slope == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_the_level_is_judged_as_by_all_sign_flips():
    difference, cluster = np.array([0.3, 0.1, 0.2, -0.1, 0.4, 0.2]), np.array([0, 0, 1, 2, 3, 4])
    totals = np.bincount(cluster, weights=difference)
    sums = [abs(np.dot(signs, totals)) for signs in itertools.product((1, -1), repeat=5)]
    exact = np.mean(np.array(sums) >= abs(totals.sum()) - 1e-12)
    p, mean = level_p_value(difference, cluster, 0)
    assert p == pytest.approx(exact, abs=0.05)
    assert mean == pytest.approx(difference.mean())


def test_a_constant_has_no_direction():
    ones, model, cluster = np.ones(12), np.zeros(12, dtype=int), np.arange(12)
    assert signs(ones, np.arange(12.0), model, cluster, 0) == (1.0, 1.0, 0.0)
    assert drift_p_value(ones, np.arange(12.0), model, cluster, 0) == 1.0


def test_a_reward_is_carried_over_by_what_holds_within_models():
    """Between models the sign is reversed, as by confounding; within them it is what both sources share."""
    rng = np.random.default_rng(0)
    model = rng.integers(3, size=400)
    features = rng.standard_normal((400, 2)) + 3.0 * model[:, None]
    outcome = features[:, 0] - 6.0 * model
    coef = carried(features, outcome, model, np.eye(2))
    assert coef == pytest.approx([1.0, 0.0], abs=0.05)


def directed(study):
    return direction(study, StudyArrays.from_study(study, FeatureSpec()), 0, 0.95)


def test_a_log_that_is_coded_the_other_way_round_is_seen():
    """Outcomes grow with the number of words; in the violation the log has 0 for the best."""
    assert directed(make_study()).verdict == "pass"
    finding = directed(make_study(log=each(lambda _, row: row.update(outcome=1.0 - row["outcome"]))))
    assert finding.verdict == "warn"
    assert "the other way round" in finding.message


def test_a_log_that_says_nothing_leaves_the_direction_open():
    rng = np.random.default_rng(0)
    finding = directed(make_study(log=each(lambda _, row: row.update(outcome=float(rng.random())))))
    assert finding.verdict == "cannot tell"


def shared(change):
    """A log whose first rows are the experiment's outputs, judged again."""
    kept = []
    make_study(experiment=lambda rows: kept.extend(dict(row) for row in rows))

    def put(rows):
        for row, same in zip(rows, kept, strict=False):
            row.update({name: same[name] for name in ("context_id", "context", "model", "output")})
            row["outcome"] = change(same["outcome"])

    return put


def test_matching_outputs_show_inverted_outcomes_and_another_level():
    alike, level = matching(make_study(log=shared(lambda y: 0.9 * y + 0.05)), 0, 0.95)
    assert (alike.check, alike.verdict) == ("matching outputs", "pass")
    assert level.check == "matching level"
    inverted, _ = matching(make_study(log=shared(lambda y: 1.0 - y)), 0, 0.95)
    assert inverted.verdict == "warn"
    assert "90 rows that share context and output" in inverted.message
    _, lower = matching(make_study(log=shared(lambda y: 0.8 * y)), 0, 0.95)
    assert lower.verdict == "warn"
    assert "Confounding alone can do this" in lower.message


def test_a_log_that_shares_nothing_cannot_be_compared():
    (finding,) = matching(make_study(), 0, 0.95)
    assert finding.verdict == "cannot tell"


def test_where_outputs_never_recur_the_same_context_and_model_are_compared():
    put = shared(lambda y: y)

    def reworded(rows):
        put(rows)
        for row in rows:
            row["output"] += " indeed"

    found = matches(make_study(log=reworded))
    assert found is not None
    assert found.what == "context and model"
    assert len(found.log) == 90
    assert found.log == pytest.approx(found.experiment)


def test_repeated_rows_of_the_log_are_averaged():
    def twice(rows):
        shared(lambda y: 0.5 * y)(rows)
        rows.extend({**row, "outcome": row["outcome"] + 0.2} for row in rows[:90])

    found = matches(make_study(log=twice))
    assert found is not None
    assert found.log == pytest.approx(0.5 * found.experiment + 0.1)


def test_outcomes_that_rise_over_time_are_seen_in_either_source():
    def rising(rows):
        for at, row in enumerate(rows):
            row.update(time=at, outcome=0.7 * row["outcome"] + 0.3 * at / len(rows))

    for study, table in (
        (make_study(log=rising), "log"),
        (make_study(experiment=rising), "experiment"),
    ):
        finding = drift(getattr(study, table), 0, 0.95)
        assert finding.verdict == "warn"
        assert finding.check == f"outcome over time ({table})"
    assert drift(make_study().experiment, 0, 0.95).verdict == "pass"
    assert drift(make_study().log, 0, 0.95).verdict == "cannot tell"


def test_a_changing_mix_of_models_is_no_drift():
    """Better models come later: outcomes rise, but not within any model."""
    rng = np.random.default_rng(0)
    model = np.repeat(np.arange(3), 60)
    outcome = 0.2 * model + 0.1 * rng.random(180)
    assert drift_p_value(outcome, np.arange(180.0), model, np.arange(180), 0) > 0.05
    assert drift_p_value(outcome, np.arange(180.0), np.zeros(180, dtype=int), np.arange(180), 0) < 0.001


def test_sessions_are_not_taken_for_independent_rows():
    """Ten rows a session share a mood and a time: row by row that looks like a drift in most studies, and is none.

    Twelve seeds; at 5 % more than three alarms have probability 0.002, and row by row there are at least eight.
    """
    alarms = {"sessions": 0, "rows": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        session = np.repeat(np.arange(40), 10)
        outcome = rng.standard_normal(40)[session] + 0.1 * rng.standard_normal(400)
        time, model = rng.random(40)[session], np.zeros(400, dtype=int)
        alarms["sessions"] += drift_p_value(outcome, time, model, session, seed) < 0.05
        alarms["rows"] += drift_p_value(outcome, time, model, np.arange(400), seed) < 0.05
    assert alarms["sessions"] <= 3
    assert alarms["rows"] >= 8


@pytest.mark.parametrize("rows", [2, 4])
def test_a_few_rows_or_constant_outcomes_end_in_findings(rows):
    for study in (make_study(rows=rows), make_study(rows=rows, log=every(outcome=1), experiment=every(outcome=1))):
        found = consistency(study, StudyArrays.from_study(study, FeatureSpec()))
        assert {finding.assumption for finding in found} == {"A3"}
        assert {finding.verdict for finding in found} <= {"pass", "cannot tell"}

"""A3: scale, coding, direction and drift of the outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deconfound.diagnose.outcome_consistency import (
    MatchingLevel,
    MatchingOutputs,
    OutcomeDirection,
    OutcomeDrift,
    OutcomeValues,
    check_direction,
    check_drift,
    check_matching,
    check_outcome_consistency,
    check_values,
    drift_test,
    is_discrete,
    match_rows,
    share_outside_values,
    transferred_prediction,
    values_p_value,
)
from deconfound.diagnose.thresholds import MAX_CONFOUNDING_RATIO
from tests.support.checking import by_check, each, every, make_study, study_arrays

TWO, FIVE = np.array([0.0, 1.0] * 20), np.array([0.0, 0.25, 0.5, 0.75, 1.0] * 20)


def only(*results):
    """The finding of a check that is judged by itself."""
    (finding,) = by_check(results).values()
    return finding


# --- values ---


def test_yes_or_no_beside_five_stars_fails():
    def stars(rows):
        for row in rows:
            row["outcome"] = round(row["outcome"] * 4) / 4

    def yes_or_no(rows):
        for row in rows:
            row["outcome"] = float(row["outcome"] > 0.5)

    assert only(check_values(make_study(log=stars, experiment=stars))).verdict == "pass"
    finding = only(check_values(make_study(log=stars, experiment=yes_or_no)))
    assert finding.verdict == "fail"
    assert isinstance(finding.details, OutcomeValues)
    assert finding.details.experiment_scale == (0.0, 1.0)
    assert finding.details.log_values > 2
    assert finding.statistic > 0.3  # the log's share of values that the experiment never has


def test_another_range_fails():
    study = make_study(rows=200, experiment=each(lambda _, row: row.update(outcome=row["outcome"] / 5)))
    finding = only(check_values(study))
    assert finding.verdict == "fail"
    assert finding.details.experiment_range[1] <= 0.2


def test_missing_values_are_counted_by_value_or_by_range():
    continuous = np.linspace(0.2, 0.6, 50)
    assert is_discrete(TWO)
    assert not is_discrete(continuous)
    assert share_outside_values(TWO, FIVE) == pytest.approx(0.6)
    assert share_outside_values(FIVE, TWO) == 0.0
    assert share_outside_values(continuous, FIVE) == pytest.approx(0.6)  # 0, 0.75 and 1 lie outside


def test_the_p_value_of_missing_values_is_binomial():
    """Of 40 rows none has a value that 60 of 100 have, at the lower limit and ``MAX_CONFOUNDING_RATIO`` times rarer."""
    lower = stats.binomtest(60, 100).proportion_ci(1 - 2e-4, "exact").low
    assert values_p_value(TWO, FIVE) == pytest.approx(2 * (1 - lower / MAX_CONFOUNDING_RATIO) ** 40 + 1e-4)
    assert values_p_value(FIVE, FIVE) == 1.0


# --- direction ---


def direction(study):
    return only(check_direction(study, study_arrays(study), 0, 0.95))


def test_a_reward_is_transferred_by_its_within_model_part():
    """Between models the sign is reversed, as by confounding; within them it is what both sources share."""
    rng = np.random.default_rng(0)
    model = rng.integers(3, size=400)
    features = rng.standard_normal((400, 2)) + 3.0 * model[:, None]
    outcome = features[:, 0] - 6.0 * model
    assert transferred_prediction(features, outcome, model, np.eye(2)) == pytest.approx([1.0, 0.0], abs=0.05)


def test_an_inverted_log_is_detected():
    """Outcomes grow with the number of words; in the violation the log has 0 for the best."""
    clean = direction(make_study())
    assert clean.verdict == "pass"
    assert clean.details.confirmed
    finding = direction(make_study(log=each(lambda _, row: row.update(outcome=1.0 - row["outcome"]))))
    assert finding.verdict == "warn"
    assert isinstance(finding.details, OutcomeDirection)
    assert finding.statistic == finding.details.correlation < -0.3


def test_a_log_without_information_leaves_the_direction_open():
    rng = np.random.default_rng(0)
    finding = direction(make_study(log=each(lambda _, row: row.update(outcome=float(rng.random())))))
    assert finding.verdict == "cannot tell"
    assert not finding.details.confirmed


# --- matching rows ---


def rerated(change):
    """A log whose first rows are the experiment's outputs, rated again."""
    experiment = []
    make_study(experiment=lambda rows: experiment.extend(dict(row) for row in rows))

    def put(rows):
        for row, same in zip(rows, experiment, strict=False):
            row.update({name: same[name] for name in ("context_id", "context", "model", "output")})
            row["outcome"] = change(same["outcome"])

    return put


def matching(study):
    return by_check(check_matching(study, 0, 0.95))


def test_matching_outputs_show_inverted_outcomes():
    agreeing = matching(make_study(log=rerated(lambda y: 0.9 * y + 0.05)))
    assert agreeing["matching outputs"].verdict == "pass"
    finding = matching(make_study(log=rerated(lambda y: 1.0 - y)))["matching outputs"]
    assert finding.verdict == "warn"
    assert finding.details == MatchingOutputs(90, "context and output", pytest.approx(-1.0))


def test_another_level_of_matching_outputs_is_reported_but_never_warns():
    """Confounding moves the level too, and violates no assumption."""
    finding = matching(make_study(log=rerated(lambda y: 0.8 * y)))["matching level"]
    assert finding.verdict == "cannot tell"
    assert isinstance(finding.details, MatchingLevel)
    assert finding.statistic == finding.details.difference > 0.05
    assert finding.p_value < 0.001
    assert finding.adjusted_p_value is None
    assert matching(make_study(log=rerated(lambda y: y)))["matching level"].verdict == "pass"


def test_a_log_without_shared_contexts_cannot_be_compared():
    assert matching(make_study())["matching outputs"].verdict == "cannot tell"


def test_where_outputs_never_recur_context_and_model_are_matched():
    put = rerated(lambda y: y)

    def reworded(rows):
        put(rows)
        for row in rows:
            row["output"] += " indeed"

    pairs = match_rows(make_study(log=reworded))
    assert pairs is not None
    assert pairs.matched_on == "context and model"
    assert len(pairs.log) == 90
    assert pairs.log == pytest.approx(pairs.experiment)


def test_repeated_rows_of_the_log_are_averaged():
    def twice(rows):
        rerated(lambda y: 0.5 * y)(rows)
        rows.extend({**row, "outcome": row["outcome"] + 0.2} for row in rows[:90])

    pairs = match_rows(make_study(log=twice))
    assert pairs is not None
    assert pairs.log == pytest.approx(0.5 * pairs.experiment + 0.1)


# --- drift ---


def test_outcomes_that_rise_over_time_are_detected_in_either_source():
    def rising(rows):
        for at, row in enumerate(rows):
            row.update(time=at, outcome=0.7 * row["outcome"] + 0.3 * at / len(rows))

    for study, role in ((make_study(log=rising), "log"), (make_study(experiment=rising), "experiment")):
        finding = only(check_drift(getattr(study, role), 0))
        assert finding.verdict == "warn"
        assert finding.check == f"outcome over time ({role})"
        assert isinstance(finding.details, OutcomeDrift)
        assert 0.05 < finding.details.mean_shift < 0.25
    assert only(check_drift(make_study().experiment, 0)).verdict == "pass"
    assert only(check_drift(make_study().log, 0)).verdict == "cannot tell"


def test_a_changing_mix_of_models_is_no_drift():
    """Better models come later: outcomes rise, but not within any model."""
    rng = np.random.default_rng(0)
    model = np.repeat(np.arange(3), 60)
    outcome = 0.2 * model + 0.1 * rng.random(180)
    assert drift_test(outcome, np.arange(180.0), model, np.arange(180), 0).p_value > 0.05
    assert drift_test(outcome, np.arange(180.0), np.zeros(180, dtype=int), np.arange(180), 0).p_value < 0.001


def test_constant_outcomes_do_not_drift():
    assert drift_test(np.ones(12), np.arange(12.0), np.zeros(12, dtype=int), np.arange(12), 0).p_value == 1.0


def test_rows_of_one_session_are_not_taken_as_independent():
    """Ten rows per session share a mood and a time: row by row that looks like a drift in most studies.

    Twelve seeds; at 5 % more than three alarms have probability 0.002, and row by row there are at least eight.
    """
    alarms = {"sessions": 0, "rows": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        session = np.repeat(np.arange(40), 10)
        outcome = rng.standard_normal(40)[session] + 0.1 * rng.standard_normal(400)
        time, model = rng.random(40)[session], np.zeros(400, dtype=int)
        alarms["sessions"] += drift_test(outcome, time, model, session, seed).p_value < 0.05
        alarms["rows"] += drift_test(outcome, time, model, np.arange(400), seed).p_value < 0.05
    assert alarms["sessions"] <= 3
    assert alarms["rows"] >= 8


@pytest.mark.parametrize("rows", [2, 4])
def test_a_few_rows_or_constant_outcomes_end_in_findings(rows):
    for study in (make_study(rows=rows), make_study(rows=rows, log=every(outcome=1), experiment=every(outcome=1))):
        checks = by_check(check_outcome_consistency(study, study_arrays(study), 0, 0.95))
        assert {finding.assumption for finding in checks.values()} == {"A3"}
        assert {finding.verdict for finding in checks.values()} <= {"pass", "cannot tell"}

"""A3: drift of the outcomes, with people and contexts that recur."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.checks_outcomes import over_time_uneven
from deconfound.diagnose.outcome_drift import OutcomeDrift, check_drift, drift_test
from tests.support.checking import by_check, make_study


def only(*results):
    """The finding of a check that is judged by itself."""
    (finding,) = by_check(results).values()
    return finding


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
    assert drift_test(outcome, np.arange(180.0), model, np.arange(180), np.arange(180), 0).p_value > 0.05
    assert (
        drift_test(outcome, np.arange(180.0), np.zeros(180, dtype=int), np.arange(180), np.arange(180), 0).p_value
        < 0.001
    )


def test_constant_outcomes_do_not_drift():
    assert (
        drift_test(np.ones(12), np.arange(12.0), np.zeros(12, dtype=int), np.arange(12), np.arange(12), 0).p_value
        == 1.0
    )


def test_rows_of_one_session_are_not_taken_as_independent():
    """Ten rows per session share a mood and a time: row by row that looks like a drift in most studies.

    Twelve seeds; at 5 % more than three alarms have probability 0.002, and row by row there are at least eight.
    """
    alarms = {"sessions": 0, "rows": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        session = np.repeat(np.arange(40), 10)
        outcome = rng.standard_normal(40)[session] + 0.1 * rng.standard_normal(400)
        time, model, rows = rng.random(40)[session], np.zeros(400, dtype=int), np.arange(400)
        alarms["sessions"] += drift_test(outcome, time, model, session, rows, seed).p_value < 0.05
        alarms["rows"] += drift_test(outcome, time, model, rows, rows, seed).p_value < 0.05
    assert alarms["sessions"] <= 3
    assert alarms["rows"] >= 8


@pytest.mark.parametrize("contexts", [0, 60])
def test_people_with_many_rows_and_contexts_that_recur_cause_no_false_alarms(contexts):
    """At 5 % more than 5 of 30 alarms have probability 0.003; with unweighted sums by person there are 7 or more."""
    p_values = [over_time_uneven(np.random.default_rng([22, i]), 0.0, 120, 720, contexts) for i in range(30)]
    assert np.sum(np.array(p_values) < 0.05) <= 5


def test_a_few_contexts_that_all_people_share_are_compared_within():
    """Five contexts of different difficulty follow each other: the outcomes of no context change."""
    rng = np.random.default_rng(0)
    time, person = np.arange(400.0), np.repeat(np.arange(100), 4)
    context = np.minimum(time // 100 + rng.integers(2, size=400), 4).astype(int)
    outcome = 0.2 * context + 0.1 * rng.random(400)
    assert drift_test(outcome, time, np.zeros(400, dtype=int), person, context, 0).p_value > 0.05
    assert drift_test(outcome, time, np.zeros(400, dtype=int), person, np.arange(400), 0).p_value < 0.001

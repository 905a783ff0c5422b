"""A3: scale, coding and direction of the outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deconfound.diagnose.outcome_consistency import (
    OutcomeDirection,
    OutcomeValues,
    check_direction,
    check_outcome_consistency,
    check_values,
    is_discrete,
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


def test_another_level_is_not_another_scale():
    """Half of the shifted outcomes are outside the range, and none after both have the same median."""
    outcome = np.linspace(0.3, 0.7, 101)
    assert share_outside_values(outcome, outcome - 0.2) == 0.0
    assert values_p_value(outcome, outcome - 0.2) == 1.0
    assert share_outside_values(outcome, 0.5 + 1.5 * (outcome - 0.5) - 0.2) == pytest.approx(1 / 3, abs=0.02)


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


@pytest.mark.parametrize("rows", [2, 4])
def test_a_few_rows_or_constant_outcomes_end_in_findings(rows):
    for study in (make_study(rows=rows), make_study(rows=rows, log=every(outcome=1), experiment=every(outcome=1))):
        checks = by_check(check_outcome_consistency(study, study_arrays(study), 0, 0.95))
        assert {finding.assumption for finding in checks.values()} == {"A3"}
        assert {finding.verdict for finding in checks.values()} <= {"pass", "cannot tell"}

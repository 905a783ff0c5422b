"""A1: assignments against exact distributions, naive re-implementations and planted violations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deconfound.diagnose.randomization import (
    Assignment,
    AssignmentDrift,
    SampleRatio,
    TooFewExpectedRows,
    check_randomization,
    check_sample_ratio,
    chi_square,
    expected_rows,
    one_row_per_cluster,
    read_assignment,
    sample_ratio_test,
    weighted_sample_ratio_test,
    within_cluster_repeat_p_value,
)
from tests.support.checking import MODELS, by_check, each, every, make_study


def assignment(model, propensity, names=MODELS):
    model = np.asarray(model)
    return Assignment(tuple(names), model, np.asarray(propensity, float), np.arange(len(model)), by_cluster=False)


def findings(study, level=0.95):
    return by_check(check_randomization(study, 0), level)


def p_value(assigned):
    return sample_ratio_test(assigned, 0)[1]


# --- the sample-ratio test ---


def test_counts_are_tested_as_by_the_exact_multinomial_distribution():
    """Two models and twelve rows: the p-value must be the binomial one up to Monte Carlo error.

    Exact: two-sided probability of counts as unequal as 10 to 2, 2 * P(X >= 10) = 0.0386. With 9,999 draws the
    standard error is 0.0019; five of them are allowed.
    """
    assigned = assignment([0] * 10 + [1] * 2, [0.5] * 12, ("ant", "bee"))
    statistic, p = sample_ratio_test(assigned, 0)
    assert p == pytest.approx(stats.binomtest(10, 12, 0.5).pvalue, abs=0.01)
    assert statistic == pytest.approx(stats.chisquare([10, 2]).statistic)
    assert chi_square(np.array([[10, 2]]), np.array([6.0, 6.0]))[0] == pytest.approx(statistic)


def test_a_declared_model_that_never_occurs_is_detected():
    """Declared thirds, and none of sixty rows has the third model."""
    assert p_value(assignment([0, 1] * 30, [1 / 3] * 60, ("ant", "bee"))) < 0.001
    assert p_value(assignment([0, 1] * 30, [1 / 3] * 60)) < 0.001
    assert p_value(assignment([0, 1] * 30, [0.5] * 60)) == 1.0


def test_the_weighted_score_is_the_binomial_score_where_propensities_are_equal():
    """With one propensity p per model, z is (count - n p) / sqrt(n p (1 - p))."""
    assigned = assignment([0] * 30 + [1] * 20, [0.4] * 30 + [0.6] * 20, ("ant", "bee"))
    z = (30 - 50 * 0.4) / np.sqrt(50 * 0.4 * 0.6)
    assert weighted_sample_ratio_test(assigned) == pytest.approx((z, min(1.0, 2 * 2 * stats.norm.sf(z))))
    assert expected_rows(assigned) == pytest.approx([20.0, 30.0])


def test_propensities_are_constant_or_vary():
    assert assignment([0, 1, 0, 1], [0.3, 0.7, 0.3, 0.7], ("ant", "bee")).shares == pytest.approx([0.3, 0.7])
    assert assignment([0, 1, 0, 1], [0.3, 0.7, 0.6, 0.4], ("ant", "bee")).shares is None
    assert assignment([0, 1], [0.9, 0.9], ("ant", "bee")).shares is None  # they sum to more than one
    printed = assignment([0, 1, 0, 1], [0.33, 0.33, 0.333, 0.333])
    assert printed.shares == pytest.approx([0.3315, 0.3315, 0.337], abs=1e-3)


def test_with_varying_propensities_few_expected_rows_are_not_tested():
    finding = check_sample_ratio(assignment([0] * 12 + [1] * 2, [0.9, 0.5] * 6 + [0.1, 0.5], ("ant", "bee")), 0)
    assert finding.verdict == "cannot tell"
    assert isinstance(finding.details, TooFewExpectedRows)


def test_an_assignment_by_cluster_is_detected_and_each_cluster_counts_once():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 3)
    by_person, by_row = rng.integers(3, size=40)[person], rng.integers(3, size=120)
    assert within_cluster_repeat_p_value(person, by_person, rng) < 0.01
    assert within_cluster_repeat_p_value(person, by_row, rng) > 0.01
    assert person[one_row_per_cluster(person, rng)].tolist() == list(range(40))
    study = make_study(experiment=each(lambda at, row: row.update(cluster=f"p{at // 3}", model=MODELS[by_person[at]])))
    assert read_assignment(study, 0).by_cluster
    assert len(read_assignment(study, 0)) == 30


# --- studies ---


def test_a_randomized_experiment_passes_all_three_tests():
    checks = findings(make_study(seed=4))
    assert [finding.verdict for finding in checks.values()] == ["pass"] * 3
    for finding in checks.values():
        assert finding.assumption == "A1"
        assert 0 < finding.p_value <= finding.adjusted_p_value <= 1
        assert np.isfinite(finding.statistic)


def test_lost_rows_of_one_model_fail_the_sample_ratio():
    def lose(rows):
        rows[:] = [row for at, row in enumerate(rows) if row["model"] != "ant" or at % 8 == 0]

    finding = findings(make_study(experiment=lose))["sample ratio"]
    assert finding.verdict == "fail"
    assert isinstance(finding.details, SampleRatio)
    assert finding.details.models == MODELS
    assert finding.details.counts[0] < finding.details.expected[0] / 3
    assert sum(finding.details.expected) == pytest.approx(sum(finding.details.counts))


def test_shares_that_change_during_the_experiment_fail_over_time():
    checks = findings(make_study(experiment=each(lambda at, row: row.update(model="cat") if at > 60 else None)))
    finding = checks["assignment over time"]
    assert finding.verdict == "fail"
    assert isinstance(finding.details, AssignmentDrift)
    assert finding.details.model == "cat"
    assert finding.details.second_half > finding.details.first_half + 0.3


def test_contexts_that_decide_the_model_fail():
    def route(_, row):
        row["model"] = "ant" if len(str(row["context"])) > 60 else row["model"]

    assert findings(make_study(experiment=each(route)))["assignment by context"].verdict == "fail"


def test_a_declared_rule_is_no_violation():
    """Long contexts go to ant with probability 0.8, as declared; undeclared, the same rows fail."""
    rng = np.random.default_rng(3)

    def route(_, row):
        shares = (0.8, 0.1, 0.1) if len(str(row["context"])) > 60 else (0.2, 0.4, 0.4)
        at = int(rng.choice(3, p=shares))
        row.update(model=MODELS[at], propensity=shares[at])

    declared = findings(make_study(rows=240, experiment=each(route)))
    assert [finding.verdict for finding in declared.values()] == ["pass"] * 3
    rng = np.random.default_rng(3)
    undeclared = make_study(rows=240, experiment=each(lambda at, row: (route(at, row), row.pop("propensity"))))
    assert findings(undeclared)["assignment by context"].verdict == "fail"


def test_without_time_a_change_cannot_be_detected():
    checks = findings(make_study(experiment=each(lambda _, row: row.pop("time"))))
    assert checks["assignment over time"].verdict == "cannot tell"
    assert checks["assignment over time"].p_value is None


@pytest.mark.parametrize("rows", [2, 3, 9])
def test_a_handful_of_rows_is_too_few(rows):
    assert {finding.verdict for finding in findings(make_study(rows=rows)).values()} == {"cannot tell"}


def test_one_context_for_all_rows_cannot_be_tested():
    def same(rows):
        for at, row in enumerate(rows):
            row.update(context_id="one", context="the same", draw=at)

    study = make_study(
        experiment=lambda rows: [row.update(context_id="one", context="the same") for row in rows], replay=same
    )
    assert findings(study)["assignment by context"].verdict == "cannot tell"


def test_features_that_describe_the_output_do_not_count_as_context():
    effect = {"ant": 0.0, "bee": 5.0, "cat": 9.0}

    def strip(rows):
        for row in rows:
            row.pop("context")
            row.pop("output")
            row["feature_output"] = effect[row["model"]]
            row["feature_context"] = float(len(row["context_id"]))

    study = make_study(seed=4, log=strip, experiment=strip, replay=strip)
    assert findings(study)["assignment by context"].verdict == "pass"


def test_the_same_seed_gives_the_same_findings_and_the_level_moves_the_threshold():
    study = make_study(seed=4)
    assert check_randomization(study, 3) == check_randomization(study, 3)
    checks = findings(study, level=1e-6)
    assert checks["sample ratio"].adjusted_p_value < 1 - 1e-6
    assert checks["sample ratio"].verdict == "warn"


def test_a_propensity_of_one_divides_by_no_zero():
    finding = findings(make_study(experiment=every(propensity=1.0)))["sample ratio"]
    assert finding.verdict == "fail"
    assert finding.statistic is None

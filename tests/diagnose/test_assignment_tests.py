"""Counts of an assignment against exact distributions, and false alarms where propensities are uneven."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.checks_randomization import rare, varying
from deconfound.diagnose.assignment import Assignment, reconstruct_probabilities, redraw
from deconfound.diagnose.assignment_tests import (
    MAX_GROUPS,
    MAX_REDRAWN_ROWS,
    AssignmentStatistic,
    predict_assignment,
    redraw_counts,
    sample_ratio_test,
    sample_redrawn_rows,
)
from deconfound.diagnose.permutation_tests import LeaveOneOutRidge, permute_within, prediction_test
from tests.support.checking import MODELS


def redraw_residuals(probability):
    """The targets (k, draws, n) of assignments drawn again, written down: the reference for ``AssignmentStatistic``."""

    def resample(rng, count):
        model = redraw(probability, count, rng)
        codes = np.arange(probability.shape[1])[:, None, None]
        residual = (model[None] == codes) - probability.T[:, None, :]
        return np.asarray(residual - residual.mean(axis=2, keepdims=True))

    return resample


def assignment(model, propensity, names=MODELS):
    model = np.asarray(model)
    names, probability = reconstruct_probabilities(tuple(names), model, np.asarray(propensity, float))
    return Assignment(names, model, probability, np.arange(len(model)), by_cluster=False)


def p_value(assigned):
    return sample_ratio_test(assigned, 0)[1]


def test_counts_are_tested_as_by_the_exact_multinomial_distribution():
    """Two models and twelve rows: the p-value must be the binomial one up to Monte Carlo error.

    Exact: two-sided probability of counts as unequal as 10 to 2, 2 * P(X >= 10) = 0.0386. With 9,999 draws the
    standard error is 0.0019; five of them are allowed.
    """
    statistic, p = sample_ratio_test(assignment([0] * 10 + [1] * 2, [0.5] * 12, ("ant", "bee")), 0)
    assert p == pytest.approx(stats.binomtest(10, 12, 0.5).pvalue, abs=0.01)
    assert statistic == pytest.approx(stats.chisquare([10, 2]).statistic)


def test_a_declared_model_that_never_occurs_is_detected():
    """Declared thirds, and none of sixty rows has the third model."""
    assert p_value(assignment([0, 1] * 30, [1 / 3] * 60, ("ant", "bee"))) < 0.001
    assert p_value(assignment([0, 1] * 30, [1 / 3] * 60)) < 0.001
    assert p_value(assignment([0, 1] * 30, [0.5] * 60)) == 1.0


def test_two_models_with_varying_propensities_are_tested_as_by_the_sum_of_binomials():
    """20 rows of propensity 0.2 and 10 of 0.9: the count of ant is a convolution; ties and 9,999 draws as above."""
    model, propensity = [0] * 9 + [1] * 11 + [0] * 9 + [1], [0.2] * 9 + [0.8] * 11 + [0.9] * 9 + [0.1]
    distribution = np.convolve(stats.binom.pmf(range(21), 20, 0.2), stats.binom.pmf(range(11), 10, 0.9))
    extreme = np.abs(np.arange(31) - 13) >= 18 - 13
    statistic, p = sample_ratio_test(assignment(model, propensity, ("ant", "bee")), 0)
    assert p == pytest.approx(distribution[extreme].sum(), abs=0.01)
    assert statistic == pytest.approx((18 - 13) ** 2 / (20 * 0.16 + 10 * 0.09))


def test_counts_drawn_by_group_and_by_row_have_the_same_mean_and_covariance():
    """Standard error of a mean of 1,999 counts: at most 0.07; of their covariances about 0.3."""
    rng = np.random.default_rng(0)
    few = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])[np.arange(40) % 2]
    many = np.vstack([few, rng.dirichlet([1, 1, 1], MAX_GROUPS)])
    for probability in (few, many):
        counts = redraw_counts(probability, rng)
        covariance = np.diag(probability.sum(axis=0)) - probability.T @ probability
        assert (counts.sum(axis=1) == len(probability)).all()
        assert counts.mean(axis=0) == pytest.approx(probability.sum(axis=0), abs=0.35)
        assert np.cov(counts.T) == pytest.approx(covariance, abs=1.5)


def test_rare_models_cause_no_false_alarms():
    """Propensities of 0.7, 0.2 and 0.1 or 0.98, 0.01 and 0.01: at 5 % more than 29 of 300 have probability 0.0006.

    A normal approximation with estimated variances alarms in 30 % of these studies.
    """
    p_values = [varying(np.random.default_rng([23, study]), rare, 0.0) for study in range(300)]
    assert np.sum(np.array(p_values) < 0.05) <= 29


def test_residuals_drawn_again_have_mean_zero_and_the_variance_of_their_row():
    """The variance of 20,000 draws has a relative standard error of about 0.02; centering takes 1 of 50 rows."""
    probability = np.tile([0.7, 0.2, 0.1], (50, 1))
    residual = redraw_residuals(probability)(np.random.default_rng(0), 20_000)
    assert residual.sum(axis=2) == pytest.approx(0.0, abs=1e-9)
    assert residual[0].var(axis=0) == pytest.approx(0.21 * 49 / 50, rel=0.1)


def test_many_rows_with_propensities_of_their_own_are_sampled():
    rows = MAX_REDRAWN_ROWS + 10
    probability = np.random.default_rng(0).dirichlet([1, 1, 1], rows)
    own = Assignment(MODELS, np.zeros(rows, dtype=int), probability, np.arange(rows), by_cluster=False)
    grouped = Assignment(
        MODELS, own.model, np.tile([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], (rows // 2, 1)), own.rows, False
    )
    assert len(sample_redrawn_rows(own, 0)) == MAX_REDRAWN_ROWS
    assert sample_redrawn_rows(grouped, 0) is grouped


@pytest.mark.parametrize("constant", [True, False])
def test_sums_by_model_give_the_statistics_of_the_targets_themselves(constant):
    rng = np.random.default_rng(3)
    probability = np.tile([0.2, 0.3, 0.5], (40, 1)) if constant else rng.dirichlet(np.ones(3), 40)
    ridge = LeaveOneOutRidge.fit(rng.standard_normal((40, 5)), 2.0)
    targets = redraw_residuals(probability)(np.random.default_rng(1), 30)
    drawn = redraw(probability, 30, np.random.default_rng(1))
    np.testing.assert_allclose(AssignmentStatistic(ridge, probability).of(drawn), ridge.statistics(targets), atol=1e-12)


@pytest.mark.parametrize("constant", [True, False])
def test_the_prediction_of_the_model_is_tested_as_with_the_targets_themselves(constant):
    rng = np.random.default_rng(4)
    probability = np.tile([0.2, 0.3, 0.5], (60, 1)) if constant else rng.dirichlet(np.ones(3), 60)
    assigned = Assignment(MODELS, redraw(probability, 1, rng)[0], probability, np.arange(60), by_cluster=False)
    features = rng.standard_normal((60, 4)) + assigned.indicator[:, :1]
    residual = assigned.indicator - probability
    target = residual - residual.mean(axis=0)
    resample = permute_within(target, np.zeros(60, dtype=int)) if constant else redraw_residuals(probability)
    drawing = np.random.default_rng(0)
    drawing.permutation(60)  # the sample of the rows
    expected = prediction_test([LeaveOneOutRidge.fit(features, 6.0)], target, resample, drawing)
    test = predict_assignment((features,), (0.1,), assigned, 0)
    assert test.p_value == expected.p_value
    assert test.statistic == pytest.approx(expected.statistic)

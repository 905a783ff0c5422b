"""Agreement of two ratings against full enumeration, and with people of very different activity."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.checks_outcomes import no_direction_uneven
from deconfound.diagnose.association import Association, sign_flip_test, within_model_association


def test_associations_are_counted_as_by_all_permutations():
    """Naive twin: five rows of one model have 120 orders; the standard error of 1,999 draws is at most 0.011."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(5), rng.standard_normal(5)
    sums = np.array([x @ y[list(order)] for order in itertools.permutations(range(5))])
    observed = (x - x.mean()) @ (y - y.mean())
    low = np.mean(sums - x.sum() * y.mean() <= observed + 1e-12)
    association = within_model_association(x, y, np.zeros(5, dtype=int), np.arange(5), 0)
    assert association.negative_p_value == pytest.approx(low, abs=0.05)
    assert association.negative_p_value + association.positive_p_value >= 1.0
    assert association.correlation == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_a_constant_has_no_association():
    ones, model, cluster = np.ones(12), np.zeros(12, dtype=int), np.arange(12)
    assert within_model_association(ones, np.arange(12.0), model, cluster, 0) == Association(0.0, 1.0, 1.0)


def test_mean_differences_are_tested_as_by_all_sign_flips():
    difference, cluster = np.array([0.3, 0.1, 0.2, -0.1, 0.4, 0.2]), np.array([0, 0, 1, 2, 3, 4])
    totals = np.bincount(cluster, weights=difference)
    sums = np.array([abs(np.dot(signs, totals)) for signs in itertools.product((1, -1), repeat=5)])
    test = sign_flip_test(difference, cluster, 0)
    assert test.p_value == pytest.approx(np.mean(sums >= abs(totals.sum()) - 1e-12), abs=0.05)
    assert test.mean == pytest.approx(difference.mean())


def test_people_with_many_rows_cause_no_false_alarms():
    """At 5 % more than 18 of 200 alarms have probability 0.005; with unweighted sums by person there are about 8 %."""
    p_values = [no_direction_uneven(np.random.default_rng([21, study])) for study in range(200)]
    assert np.sum(np.array(p_values) < 0.05) <= 18


def test_an_association_within_clusters_is_detected():
    rng = np.random.default_rng(0)
    cluster, x = np.repeat(np.arange(40), 3), rng.standard_normal(120)
    association = within_model_association(x, rng.standard_normal(120) - x, rng.integers(3, size=120), cluster, 0)
    assert association.correlation < -0.5
    assert association.negative_p_value == 1 / 2000
    assert association.positive_p_value == 1.0

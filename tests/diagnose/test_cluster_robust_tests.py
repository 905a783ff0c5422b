"""Cluster-robust ratios against a loop over rows, clusters and strata."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.diagnose.cluster_robust_tests import ClusterScores, cluster_robust_ratios, crossed_kinds, row_weights


def naive_ratio(column, outcome, strata, kinds, weight, signs):
    """Center column and outcome, flip the residuals of whole clusters, center again, sum, divide."""

    def center(values):
        means = {code: np.average(values[strata == code], weights=weight[strata == code]) for code in set(strata)}
        return values - np.array([means[code] for code in strata])

    residual = center(center(outcome) * signs[kinds[0]])
    terms = weight * center(column) * residual

    def variance(code):
        return sum(terms[code == each].sum() ** 2 for each in set(code))

    variances = [variance(kind) for kind in kinds]
    if len(kinds) > 1:
        variances.append(sum(variances) - variance(kinds[0] * 1000 + kinds[1]))
    return terms.sum() / np.sqrt(max(variances))


@pytest.mark.parametrize("two_way", [False, True])
def test_ratios_are_those_of_a_loop(two_way):
    rng = np.random.default_rng(0)
    strata, user, context = rng.integers(3, size=60), rng.integers(8, size=60) ** 2, rng.integers(15, size=60)
    _, user = np.unique(user, return_inverse=True)
    kinds = (user, context) if two_way else (user,)
    columns, outcome = rng.standard_normal((60, 2)), rng.standard_normal(60)
    scores = ClusterScores.from_rows(columns, outcome, strata, kinds)
    signs = rng.choice([-1.0, 1.0], (3, scores.n_signs))
    expected = [
        [naive_ratio(column, outcome, strata, kinds, row_weights(kinds), each) for column in columns.T]
        for each in signs
    ]
    assert scores.ratios(signs) == pytest.approx(np.array(expected))


def test_the_first_ratios_are_the_observed_ones_and_a_constant_column_has_none():
    rng = np.random.default_rng(1)
    cluster, outcome = np.repeat(np.arange(20), 3), rng.standard_normal(60)
    columns, strata = np.column_stack([rng.standard_normal(60), np.ones(60)]), np.zeros(60, dtype=int)
    ratios = cluster_robust_ratios(columns, outcome, strata, (cluster,), rng)
    scores = ClusterScores.from_rows(columns, outcome, strata, (cluster,))
    assert ratios.shape == (2000, 2)
    assert ratios[0] == pytest.approx(scores.ratios(np.ones((1, 20)))[0])
    assert (ratios[:, 1] == 0.0).all()


def test_no_cluster_has_more_than_four_times_the_weight_of_a_single_row():
    cluster = np.repeat(np.arange(3), [1, 5, 1000])
    total = np.bincount(cluster, weights=row_weights((cluster,)))
    assert total[0] == 1.0
    assert total[1] == pytest.approx(2.5)
    assert total[2] == pytest.approx(4.0, abs=0.02)


def test_only_clusters_that_cross_each_other_count():
    user, context = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
    assert [kind.tolist() for kind in crossed_kinds(user, context)] == [context.tolist(), user.tolist()]
    assert [kind.tolist() for kind in crossed_kinds(user, np.arange(6))] == [user.tolist()]
    assert [kind.tolist() for kind in crossed_kinds(user, user // 2)] == [(user // 2).tolist()]
    assert crossed_kinds(np.arange(6), np.arange(6)) == ()

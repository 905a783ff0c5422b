"""One and two ways of clustering: covariances against a double loop over pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.clusters import Clusters, Influence

ROWS = 40


def random_rows(seed: int = 0, columns: int = 3) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(ROWS, columns))


def crossed_codes(seed: int = 0, first: int = 9, second: int = 6) -> IntArray:
    rng = np.random.default_rng([1, seed])
    return np.column_stack([rng.integers(0, first, ROWS), rng.integers(0, second, ROWS)])


def naive_covariance(rows: FloatArray, codes: IntArray) -> FloatArray:
    """Products of all pairs of rows that share a cluster in any column of ``codes`` (n, ways)."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for i in range(len(rows)):
        for j in range(len(rows)):
            if any(codes[i, way] == codes[j, way] for way in range(codes.shape[1])):
                total += np.outer(rows[i], rows[j])
    return total


def influence_of(rows: FloatArray, codes: IntArray | None) -> Influence:
    return Clusters.from_codes(codes, len(rows)).sums(rows)


def before_repair(influence: Influence) -> FloatArray:
    """The sum over ways, before negative eigenvalues are removed."""
    return np.asarray(sum(s * part.T @ part for s, part in zip(influence.signs, influence.parts, strict=True)))


@pytest.mark.parametrize("seed", range(5))
def test_two_ways_count_every_pair_of_rows_that_shares_a_cluster_once(seed: int) -> None:
    rows, codes = random_rows(seed), crossed_codes(seed)
    naive, influence = naive_covariance(rows, codes), influence_of(rows, codes)
    np.testing.assert_allclose(before_repair(influence), naive, atol=1e-12)
    np.testing.assert_allclose(influence.product(influence), np.diag(naive), atol=1e-12)
    one_way = [np.diag(naive_covariance(rows, codes[:, [way]])) for way in range(2)]
    np.testing.assert_allclose(influence.variance(), np.maximum(np.diag(naive), np.maximum(*one_way)), atol=1e-12)


def test_a_covariance_without_negative_eigenvalues_is_not_changed() -> None:
    """Rows with common effects of both ways, so that the sum over pairs is larger than that of either way."""
    rng, codes = np.random.default_rng(3), crossed_codes(1)
    effects = rng.normal(size=(9, 2))[codes[:, 0]] + rng.normal(size=(6, 2))[codes[:, 1]]
    rows = effects + 0.1 * random_rows(3, columns=2)
    naive = naive_covariance(rows, codes)
    assert np.linalg.eigvalsh(naive)[0] > 0
    assert (np.diag(naive) > np.diag(naive_covariance(rows, codes[:, :1]))).all()
    assert (np.diag(naive) > np.diag(naive_covariance(rows, codes[:, 1:]))).all()
    np.testing.assert_allclose(influence_of(rows, codes).covariance(), naive, rtol=1e-10)


def test_negative_eigenvalues_are_set_to_zero_and_variances_restored() -> None:
    """Sums over clusters of both ways are zero, so only the subtracted intersections remain: a negative variance."""
    codes = np.array([[i, j] for i in range(3) for j in range(3)])
    rows = np.where(codes[:, [0]] == codes[:, [1]], 2.0, -1.0)
    assert naive_covariance(rows, codes)[0, 0] == pytest.approx(-(rows**2).sum())
    influence = influence_of(rows, codes)
    assert influence.variance()[0] == pytest.approx(0.0, abs=1e-12)
    assert influence.covariance()[0, 0] == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), first=st.integers(1, 40), second=st.integers(1, 40), k=st.integers(1, 5))
def test_a_covariance_is_positive_semidefinite_with_the_variances_or_more(
    seed: int, first: int, second: int, k: int
) -> None:
    rows, codes = random_rows(seed, k), crossed_codes(seed, first, second)
    influence = influence_of(rows, codes)
    covariance, variance = influence.covariance(), influence.variance()
    scale = np.abs(covariance).max()
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-12 * scale)
    assert np.linalg.eigvalsh(covariance)[0] >= -1e-10 * scale
    assert (np.diag(covariance) >= variance - 1e-10 * scale).all()
    for part in influence.parts[:2]:
        assert (variance >= (part**2).sum(axis=0) - 1e-10 * scale).all()


def test_one_way_is_the_sum_over_clusters_of_squared_sums() -> None:
    rows, code = random_rows(), crossed_codes()[:, 0]
    expected = np.zeros((3, 3))
    for name in set(code.tolist()):
        total = rows[code == name].sum(axis=0)
        expected += np.outer(total, total)
    influence = influence_of(rows, code)
    np.testing.assert_allclose(influence.covariance(), expected, atol=1e-12)
    np.testing.assert_allclose(influence.variance(), np.diag(expected), atol=1e-12)
    np.testing.assert_allclose(influence.covariance(), naive_covariance(rows, code[:, None]), atol=1e-12)


def test_no_codes_are_one_cluster_per_row() -> None:
    rows = random_rows()
    none = influence_of(rows, None)
    np.testing.assert_allclose(none.covariance(), rows.T @ rows)
    np.testing.assert_allclose(influence_of(rows, np.arange(ROWS)[::-1]).covariance(), rows.T @ rows)
    assert Clusters.from_codes(None, ROWS).count == ROWS


@pytest.mark.parametrize("columns", ["single", "twice", "finer second", "finer first", "rows and clusters"])
def test_a_way_nested_in_the_other_is_left_out(columns: str) -> None:
    code = crossed_codes()[:, 0]
    finer = code * 10 + np.arange(ROWS) % 3
    codes = {
        "single": code[:, None],
        "twice": np.column_stack([code, 7 - code]),
        "finer second": np.column_stack([code, finer]),
        "finer first": np.column_stack([finer, code]),
        "rows and clusters": np.column_stack([np.arange(ROWS), code]),
    }[columns]
    clusters = Clusters.from_codes(codes, ROWS)
    assert len(clusters.ways) == 1
    assert clusters.count == len(set(code.tolist()))
    rows = random_rows()
    np.testing.assert_allclose(clusters.sums(rows).covariance(), influence_of(rows, code).covariance(), atol=1e-12)


def test_crossed_ways_have_the_count_of_the_smaller_one() -> None:
    clusters = Clusters.from_codes(crossed_codes(first=9, second=6), ROWS)
    assert clusters.count == 6
    assert [way.count for way in clusters.counted] == [9, 6]
    assert [way.sign for way in clusters.ways] == [1.0, 1.0, -1.0]


def test_labels_order_of_rows_and_order_of_ways_do_not_matter() -> None:
    rows, codes = random_rows(), crossed_codes()
    expected = influence_of(rows, codes).covariance()
    labels = np.random.default_rng(5).permutation(1000)
    relabeled = np.column_stack([labels[codes[:, 0]], -labels[codes[:, 1]]])
    shuffle = np.random.default_rng(6).permutation(ROWS)
    for other in (
        influence_of(rows, relabeled),
        influence_of(rows, codes[:, ::-1]),
        influence_of(rows[shuffle], codes[shuffle]),
    ):
        np.testing.assert_allclose(other.covariance(), expected, atol=1e-12)


def test_sums_differences_and_multiples_act_on_the_rows() -> None:
    a, b, codes = random_rows(0), random_rows(1), crossed_codes()
    factor = np.array([0.5, -2.0, 0.0])
    combined = influence_of(a, codes) + influence_of(b, codes).scaled(factor)
    np.testing.assert_allclose(combined.covariance(), influence_of(a + factor * b, codes).covariance(), atol=1e-12)
    difference = influence_of(a, codes) - influence_of(b, codes)
    np.testing.assert_allclose(difference.covariance(), influence_of(a - b, codes).covariance(), atol=1e-12)
    product = influence_of(a, codes).product(influence_of(b, codes))
    both = naive_covariance(np.hstack([a, b]), codes)
    np.testing.assert_allclose(product, np.diag(both[:3, 3:]), atol=1e-12)


@pytest.mark.parametrize("shape", [(ROWS, 3), (ROWS, 0), (ROWS, 2, 1)])
def test_more_than_two_ways_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="cluster"):
        Clusters.from_codes(np.zeros(shape, dtype=np.int64), ROWS)

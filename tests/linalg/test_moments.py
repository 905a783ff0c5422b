"""Moments: weighted covariances that merge, with the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.design import DenseMatrix
from deconfound.linalg.moments import CHUNKS, Moments
from tests.support.least_squares_problems import KINDS, random_problem

FIELDS = ("mean", "target_mean", "covariance", "cross_covariance")


@given(
    cut=st.integers(1, 29),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1e-3, 1.0, 1e4]),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_moments_of_two_parts_merge_into_the_moments_of_the_whole(cut: int, seed: int, scale: float) -> None:
    features, targets, weight = random_problem(30, 4, seed)
    features = scale * features + scale
    whole = Moments.estimate(DenseMatrix(features), targets, weight)
    first, second = (
        Moments.estimate(DenseMatrix(features[part]), targets[part], weight[part])
        for part in (slice(None, cut), slice(cut, None))
    )
    for merged in (first.merge(second), second.merge(first)):
        assert merged.weight == whole.weight
        for name in FIELDS:
            size = np.abs(getattr(whole, name)).max()
            np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [2, 50, 9000], ids=["fewer rows than chunks", "one tile", "several tiles per chunk"])
def test_moments_are_the_weighted_covariances(kind: str, rows: int) -> None:
    features, targets, weight = random_problem(rows, 4)
    actual = Moments.estimate(KINDS[kind](features), targets, weight)
    joint = np.cov(np.column_stack([features, targets]).T, aweights=weight, ddof=0)
    np.testing.assert_allclose(actual.covariance, joint[:4, :4], atol=1e-12)
    np.testing.assert_allclose(actual.cross_covariance, joint[:4, 4:], atol=1e-12)
    np.testing.assert_allclose(actual.mean, np.average(features, axis=0, weights=weight), atol=1e-12)
    np.testing.assert_allclose(actual.target_mean, np.average(targets, axis=0, weights=weight), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_bit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, targets, weight = random_problem(100 * CHUNKS + 1, 4)
    actual = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("DECONFOUND_THREADS", threads)
        actual.append(Moments.estimate(KINDS[kind](features), targets, weight))
    for name in FIELDS:
        assert len({getattr(moments, name).tobytes() for moments in actual}) == 1

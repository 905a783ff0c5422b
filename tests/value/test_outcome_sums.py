"""Mean logged outcomes from sums by cluster, against the same from rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from deconfound.design import outcome_sums
from deconfound.design.outcome_sums import OutcomeSums, mix_hashes
from deconfound.value import raw_log, raw_log_from_sums

MODELS = ("ant", "bee", "cat")


def rows(seed: int, count: int, users: int, contexts: int):
    """Outcomes that share noise within users and contexts; a fourth model is not compared."""
    rng = np.random.default_rng(seed)
    user, context, model = (
        rng.integers(users, size=count),
        rng.integers(contexts, size=count),
        rng.integers(4, size=count),
    )
    noise = rng.normal(size=users)[user] + rng.normal(size=contexts)[context] + rng.normal(size=count)
    return user, context, model, 1.0 / (1.0 + np.exp(-noise))


def hashes(codes):
    return mix_hashes(codes.astype(np.uint64) + np.uint64(1))


def summed(user, context, model, outcome, parts: int) -> OutcomeSums:
    total = OutcomeSums.zero(len(MODELS), has_clusters=user is not None)
    for at in np.array_split(np.arange(len(model)), parts):
        cluster = None if user is None else hashes(user[at])
        total.add(OutcomeSums.from_rows(cluster, hashes(context[at]), model[at], outcome[at], len(MODELS)))
    return total


def assert_same(left, right, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(left.estimate, right.estimate, rtol=tolerance)
    np.testing.assert_allclose(left.covariance, right.covariance, rtol=tolerance, atol=1e-16)
    np.testing.assert_allclose(left.df, right.df, rtol=1e-9)
    np.testing.assert_allclose(left.difference_df_limit, right.difference_df_limit, rtol=1e-9)


@pytest.mark.parametrize("kind", ["crossed", "contexts in users", "users in contexts", "contexts only", "few rows"])
def test_values_are_those_of_the_rows(kind):
    user, context, model, outcome = rows(0, 5 if kind == "few rows" else 400, 30, 60)
    if kind == "contexts in users":
        user = context // 3
    if kind == "users in contexts":
        context = user // 3
    codes = context if kind == "contexts only" else np.column_stack([user, context])
    sums = summed(None if kind == "contexts only" else user, context, model, outcome, parts=7)
    assert_same(raw_log_from_sums(MODELS, sums), raw_log(MODELS, model, outcome, codes))
    assert sums.contexts == len(np.unique(context))
    assert sums.rows_per_model.tolist() == np.bincount(model, minlength=4)[:3].tolist()


def test_many_clusters_are_folded_the_same_way_in_any_order(monkeypatch):
    monkeypatch.setattr(outcome_sums, "MAX_CLUSTERS", 64)
    user, context, model, outcome = rows(1, 3_000, 700, 900)
    order = np.random.default_rng(2).permutation(3_000)
    one = summed(user, context, model, outcome, parts=9)
    other = summed(user[order], context[order], model[order], outcome[order], parts=4)
    for left, right in zip(one.ways, other.ways, strict=True):
        assert left.is_folded
        assert len(left.keys) <= 64
        np.testing.assert_array_equal(left.keys, right.keys)
        np.testing.assert_array_equal(left.counts, right.counts)
        np.testing.assert_allclose(left.totals, right.totals, rtol=1e-12)
    np.testing.assert_array_equal(one.lowest, other.lowest)


def test_folding_leaves_variances_unbiased(monkeypatch):
    """Each way has about 200 clusters after folding, so that one variance has a relative standard error of 10 %.

    Its mean over 60 logs deviates from the variance without folding by less than 5 % (more than three standard errors
    of 1.3 %, since both come from the same rows).
    """
    ratios = []
    for seed in range(60):
        columns = rows(seed, 2_000, 600, 800)
        exact = raw_log_from_sums(MODELS, summed(*columns, parts=2)).covariance
        with monkeypatch.context() as patch:
            patch.setattr(outcome_sums, "MAX_CLUSTERS", 256)
            folded = raw_log_from_sums(MODELS, summed(*columns, parts=2)).covariance
        ratios.append(np.diag(folded) / np.diag(exact))
    assert abs(np.mean(ratios) - 1.0) < 0.05


def test_the_number_of_contexts_is_estimated_beyond_the_limit(monkeypatch):
    """With 1,000 hashes the relative standard error is 3 %; 12 % are four of them."""
    monkeypatch.setattr(outcome_sums, "MAX_CLUSTERS", 1_000)
    context = np.arange(40_000) // 2
    sums = summed(None, context, context % 3, np.ones(40_000), parts=3)
    assert abs(sums.contexts / 20_000 - 1.0) < 0.12


def many_models(count: int, models: int, clusters: int) -> OutcomeSums:
    """Rows of as many models, users and contexts, in batches as those of a pass."""
    rng, total = np.random.default_rng(5), OutcomeSums.zero(models, has_clusters=True)
    for _ in range(0, count, 16_384):
        user, context = (hashes(rng.integers(clusters, size=16_384)) for _ in range(2))
        model, outcome = rng.integers(models, size=16_384), rng.random(16_384)
        total.add(OutcomeSums.from_rows(user, context, model, outcome, models))
    return total


def peak_megabytes(run) -> float:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("models", [100, 800])
def test_memory_does_not_grow_with_models_times_clusters(models):
    """Three ways of 2^20 cells of 16 bytes are at most 50 MB. An addition has those of the log, of the batch, and new
    ones of one way: 130 MB at the peak, instead of 790 MB for 100 models.
    """
    assert peak_megabytes(lambda: many_models(160_000, models, 70_000)) < 180


def test_a_few_models_have_sums_for_every_cluster():
    sums = many_models(100_000, 16, 40_000)
    assert not any(way.is_folded for way in sums.ways[:2])


def test_many_models_share_fewer_clusters_in_any_order(monkeypatch):
    """As soon as cells are too many; never fewer clusters than a variance needs."""
    user, context, model, outcome = rows(1, 3_000, 700, 900)
    order = np.random.default_rng(2).permutation(3_000)
    monkeypatch.setattr(outcome_sums, "MAX_CELLS", 300)
    monkeypatch.setattr(outcome_sums, "MIN_CLUSTERS", 16)
    one = summed(user, context, model, outcome, parts=9)
    other = summed(user[order], context[order], model[order], outcome[order], parts=4)
    for left, right in zip(one.ways, other.ways, strict=True):
        assert 50 < len(left.keys) <= 100
        np.testing.assert_array_equal(left.keys, right.keys)
        np.testing.assert_array_equal(left.counts, right.counts)
    monkeypatch.setattr(outcome_sums, "MAX_CELLS", 30)
    assert all(8 < len(way.keys) <= 16 for way in summed(user, context, model, outcome, parts=3).ways)

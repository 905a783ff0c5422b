"""Rows: what they refuse, what merging keeps, and how folds are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from deconfound import design
from deconfound.design import Rows, connected_groups, group_folds, merge_duplicate_rows
from deconfound.errors import UsageError
from tests.support import naive
from tests.support.random_rows import TALL, Pair, Shape, make, shuffled

PHI = np.arange(12.0).reshape(4, 3)


def test_rows_accept_lists_and_other_sparse_formats_and_hold_float_arrays() -> None:
    plain: dict[str, Any] = {"psi": [[1], [2]], "outcome": [0, 1], "model": [1, 0]}
    rows = Rows([[1, 2], [3, 4]], **plain)
    assert rows.phi.dtype == np.float64
    assert rows.model is not None
    assert rows.model.dtype == np.int64
    assert sparse.isspmatrix_csr(Rows(sparse.coo_matrix(PHI)).phi)


@pytest.mark.parametrize("name", ["psi", "outcome", "model", "weight", "context"])
def test_columns_of_another_length_are_refused_by_name(name: str) -> None:
    short: Any = np.ones((3, 2)) if name == "psi" else np.ones(3)
    with pytest.raises(UsageError, match=f"{name} has 3 rows and phi has 4"):
        replace(Rows(PHI), **{name: short})


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["phi", "psi", "outcome", "weight"])
def test_numbers_that_are_not_finite_are_refused_by_name(name: str, bad: float) -> None:
    values: Any = np.ones((4, 2)) if name in ("phi", "psi") else np.ones(4)
    values.flat[2] = bad
    with pytest.raises(UsageError, match=f"{name} holds NaN or infinity"):
        replace(Rows(PHI), **{name: values})
    if name == "phi":
        with pytest.raises(UsageError, match="phi holds NaN"):
            Rows(sparse.csr_matrix(values))


def test_weights_must_be_positive_and_matrices_two_dimensional() -> None:
    with pytest.raises(UsageError, match="positive"):
        Rows(PHI, weight=np.array([1.0, 0.0, 1.0, 1.0]))
    with pytest.raises(UsageError, match="two dimensions"):
        Rows(np.ones(4))


def test_count_and_shares_know_of_weights() -> None:
    rows = Rows(PHI, weight=np.array([1.0, 2.0, 3.0, 4.0]))
    assert rows.total_weight == 10
    assert rows.normalized_weight.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert Rows(PHI).total_weight == 4
    assert Rows(PHI).normalized_weight.tolist() == [0.25] * 4


def test_taking_rows_keeps_every_column_in_step(pair: Pair) -> None:
    index = np.array([5, 0, 5])
    taken = pair.log.take(index)
    for name in ("psi", "outcome", "model", "context"):
        assert np.array_equal(getattr(taken, name), getattr(pair.log, name)[index])
    assert np.array_equal(naive.dense(taken.phi), naive.dense(pair.log.phi)[index])
    assert taken.weight is None


@pytest.mark.parametrize("stored", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_merging_equals_a_dictionary_of_rows(stored: bool, weighted: bool) -> None:
    log = make(replace(TALL, sparse=stored, weighted=weighted)).log
    merged, group = merge_duplicate_rows(log), naive.equal_rows(log)
    firsts = np.unique(group)
    assert len(merged) == len(firsts) < len(log)
    assert np.array_equal(naive.dense(merged.phi), naive.dense(log.phi)[firsts])
    assert np.array_equal(merged.require_psi(), log.require_psi()[firsts])
    for at, first in enumerate(firsts):
        mine = group == first
        assert merged.weight_or_ones[at] == log.weight_or_ones[mine].sum()
        assert merged.require_outcome()[at] == pytest.approx(np.average(log.require_outcome()[mine], weights=log.weight_or_ones[mine]))
    assert merged.total_weight == log.total_weight


def test_rows_that_differ_only_in_psi_stay_apart() -> None:
    rows = Rows(np.ones((3, 2)), psi=np.array([[1.0], [2.0], [1.0]]), outcome=np.array([0.0, 0.5, 1.0]))
    merged = merge_duplicate_rows(rows)
    assert merged.weight_or_ones.tolist() == [2.0, 1.0]
    assert merged.require_outcome().tolist() == [0.5, 0.5]


def test_rows_with_the_same_projection_are_still_compared_entry_by_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A projection in which every row collides must cost merging, never correctness."""
    monkeypatch.setattr(design.rows, "random_projection", lambda matrix, seed: np.zeros(matrix.shape[0]))  # noqa: ARG005
    for phi in (PHI, sparse.csr_matrix(PHI)):
        merged = merge_duplicate_rows(Rows(phi, outcome=np.arange(4.0) / 4))
        assert len(merged) == 4


def test_merged_rows_keep_a_context_they_share_and_drop_contexts_in_conflict() -> None:
    phi = np.array([[1.0], [1.0], [2.0]])
    assert merge_duplicate_rows(Rows(phi, context=np.array([7, 7, 8]))).context is not None
    kept = merge_duplicate_rows(Rows(phi, context=np.array([7, 7, 8]))).context
    assert kept is not None
    assert kept.tolist() == [7, 8]
    assert merge_duplicate_rows(Rows(phi, context=np.array([7, 9, 8]))).context is None
    assert merge_duplicate_rows(Rows(phi, model=np.array([1, 2, 3]))).model.tolist() == [-1, 3]
    assert merge_duplicate_rows(Rows(phi, model=np.array([2, 2, 3]))).model.tolist() == [2, 3]


def test_rows_without_repeats_come_back_untouched() -> None:
    rows = Rows(PHI, outcome=np.zeros(4), model=np.arange(4))
    assert merge_duplicate_rows(rows) is rows


@given(seed=st.integers(0, 2**32 - 1), order=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_merging_shuffled_rows_finds_the_same_rows(seed: int, order: int) -> None:
    log = make(Shape(features=3, proxies=2, unique=6, log=20, experiment=6, models=3), seed=seed).log
    one, other = merge_duplicate_rows(log), merge_duplicate_rows(shuffled(log, order))
    assert sorted(zip(one.phi[:, 0], one.weight_or_ones, np.round(one.require_outcome(), 12), strict=True)) == sorted(
        zip(other.phi[:, 0], other.weight_or_ones, np.round(other.require_outcome(), 12), strict=True)
    )


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=12), folds=st.integers(2, 6), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_folds_hold_out_every_row_once_and_keep_groups_whole(sizes: list[int], folds: int, seed: int) -> None:
    group = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    cuts = group_folds(group, folds, seed)
    if len(sizes) < 2:
        assert cuts == ()
        return
    assert len(cuts) == min(folds, len(sizes))
    assert sorted(np.concatenate([cut.held_out for cut in cuts])) == list(range(len(group)))
    for cut in cuts:
        assert not set(group[cut.train]) & set(group[cut.held_out])
        assert len(cut.train) + len(cut.held_out) == len(group)
    dealt = [len(set(group[cut.held_out])) for cut in cuts]
    assert max(dealt) - min(dealt) <= 1


def test_folds_follow_the_seed_and_nothing_else() -> None:
    group = np.arange(30)
    first, again, other = (group_folds(group, 5, seed) for seed in (1, 1, 2))
    assert [cut.held_out.tolist() for cut in first] == [cut.held_out.tolist() for cut in again]
    assert [cut.held_out.tolist() for cut in first] != [cut.held_out.tolist() for cut in other]


def test_rows_are_linked_by_context_or_cluster_and_through_others():
    """Rows 0 and 3 share neither, but each shares something with row 1 or 2."""
    context = np.array([5, 5, 7, 7, 9, 9, 8, 6])
    cluster = np.array([0, 1, 1, 2, 3, 3, 4, 5])
    group = connected_groups(context, cluster)
    assert len(set(group[:4])) == 1
    assert len({group[0], *group[4:]}) == 4


def test_links_that_run_through_most_rows_leave_contexts_to_be_kept_whole():
    """Of a person with most rows contexts are kept whole, of the others they themselves."""
    context = np.array([0, 1, 2, 3, 3, 4, 5])
    found = connected_groups(context, np.array([0, 0, 0, 0, 0, 1, 1]))
    assert len(set(found)) == 5
    assert found[3] == found[4]
    assert found[5] == found[6]
    assert len(set(connected_groups(np.arange(6), np.array([0, 0, 0, 1, 2, 3])))) == 4


def test_clusters_that_are_the_contexts_change_no_fold():
    context = np.random.default_rng(0).integers(3, 40, 60)
    for one, other in zip(
        group_folds(context, 5, 2), group_folds(connected_groups(context, context), 5, 2), strict=True
    ):
        np.testing.assert_array_equal(one.held_out, other.held_out)

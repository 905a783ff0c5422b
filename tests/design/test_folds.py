"""Folds hold out every row once, never split a group, and follow the seed."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.design import connected_groups, group_folds


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=12), folds=st.integers(2, 6), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_folds_hold_out_every_row_once_and_never_split_a_group(sizes: list[int], folds: int, seed: int) -> None:
    group = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    splits = group_folds(group, folds, seed)
    if len(sizes) < 2:
        assert splits == ()
        return
    assert len(splits) == min(folds, len(sizes))
    assert sorted(np.concatenate([fold.held_out for fold in splits])) == list(range(len(group)))
    for fold in splits:
        assert not set(group[fold.train]) & set(group[fold.held_out])
        assert len(fold.train) + len(fold.held_out) == len(group)
    groups_per_fold = [len(set(group[fold.held_out])) for fold in splits]
    assert max(groups_per_fold) - min(groups_per_fold) <= 1


def test_folds_depend_on_the_seed_and_nothing_else() -> None:
    group = np.arange(30)
    first, again, other = (group_folds(group, 5, seed) for seed in (1, 1, 2))
    assert [fold.held_out.tolist() for fold in first] == [fold.held_out.tolist() for fold in again]
    assert [fold.held_out.tolist() for fold in first] != [fold.held_out.tolist() for fold in other]


def test_rows_are_connected_by_context_or_cluster_also_through_other_rows() -> None:
    """Rows 0 and 3 share neither, but each shares something with row 1 or 2."""
    context = np.array([5, 5, 7, 7, 9, 9, 8, 6])
    cluster = np.array([0, 1, 1, 2, 3, 3, 4, 5])
    group = connected_groups(context, cluster)
    assert len(set(group[:4])) == 1
    assert len({group[0], *group[4:]}) == 4


def test_a_group_of_more_than_half_of_the_rows_is_split_by_context() -> None:
    """A user with most of the rows is split into contexts; other users stay whole."""
    context = np.array([0, 1, 2, 3, 3, 4, 5])
    group = connected_groups(context, np.array([0, 0, 0, 0, 0, 1, 1]))
    assert len(set(group)) == 5
    assert group[3] == group[4]
    assert group[5] == group[6]
    assert len(set(connected_groups(np.arange(6), np.array([0, 0, 0, 1, 2, 3])))) == 4


def test_clusters_that_equal_the_contexts_change_no_fold() -> None:
    context = np.random.default_rng(0).integers(3, 40, 60)
    by_context, by_both = (group_folds(group, 5, 2) for group in (context, connected_groups(context, context)))
    for one, other in zip(by_context, by_both, strict=True):
        np.testing.assert_array_equal(one.held_out, other.held_out)

"""Rows: which arrays they accept, and what merging equal rows preserves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from deconfound.design import CsrMatrix, DenseMatrix, FloatArray, Rows, merge_duplicate_rows
from deconfound.errors import UsageError
from tests.support import naive
from tests.support.random_rows import TALL, Pair, Shape, make, shuffled

PHI = np.arange(12.0).reshape(4, 3)


def test_lists_and_other_sparse_formats_become_float_arrays() -> None:
    plain: dict[str, Any] = {"psi": [[1], [2]], "outcome": [0, 1], "model": [1, 0]}
    rows = Rows([[1, 2], [3, 4]], **plain)  # type: ignore[arg-type]
    assert isinstance(rows.phi, DenseMatrix)
    assert rows.phi.array.dtype == np.float64
    assert rows.model is not None
    assert rows.model.dtype == np.int64
    assert isinstance(Rows(sparse.coo_matrix(PHI)).phi, CsrMatrix)


@pytest.mark.parametrize("name", ["psi", "outcome", "model", "weight", "context"])
def test_a_column_of_another_length_is_refused_by_name(name: str) -> None:
    short: Any = np.ones((3, 2)) if name == "psi" else np.ones(3)
    with pytest.raises(UsageError, match=f"{name} has 3 rows and phi has 4"):
        replace(Rows(PHI), **{name: short})


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["phi", "psi", "outcome", "weight"])
def test_numbers_that_are_not_finite_are_refused_by_name(name: str, bad: float) -> None:
    values: Any = np.ones((4, 2)) if name in ("phi", "psi") else np.ones(4)
    values.flat[2] = bad
    with pytest.raises(UsageError, match=f"{name} contains NaN or infinity"):
        replace(Rows(PHI), **{name: values})
    if name == "phi":
        with pytest.raises(UsageError, match="phi contains NaN"):
            Rows(sparse.csr_matrix(values))


def test_weights_must_be_positive_and_matrices_two_dimensional() -> None:
    with pytest.raises(UsageError, match="positive"):
        Rows(PHI, weight=np.array([1.0, 0.0, 1.0, 1.0]))
    for phi, psi, name in ((np.ones(4), None, "phi"), (PHI, np.ones(4), "psi")):
        with pytest.raises(UsageError, match=f"{name} must have two dimensions"):
            Rows(phi, psi=psi)


def test_missing_weights_count_as_one() -> None:
    rows = Rows(PHI, weight=np.array([1.0, 2.0, 3.0, 4.0]))
    assert rows.total_weight == 10
    assert rows.weight_or_ones.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert rows.normalized_weight.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert Rows(PHI).total_weight == 4
    assert Rows(PHI).weight_or_ones.tolist() == [1.0] * 4
    assert Rows(PHI).normalized_weight.tolist() == [0.25] * 4


def test_a_required_column_that_is_missing_is_an_error() -> None:
    rows = Rows(PHI, psi=np.ones((4, 1)), outcome=np.arange(4.0))
    assert rows.require_outcome().tolist() == [0.0, 1.0, 2.0, 3.0]
    assert rows.require_psi().shape == (4, 1)
    with pytest.raises(UsageError, match="no outcome"):
        Rows(PHI).require_outcome()
    with pytest.raises(UsageError, match="needs psi"):
        Rows(PHI).require_psi()


def test_taking_rows_takes_them_from_every_column(pair: Pair) -> None:
    index = np.array([5, 0, 5])
    taken = pair.log.take(index)
    for name in ("psi", "outcome", "model", "context"):
        assert np.array_equal(getattr(taken, name), getattr(pair.log, name)[index])
    assert np.array_equal(taken.phi.toarray(), pair.log.phi.toarray()[index])
    assert taken.weight is None


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_merging_equals_a_dictionary_of_rows(csr: bool, weighted: bool) -> None:
    log = make(replace(TALL, sparse=csr, weighted=weighted)).log
    merged, group = merge_duplicate_rows(log), naive.equal_rows(log)
    firsts = np.unique(group)
    assert len(merged) == len(firsts) < len(log)
    assert np.array_equal(merged.phi.toarray(), log.phi.toarray()[firsts])
    assert np.array_equal(merged.require_psi(), log.require_psi()[firsts])
    for at, first in enumerate(firsts):
        mine = group == first
        weight, outcome = log.weight_or_ones[mine], log.require_outcome()[mine]
        assert merged.weight_or_ones[at] == weight.sum()
        assert merged.require_outcome()[at] == pytest.approx(np.average(outcome, weights=weight))
    assert merged.total_weight == log.total_weight


def test_wide_dense_rows_merge_although_only_some_of_them_are_candidates() -> None:
    """Wide rows are first compared by their first columns, in which rows 0 and 3 agree and then differ."""
    unique = np.random.default_rng(0).standard_normal((5, 90))
    unique[3, :80] = unique[0, :80]
    index = np.array([4, 0, 1, 0, 3, 2, 1, 0])
    merged = merge_duplicate_rows(Rows(unique[index], outcome=np.arange(8.0)))
    np.testing.assert_array_equal(merged.phi.toarray(), unique[[4, 0, 1, 3, 2]])
    assert merged.weight_or_ones.tolist() == [1.0, 3.0, 2.0, 1.0, 1.0]
    assert merged.require_outcome().tolist() == [0.0, 11 / 3, 4.0, 4.0, 5.0]


def test_rows_that_differ_only_in_psi_are_not_merged() -> None:
    rows = Rows(np.ones((3, 2)), psi=np.array([[1.0], [2.0], [1.0]]), outcome=np.array([0.0, 0.5, 1.0]))
    merged = merge_duplicate_rows(rows)
    assert merged.weight_or_ones.tolist() == [2.0, 1.0]
    assert merged.require_outcome().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("storage", [DenseMatrix, lambda array: CsrMatrix(sparse.csr_matrix(array))])
def test_rows_with_colliding_projections_are_still_compared_entry_by_entry(
    storage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A projection in which every row collides may prevent merging but never merges different rows."""
    matrix = storage(PHI)

    def collide(self: Any, seed: int) -> FloatArray:  # noqa: ARG001
        return np.zeros(self.shape[0])

    monkeypatch.setattr(type(matrix), "random_projection", collide)
    assert len(merge_duplicate_rows(Rows(matrix, outcome=np.arange(4.0) / 4))) == 4


def test_merged_rows_have_the_context_and_model_on_which_their_parts_agree() -> None:
    phi = np.array([[1.0], [1.0], [2.0]])
    agreeing = merge_duplicate_rows(Rows(phi, model=np.array([2, 2, 3]), context=np.array([7, 7, 8])))
    assert agreeing.context is not None
    assert agreeing.context.tolist() == [7, 8]
    assert agreeing.model is not None
    assert agreeing.model.tolist() == [2, 3]
    conflicting = merge_duplicate_rows(Rows(phi, model=np.array([1, 2, 3]), context=np.array([7, 9, 8])))
    assert conflicting.context is None
    assert conflicting.model is not None
    assert conflicting.model.tolist() == [-1, 3]


def test_rows_without_duplicates_are_returned_unchanged() -> None:
    rows = Rows(PHI, outcome=np.zeros(4), model=np.arange(4))
    assert merge_duplicate_rows(rows) is rows


@given(seed=st.integers(0, 2**32 - 1), order=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_merging_shuffled_rows_gives_the_same_rows(seed: int, order: int) -> None:
    log = make(Shape(features=3, proxies=2, unique=6, log=20, experiment=6, models=3), seed=seed).log
    one, other = (_sorted_columns(merge_duplicate_rows(rows)) for rows in (log, shuffled(log, order)))
    np.testing.assert_array_equal(one, other)


def _sorted_columns(rows: Rows) -> FloatArray:
    columns = (np.round(rows.require_outcome(), 12), rows.weight_or_ones, rows.phi.toarray()[:, 0])
    return np.column_stack(columns)[np.lexsort(columns)]

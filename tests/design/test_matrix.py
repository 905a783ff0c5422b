"""Dense and CSR rows meet the contract of a feature matrix, alone and combined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from deconfound.design import (
    CsrMatrix,
    DenseMatrix,
    FeatureMatrix,
    FloatArray,
    csr_inner_products,
    feature_matrix,
    stack,
    storage,
)
from deconfound.design.storage import PREFIX_COLUMNS, TILE_ROWS
from deconfound.errors import UsageError
from tests.support import matrix_contract

Wrap = Callable[[FloatArray], FeatureMatrix]

KINDS = {"dense": DenseMatrix, "csr": lambda array: CsrMatrix(sparse.csr_matrix(array))}
CHECKS = [matrix_contract.check_products, matrix_contract.check_inner_products, matrix_contract.check_selection]


@pytest.fixture(params=KINDS)
def wrap(request: pytest.FixtureRequest) -> Wrap:
    chosen: Wrap = KINDS[request.param]
    return chosen


def sparse_rows(rows: int, columns: int) -> FloatArray:
    """A third of the entries are nonzero, so that both kinds of storage have something to show."""
    rng = np.random.default_rng(rows + columns)
    return rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 1 / 3)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("rows", "columns"), [(20, 6), (6, 20), (5, PREFIX_COLUMNS + 8)])
def test_each_kind_of_storage_meets_the_contract(check: Callable, wrap: Wrap, rows: int, columns: int) -> None:
    array = sparse_rows(rows, columns)
    check(wrap(array), array)


def test_tiles_cover_every_row_of_a_long_matrix(wrap: Wrap) -> None:
    """More rows than one tile of any of the tiled operations."""
    array = sparse_rows(2 * TILE_ROWS + 5, 3)
    matrix, index = wrap(array), np.arange(len(array))
    matrix_contract.check_products(matrix, array)
    assert matrix.rows_differ(index, index).sum() == 0
    assert matrix.rows_differ(index, np.roll(index, 1)).tolist() == (array != np.roll(array, 1, axis=0)).any(1).tolist()
    assert len(matrix.random_projection(seed=0)) == len(array)
    matrix_contract.close(matrix.inner_products(matrix.take(slice(3))), array @ array[:3].T)


def test_equal_rows_have_equal_projections_at_any_place(wrap: Wrap) -> None:
    row = sparse_rows(1, 200)
    projection = wrap(np.repeat(row, 1000, axis=0)).random_projection(seed=1)
    assert len(np.unique(projection)) == 1


def test_wide_dense_rows_that_share_their_first_columns_may_be_duplicates() -> None:
    array = np.random.default_rng(0).standard_normal((6, PREFIX_COLUMNS + 4))
    array[4, :PREFIX_COLUMNS] = array[1, :PREFIX_COLUMNS]
    assert DenseMatrix(array).possible_duplicates().tolist() == [1, 4]
    assert DenseMatrix(array[:, :PREFIX_COLUMNS]).possible_duplicates().tolist() == list(range(6))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_not_finite_is_noticed(wrap: Wrap, bad: float) -> None:
    array = np.full((3, 2), np.finfo(np.float64).max)  # the sum overflows although every entry is finite
    assert wrap(array).all_finite()
    array[1, 1] = bad
    assert not wrap(array).all_finite()


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_dense_and_csr_rows_combine(left: str, right: str) -> None:
    above, below = sparse_rows(5, 4), sparse_rows(7, 4)
    one, other = KINDS[left](above), KINDS[right](below)
    matrix_contract.close(one.inner_products(other), above @ below.T)
    both = stack([one, other])
    matrix_contract.close(both.toarray(), np.vstack([above, below]))
    assert isinstance(both, DenseMatrix) == (left == right == "dense")


def test_a_single_part_is_its_own_stack(wrap: Wrap) -> None:
    matrix = wrap(sparse_rows(3, 2))
    assert stack([matrix]) is matrix


def test_only_dense_rows_are_costly_to_stack() -> None:
    array = sparse_rows(3, 2)
    assert {name: wrap(array).stacks_cheaply for name, wrap in KINDS.items()} == {"dense": False, "csr": True}
    assert not any(wrap(array).has_stored_gram for wrap in KINDS.values())


def test_arrays_and_sparse_matrices_are_wrapped_and_feature_matrices_are_not() -> None:
    dense, csr = feature_matrix(np.ones((2, 3), order="F")), feature_matrix(sparse.coo_matrix(np.eye(3)))
    assert isinstance(dense, DenseMatrix)
    assert dense.array.flags.c_contiguous
    assert isinstance(csr, CsrMatrix)
    assert sparse.isspmatrix_csr(csr.csr)
    assert feature_matrix(dense) is dense
    assert feature_matrix(csr) is csr
    with pytest.raises(UsageError, match="two dimensions"):
        feature_matrix(np.ones(4))


@pytest.mark.parametrize("rows", [1, 7, 8, 9])
def test_sparse_rows_times_themselves_are_computed_once(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of four rows, and the same bits as the product with a copy."""
    monkeypatch.setattr(storage, "SPARSE_TILE_ROWS", 4)
    csr = sparse.random(rows, 30, density=0.5, format="csr", random_state=rows)
    gram = csr_inner_products(csr, csr)
    np.testing.assert_array_equal(gram, csr_inner_products(csr, csr.copy()))
    np.testing.assert_array_equal(gram, gram.T)

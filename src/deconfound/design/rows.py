"""What every estimator sees: rows of numbers, and the ways to cut them into folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfound.design.gram import GramRows
from deconfound.errors import UsageError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Matrix: TypeAlias = Any
"""A feature matrix: a SciPy CSR matrix, a two-dimensional float array, or rows of a store."""

TILE_ROWS = 2048  # rows handled at a time where a copy of all of them would double the memory
UNKNOWN_MODEL = -1  # code of a model that is not known
GLANCE = 64  # columns that tell most dense rows apart


@dataclass(frozen=True, slots=True)
class Rows:
    """Observations as arrays; no text, no names.

    A row with ``weight`` w stands for w observations that share phi and psi; its outcome is then their mean, which
    is all that squared loss needs to know of them. ``context`` numbers the contexts, so that folds can keep each
    context whole; a negative ``model`` is an unknown one.
    """

    phi: Matrix  # (n, d), CSR or dense
    psi: FloatArray | None = None  # (n, r)
    outcome: FloatArray | None = None  # (n,), None for replay
    model: IntArray | None = None  # (n,), codes
    weight: FloatArray | None = None  # (n,), positive
    context: IntArray | None = None  # (n,), codes

    def __post_init__(self) -> None:
        object.__setattr__(self, "phi", _features(self.phi))
        if self.psi is not None:
            object.__setattr__(self, "psi", _dense(self.psi, "psi"))
        for name, kind in (("outcome", np.float64), ("model", np.int64), ("weight", np.float64), ("context", np.int64)):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.ascontiguousarray(value, dtype=kind))
        self._check()

    def _check(self) -> None:
        for name in ("psi", "outcome", "model", "weight", "context"):
            value = getattr(self, name)
            if value is not None and len(value) != len(self):
                raise UsageError(f"Rows: {name} has {len(value)} rows and phi has {len(self)}; they must agree.")
        numbers = {"psi": self.psi, "outcome": self.outcome, "weight": self.weight}
        if not isinstance(self.phi, GramRows):
            numbers["phi"] = self.phi.data if sparse.issparse(self.phi) else self.phi
        for name, value in numbers.items():
            if value is not None and not _finite(value):
                raise UsageError(f"Rows: {name} holds NaN or infinity; every entry must be a finite number.")
        if self.weight is not None and (self.weight <= 0).any():
            raise UsageError("Rows: every weight must be positive.")

    def __len__(self) -> int:
        return int(self.phi.shape[0])

    def take(self, index: IntArray) -> Self:
        """The rows at ``index``, in that order, repeats allowed."""
        picked = {name: getattr(self, name) for name in ("psi", "outcome", "model", "weight", "context")}
        return type(self)(self.phi[index], **{k: None if v is None else v[index] for k, v in picked.items()})

    @property
    def count(self) -> float:
        """Number of observations these rows stand for."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    @property
    def weights(self) -> FloatArray:
        """Observations each row stands for."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def shares(self) -> FloatArray:
        """Each row's share of the observations; sums to one."""
        return self.weights / self.count

    @property
    def outcomes(self) -> FloatArray:
        """The outcome, for callers that cannot do without one."""
        if self.outcome is None:
            raise UsageError("These rows carry no outcome; a log and an experiment need one, only replay goes without.")
        return self.outcome

    @property
    def proxies(self) -> FloatArray:
        """psi, for the families that cannot do without it."""
        if self.psi is None:
            raise UsageError(
                "This family works on psi and these rows have none: give the log label_* columns or keep the surface "
                "statistics on, or choose exp-only, obs-only or cvci."
            )
        return self.psi


def _features(phi: Matrix) -> Matrix:
    if isinstance(phi, GramRows):
        return phi
    return sparse.csr_matrix(phi, dtype=np.float64) if sparse.issparse(phi) else _dense(phi, "phi")


def _dense(value: object, name: str) -> FloatArray:
    array = np.ascontiguousarray(value, dtype=np.float64)
    if array.ndim != 2:
        raise UsageError(f"Rows: {name} must have two dimensions (rows, columns), not {array.ndim}.")
    return array


def _finite(values: FloatArray) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    # One entry that is not finite spoils the sum, which is quicker to take than a look at each; so may an overflow.
    return bool(np.isfinite(total) or np.isfinite(values).all())


def stack(parts: Sequence[Matrix]) -> Matrix:
    """Feature matrices one above the other, sparse if any of them is."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], GramRows):
        return parts[0].store.rows(np.concatenate([part.index for part in parts]))
    return sparse.vstack(parts, format="csr") if any(sparse.issparse(part) for part in parts) else np.vstack(parts)


def merge_duplicate_rows(rows: Rows) -> Rows:
    """Merge rows with equal phi and psi into weighted unique rows, losing nothing that squared loss can see.

    Merged rows keep their model where they agree on it and are of an unknown one where several models wrote the same
    text; contexts are kept only where all rows that were merged agree on theirs.
    """
    group = _equal_rows(rows)
    unique, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    if len(unique) == len(rows):
        return rows
    weight = np.bincount(inverse, weights=rows.weight, minlength=len(unique)).astype(np.float64)
    outcome = None
    if rows.outcome is not None:
        mass = rows.outcome if rows.weight is None else rows.outcome * rows.weight
        outcome = np.bincount(inverse, weights=mass, minlength=len(unique)) / weight
    psi = None if rows.psi is None else rows.psi[first]
    context = rows.context
    if context is not None:
        kept = context[first]
        context = kept if np.array_equal(kept[inverse], context) else None
    model = None if rows.model is None else unanimous_code(rows.model, inverse)
    return Rows(rows.phi[first], psi=psi, outcome=outcome, model=model, weight=weight, context=context)


def unanimous_code(code: IntArray, group: IntArray) -> IntArray:
    """The code that all rows of a group have, or UNKNOWN_MODEL; groups are numbered from zero."""
    low = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    high = np.full(len(low), np.iinfo(np.int64).min)
    np.minimum.at(low, group, code)
    np.maximum.at(high, group, code)
    return np.where(low == high, low, UNKNOWN_MODEL)


def _equal_rows(rows: Rows) -> IntArray:
    """Number of the first row that equals each row.

    Rows are compared by one random projection first; candidates are then compared entry by entry, so that a chance
    collision can cost time but never merge different rows.
    """
    leader = np.arange(len(rows))
    suspects = _suspects(rows.phi)
    key = _key(rows.phi, suspects, seed=1)
    if rows.psi is not None:
        key = key + _key(rows.psi, suspects, seed=2)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    leader[suspects] = suspects[first[inverse]]
    doubles = np.flatnonzero(leader != np.arange(len(rows)))
    different = _differ(rows.phi, doubles, leader[doubles])
    if rows.psi is not None:
        different |= _differ(rows.psi, doubles, leader[doubles])
    leader[doubles[different]] = doubles[different]
    return leader


def _suspects(phi: Matrix) -> IntArray:
    """Rows that a glance at their first columns cannot tell from every other row; wide dense rows are slow to read."""
    if sparse.issparse(phi) or isinstance(phi, GramRows) or phi.shape[1] <= GLANCE:
        return np.arange(phi.shape[0])
    _, inverse, count = np.unique(random_projection(phi[:, :GLANCE], seed=1), return_inverse=True, return_counts=True)
    return np.flatnonzero(count[inverse] > 1)


def _key(matrix: Matrix, index: IntArray, seed: int) -> FloatArray:
    if len(index) == matrix.shape[0]:
        return random_projection(matrix, seed)
    return np.concatenate([random_projection(matrix[part], seed) for part in _tiles(index)])


def _tiles(index: IntArray) -> list[IntArray]:
    return np.array_split(index, len(index) // TILE_ROWS + 1)


def random_projection(matrix: Matrix, seed: int) -> FloatArray:
    """One random coordinate of each row, the same wherever the row stands."""
    direction = np.random.default_rng(seed).standard_normal(matrix.shape[1])
    if sparse.issparse(matrix) or isinstance(matrix, GramRows):
        return np.asarray(matrix @ direction)
    # BLAS may round equal rows differently by position; a plain sum along the row cannot.
    tiles = np.array_split(matrix, len(matrix) // TILE_ROWS + 1)
    return np.concatenate([(tile * direction).sum(axis=1) for tile in tiles])


def _differ(matrix: Matrix, left: IntArray, right: IntArray) -> NDArray[np.bool_]:
    """Whether row left[i] has an entry other than row right[i], in tiles to spare memory."""
    if isinstance(matrix, GramRows):
        return np.asarray(matrix.index[left] != matrix.index[right])
    differ = _sparse_differ if sparse.issparse(matrix) else _dense_differ
    pairs = zip(_tiles(left), _tiles(right), strict=True)
    return np.concatenate([differ(matrix[a], matrix[b]) for a, b in pairs])


def _dense_differ(left: FloatArray, right: FloatArray) -> NDArray[np.bool_]:
    return np.asarray((left != right).any(axis=1))


def _sparse_differ(left: Matrix, right: Matrix) -> NDArray[np.bool_]:
    # Equal rows are nearly always stored alike, and comparing storage is far cheaper than subtracting.
    if all(np.array_equal(getattr(left, part), getattr(right, part)) for part in ("indptr", "indices", "data")):
        return np.zeros(left.shape[0], dtype=np.bool_)
    return np.asarray(abs(left - right).sum(axis=1)).ravel() > 0

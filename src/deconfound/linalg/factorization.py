"""Factor one source once; every penalty, pooling weight and fold then costs next to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, Matrix
from deconfound.design.gram import GramRows
from deconfound.linalg.block_lanczos import Operator, lanczos_eigenpairs
from deconfound.linalg.kernels import centred_product, in_panels, kernel_matrix, kernel_operator
from deconfound.linalg.moments import Moments
from deconfound.linalg.polish import Polish
from deconfound.linalg.rational_krylov import rational_ritz

EXACT = 1500  # up to this size a full eigendecomposition takes about half a second
STORED = 3000  # the same where the kernel is at hand and only the eigenvectors cost: about six seconds
EXPLICIT = 6000  # up to this size the operator may be kept as a matrix (288 MB)
SPARSE = 0.1  # below this share of entries, applying the operator through the rows beats the matrix
NEGLIGIBLE = 1e-13  # eigenvalues below this share of the largest are rounding noise


class Basis(Protocol):
    """Orthonormal directions Q of feature space, centred at the source's mean."""

    @property
    def mean(self) -> FloatArray: ...  # noqa: D102

    def lift(self, coordinates: FloatArray) -> FloatArray:
        """Feature-space coefficients (d,) or (d, m) of basis coordinates."""
        ...


@dataclass(frozen=True, slots=True)
class Primal:
    """Directions written out, for few features."""

    mean: FloatArray  # (d,)
    vectors: FloatArray  # (d, r)

    def lift(self, coordinates: FloatArray) -> FloatArray:
        """Coefficients by plain multiplication."""
        return np.asarray(self.vectors @ coordinates)


@dataclass(frozen=True, slots=True)
class Dual:
    """Directions as combinations of the source's centred rows, for few rows over many features."""

    mean: FloatArray  # (d,)
    rows: Matrix  # (u, d)
    weights: FloatArray  # (u, r)

    def lift(self, coordinates: FloatArray) -> FloatArray:
        """Coefficients as a combination of rows; the features no row has stay exactly zero but for the centre."""
        mix = self.weights @ coordinates
        centre: FloatArray = np.multiply.outer(self.mean, mix.sum(axis=0))
        return np.asarray(self.rows.T @ mix) - centre


@dataclass(frozen=True, slots=True)
class FactoredSource:
    """The covariance C of a source's features, diagonal in a basis Q, and its covariance with the targets.

    With Q'CQ = diag(values) and cross = Q'cov(features, targets), the ridge on this source alone is
    w = Q (cross / (values + penalty)). ``complete`` says that Q spans every row that was announced; otherwise what
    sticks out of Q lies where C is zero. With ``polish`` the basis is rough: predictions for the announced rows are
    right, coefficients have to be finished.
    """

    basis: Basis
    values: FloatArray  # (r,)
    cross: FloatArray  # (r, m)
    target: FloatArray  # (m,) mean of the targets
    seen: FloatArray  # (n, r) coordinates of the rows that were announced
    complete: bool
    polish: Polish | None = None


def factor(
    features: Matrix, targets: FloatArray, shares: FloatArray, seen: Matrix | None, smallest: float
) -> FactoredSource:
    """Factor a source given as rows with shares that sum to one and targets (n, m).

    ``seen`` are the rows of another source that will be pooled with this one; ``smallest`` is the smallest penalty
    that will be asked for. Small problems are diagonalised in full. Large ones are diagonalised only in the space
    that the targets and the seen rows can reach at the smallest penalty.
    """
    rows, columns = features.shape
    if columns <= min(rows, EXPLICIT) and not isinstance(features, GramRows):
        return _primal(Moments.of(features, targets, shares), seen, smallest)
    return _dual(features, targets, shares, seen, smallest)


def empty_source(features: Matrix) -> FactoredSource:
    """A source that says nothing, so that the other one, these features, is fitted alone."""
    rows, columns = features.shape
    mean = np.asarray(features.mean(axis=0)).ravel()
    primal = columns <= min(rows, EXACT) and not isinstance(features, GramRows)
    basis = Primal(mean, np.eye(columns) if primal else np.zeros((columns, 0)))
    seen = _dense(features) - mean if primal else np.zeros((rows, 0))
    size = seen.shape[1]
    return FactoredSource(basis, np.zeros(size), np.zeros((size, 1)), np.zeros(1), seen, complete=primal)


def _primal(moments: Moments, seen: Matrix | None, smallest: float) -> FactoredSource:
    centred = np.zeros((0, len(moments.mean))) if seen is None else _dense(seen) - moments.mean
    if len(moments.mean) <= EXACT:
        values, vectors = np.linalg.eigh(moments.gram)
    else:
        start = np.hstack([moments.cross, centred.T])
        values, vectors = lanczos_eigenpairs(in_panels(lambda block: moments.gram @ block), start, smallest)
    cross = vectors.T @ moments.cross
    basis = Primal(moments.mean, vectors)
    return FactoredSource(basis, np.maximum(values, 0.0), cross, moments.target, centred @ vectors, complete=True)


def _dual(
    features: Matrix, targets: FloatArray, shares: FloatArray, seen: Matrix | None, smallest: float
) -> FactoredSource:
    mean, target = np.asarray(features.T @ shares), shares @ targets
    root = np.sqrt(shares)[:, None]
    goal = (targets - target) * root
    across = np.zeros((len(shares), 0)) if seen is None else root * centred_product(features, seen, mean)
    start, polish = np.hstack([goal, across]), None
    stored = isinstance(features, GramRows)
    if len(shares) <= (STORED if stored else EXACT):
        values, vectors = _eigen(features, mean, root)
    elif stored:
        values, vectors = rational_ritz(kernel_matrix(features, mean, root), start, smallest)
    else:
        values, vectors = lanczos_eigenpairs(_kernel(features, mean, root), start, smallest, seen is not None)
        polish = None if seen is None else Polish.of(features, targets, shares)
    keep = values > NEGLIGIBLE * values.max(initial=0.0)
    values, vectors, length = values[keep], vectors[:, keep], np.sqrt(values[keep])
    placed = in_panels(lambda block: vectors.T @ block)(start)
    cross, coordinates = length[:, None] * placed[:, : goal.shape[1]], placed[:, goal.shape[1] :].T / length
    vectors /= length
    vectors *= root
    basis = Dual(mean, features, vectors)
    return FactoredSource(basis, values, cross, target, coordinates, complete=False, polish=polish)


def _eigen(features: Matrix, mean: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    def make() -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(kernel_matrix(features, mean, root))
        return values, vectors

    return features.eigen(root, make) if isinstance(features, GramRows) else make()


def _kernel(features: Matrix, mean: FloatArray, root: FloatArray) -> Operator:
    if sparse.issparse(features) or len(root) > EXPLICIT:
        return kernel_operator(features, mean, root)
    kernel = kernel_matrix(features, mean, root)
    return in_panels(lambda block: kernel @ block)


def _dense(features: Matrix) -> FloatArray:
    return np.asarray(features.toarray() if sparse.issparse(features) else features)

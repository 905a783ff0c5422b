"""Factor one source once; every penalty, pooling weight and fold then costs next to nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, Matrix
from deconfound.linalg.krylov import ritz
from deconfound.linalg.moments import Moments
from deconfound.linalg.threads import in_threads

EXACT = 1500  # up to this size a full eigendecomposition takes about half a second
EXPLICIT = 6000  # up to this size the operator may be kept as a matrix (288 MB)
SPARSE = 0.1  # below this share of entries, applying the operator through the rows beats the matrix
NEGLIGIBLE = 1e-13  # eigenvalues below this share of the largest are rounding noise
PANEL = 32  # columns of a block that one thread multiplies at a time


class Basis(Protocol):
    """Orthonormal directions Q of feature space, centred at the source's mean."""

    @property
    def mean(self) -> FloatArray: ...  # noqa: D102

    def project(self, features: Matrix) -> FloatArray:
        """Coordinates (n, r) of centred feature rows."""
        ...

    def lift(self, coordinates: FloatArray) -> FloatArray:
        """Feature-space coefficients (d,) or (d, m) of basis coordinates."""
        ...


@dataclass(frozen=True, slots=True)
class Primal:
    """Directions written out, for few features."""

    mean: FloatArray  # (d,)
    vectors: FloatArray  # (d, r)

    def project(self, features: Matrix) -> FloatArray:
        """Coordinates of the rows by plain multiplication."""
        return np.asarray(features @ self.vectors - self.mean @ self.vectors)

    def lift(self, coordinates: FloatArray) -> FloatArray:
        """Coefficients by plain multiplication."""
        return np.asarray(self.vectors @ coordinates)


@dataclass(frozen=True, slots=True)
class Dual:
    """Directions as combinations of the source's centred rows, for few rows over many features."""

    mean: FloatArray  # (d,)
    rows: Matrix  # (u, d)
    weights: FloatArray  # (u, r)

    def project(self, features: Matrix) -> FloatArray:
        """Coordinates through the inner products of the rows with the source's rows."""
        kernel = features @ self.rows.T
        kernel = kernel.toarray() if sparse.issparse(kernel) else np.asarray(kernel)
        kernel -= np.asarray(self.rows @ self.mean)
        kernel -= (np.asarray(features @ self.mean) - self.mean @ self.mean)[:, None]
        return np.asarray(kernel @ self.weights)

    def lift(self, coordinates: FloatArray) -> FloatArray:
        """Coefficients as a combination of rows; the features no row has stay exactly zero but for the centre."""
        mix = self.weights @ coordinates
        centre: FloatArray = np.multiply.outer(self.mean, mix.sum(axis=0))
        return np.asarray(self.rows.T @ mix) - centre


@dataclass(frozen=True, slots=True)
class Factored:
    """The covariance C of a source's features, diagonal in a basis Q, and its covariance with the targets.

    With Q'CQ = diag(values) and cross = Q'cov(features, targets), the ridge on this source alone is
    w = Q (cross / (values + penalty)). ``complete`` says that Q spans every row that was announced; otherwise what
    sticks out of Q lies where C is zero.
    """

    basis: Basis
    values: FloatArray  # (r,)
    cross: FloatArray  # (r, m)
    target: FloatArray  # (m,) mean of the targets
    complete: bool


def factor(features: Matrix, targets: FloatArray, shares: FloatArray, seen: Matrix | None, smallest: float) -> Factored:
    """Factor a source given as rows with shares that sum to one and targets (n, m).

    ``seen`` are the rows of another source that will be pooled with this one; ``smallest`` is the smallest penalty
    that will be asked for. Small problems are diagonalised in full. Large ones are diagonalised only in the space
    that the targets and the seen rows can reach, to a residual of 1e-10 at the smallest penalty.
    """
    rows, columns = features.shape
    if columns <= min(rows, EXPLICIT):
        return _primal(Moments.of(features, targets, shares), seen, smallest)
    return _dual(features, targets, shares, seen, smallest)


def blank(features: Matrix) -> Factored:
    """A source that says nothing, so that the other one is fitted alone."""
    rows, columns = features.shape
    mean = np.asarray(features.mean(axis=0)).ravel()
    primal = columns <= min(rows, EXACT)
    basis = Primal(mean, np.eye(columns) if primal else np.zeros((columns, 0)))
    size = columns if primal else 0
    return Factored(basis, np.zeros(size), np.zeros((size, 1)), np.zeros(1), complete=primal)


def _primal(moments: Moments, seen: Matrix | None, smallest: float) -> Factored:
    if len(moments.mean) <= EXACT:
        values, vectors = np.linalg.eigh(moments.gram)
    else:
        start = [moments.cross]
        if seen is not None:
            start.append((seen.toarray() if sparse.issparse(seen) else seen).T - moments.mean[:, None])
        values, vectors = ritz(_in_panels(lambda block: moments.gram @ block), np.hstack(start), smallest)
    basis = Primal(moments.mean, vectors)
    return Factored(basis, np.maximum(values, 0.0), vectors.T @ moments.cross, moments.target, complete=True)


def _dual(features: Matrix, targets: FloatArray, shares: FloatArray, seen: Matrix | None, smallest: float) -> Factored:
    mean, target = np.asarray(features.T @ shares), shares @ targets
    root = np.sqrt(shares)[:, None]
    centred = (targets - target) * root
    if features.shape[0] <= EXACT:
        values, vectors = np.linalg.eigh(_kernel(features, mean, root))
    else:
        start = centred if seen is None else np.hstack([centred, root * _centred_product(features, seen, mean)])
        if _worth_a_matrix(features):
            kernel = _kernel(features, mean, root)
            values, vectors = ritz(_in_panels(lambda block: kernel @ block), start, smallest)
        else:
            values, vectors = ritz(_in_panels(_operator(features, mean, root)), start, smallest)
    keep = values > NEGLIGIBLE * values.max(initial=0.0)
    values, vectors = values[keep], vectors[:, keep]
    basis = Dual(mean, features, root * vectors / np.sqrt(values))
    cross = np.sqrt(values)[:, None] * (vectors.T @ centred)
    return Factored(basis, values, cross, target, complete=False)


def _centred_product(left: Matrix, right: Matrix, mean: FloatArray) -> FloatArray:
    """Inner products (n, m) of two sets of rows, both centred at ``mean``."""
    product = left @ right.T
    product = product.toarray() if sparse.issparse(product) else np.asarray(product)
    product -= np.asarray(right @ mean) - mean @ mean
    product -= np.asarray(left @ mean)[:, None]
    return np.asarray(product)


def _worth_a_matrix(features: Matrix) -> bool:
    rows = features.shape[0]
    entries = features.nnz if sparse.issparse(features) else features.size
    return bool(rows <= EXPLICIT and entries > SPARSE * rows**2)


def _kernel(features: Matrix, mean: FloatArray, root: FloatArray) -> FloatArray:
    return _centred_product(features, features, mean) * root * root.T


def _operator(features: Matrix, mean: FloatArray, root: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The kernel as two products with the rows, on the columns that occur at all."""
    if sparse.issparse(features):
        used = np.unique(features.indices)
        features, mean = features[:, used], mean[used]
    across = features.T.tocsr() if sparse.issparse(features) else features.T

    def apply(block: FloatArray) -> FloatArray:
        scaled = root * block
        inner = across @ scaled - np.outer(mean, scaled.sum(axis=0))
        return np.asarray(root * (features @ inner - mean @ inner))

    return apply


def _in_panels(apply: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    """The same product, panels of columns shared among threads."""

    def run(block: FloatArray) -> FloatArray:
        panels = [np.ascontiguousarray(block[:, at : at + PANEL]) for at in range(0, block.shape[1], PANEL)]
        return np.hstack(in_threads(apply, panels))

    return run

"""Factor one source once; each further penalty, pooling weight and fold then costs little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray
from deconfound.linalg.block_lanczos import INNER_PRODUCTS, SOLUTION, Operator, Tolerance, lanczos_eigenpairs
from deconfound.linalg.kernels import centered_inner_products, kernel_matrix, kernel_operator, parallel_over_columns
from deconfound.linalg.moments import Moments
from deconfound.linalg.normal_equations import NormalEquations
from deconfound.linalg.rational_krylov import rational_krylov_eigenpairs

EIGENVALUE_RTOL = 1e-13  # eigenvalues below this share of the largest are rounding noise


@dataclass(frozen=True, slots=True)
class FactorizationLimits:
    """Problem sizes at which the numerical path changes; tests pass their own to reach each path."""

    max_eigh: int = 1500  # size up to which a full eigendecomposition is computed: about half a second
    max_eigh_stored_gram: int = 3000  # the same where inner products are stored: about six seconds
    max_experiment_kernel: int = 3000  # rows of the experiment up to which their inner products are used, not sums
    max_dense_kernel: int = 6000  # size up to which a kernel or covariance is a dense matrix: 288 MB

    def prefers_sums(self, experiment: FeatureMatrix) -> bool:
        """Whether fits to these rows of an experiment should go through sums, in systems of the size of the columns."""
        rows, columns = experiment.shape
        is_long = rows > self.max_experiment_kernel and columns <= self.max_dense_kernel
        return is_long and not experiment.has_stored_gram


DEFAULT_LIMITS = FactorizationLimits()


class Basis(Protocol):
    """Orthonormal directions Q of feature space, with the source's mean as origin."""

    @property
    def mean(self) -> FloatArray: ...  # noqa: D102

    def to_feature_space(self, coordinates: FloatArray) -> FloatArray:
        """Coefficients over the features, (d,) or (d, m), from coordinates (r,) or (r, m)."""
        ...


@dataclass(frozen=True, slots=True)
class PrimalBasis:
    """Directions written out, for few features."""

    mean: FloatArray  # (d,)
    vectors: FloatArray  # (d, r)

    def to_feature_space(self, coordinates: FloatArray) -> FloatArray:
        """Q @ coordinates."""
        return np.asarray(self.vectors @ coordinates)


@dataclass(frozen=True, slots=True)
class DualBasis:
    """Directions as combinations of the source's centered rows, for few rows over many features."""

    mean: FloatArray  # (d,)
    rows: FeatureMatrix  # (u, d)
    row_weights: FloatArray  # (u, r)

    def to_feature_space(self, coordinates: FloatArray) -> FloatArray:
        """A combination of centered rows; a feature that no row has gets exactly zero."""
        combination = self.row_weights @ coordinates
        center: FloatArray = np.multiply.outer(self.mean, combination.sum(axis=0))
        return self.rows.transposed_product(combination) - center


@dataclass(frozen=True, slots=True)
class FactoredSource:
    """The covariance C of a source's features, diagonal in a basis Q, and its covariance with the targets.

    With Q'CQ = diag(eigenvalues) and cross_covariance = Q'cov(features, targets), the ridge on this source alone is
    w = Q (cross_covariance / (eigenvalues + penalty)).
    """

    basis: Basis
    eigenvalues: FloatArray  # (r,)
    cross_covariance: FloatArray  # (r, m)
    target_mean: FloatArray  # (m,)
    other_coordinates: FloatArray  # (n, r) of the rows that will be pooled with this source
    spans_other_rows: bool  # otherwise C is zero along the part of those rows outside Q
    normal_equations: NormalEquations | None = None  # where Q is only accurate for predictions of those rows


def factor(
    features: FeatureMatrix,
    targets: FloatArray,
    normalized_weight: FloatArray,
    other_rows: FeatureMatrix | None,
    min_penalty: float,
    limits: FactorizationLimits = DEFAULT_LIMITS,
) -> FactoredSource:
    """Factor a source with targets (n, m) and row weights that sum to one.

    ``other_rows`` are the rows of another source that will be pooled with this one; ``min_penalty`` is the smallest
    penalty that will be used. Small problems are diagonalized in full, large ones only in the subspace that matters
    for the targets and the other rows at the smallest penalty.
    """
    rows, columns = features.shape
    if columns <= min(rows, limits.max_dense_kernel) and not features.has_stored_gram:
        return factor_moments(Moments.estimate(features, targets, normalized_weight), other_rows, min_penalty, limits)
    return _dual(features, targets, normalized_weight, other_rows, min_penalty, limits)


def empty_source(features: FeatureMatrix, limits: FactorizationLimits = DEFAULT_LIMITS) -> FactoredSource:
    """A source without information: pooled with it, the other source, these features, is fitted alone."""
    rows, columns = features.shape
    mean = features.mean_row()
    primal = columns <= min(rows, limits.max_eigh) and not features.has_stored_gram
    basis = PrimalBasis(mean, np.eye(columns) if primal else np.zeros((columns, 0)))
    coordinates = features.toarray() - mean if primal else np.zeros((rows, 0))
    size = coordinates.shape[1]
    return FactoredSource(basis, np.zeros(size), np.zeros((size, 1)), np.zeros(1), coordinates, spans_other_rows=primal)


def factor_moments(
    moments: Moments, other_rows: FeatureMatrix | None, min_penalty: float, limits: FactorizationLimits
) -> FactoredSource:
    """Factor a source that is known by its moments, as ``factor`` does with rows."""
    columns = len(moments.mean)
    centered = np.zeros((0, columns)) if other_rows is None else other_rows.toarray() - moments.mean
    if columns <= limits.max_eigh:
        values, vectors = np.linalg.eigh(moments.covariance)
    else:
        start = np.hstack([moments.cross_covariance, centered.T])
        apply = parallel_over_columns(lambda block: moments.covariance @ block)
        values, vectors = lanczos_eigenpairs(apply, start, min_penalty)
    return FactoredSource(
        PrimalBasis(moments.mean, vectors),
        np.maximum(values, 0.0),
        vectors.T @ moments.cross_covariance,
        moments.target_mean,
        centered @ vectors,
        spans_other_rows=True,
    )


def _dual(
    features: FeatureMatrix,
    targets: FloatArray,
    normalized_weight: FloatArray,
    other_rows: FeatureMatrix | None,
    min_penalty: float,
    limits: FactorizationLimits,
) -> FactoredSource:
    mean, target_mean = features.transposed_product(normalized_weight), normalized_weight @ targets
    root = np.sqrt(normalized_weight)[:, None]
    cross_kernel = np.zeros((len(root), 0))
    if other_rows is not None:
        cross_kernel = root * centered_inner_products(features, other_rows, mean)
    start = np.hstack([(targets - target_mean) * root, cross_kernel])
    tolerance = SOLUTION if other_rows is None else INNER_PRODUCTS
    pairs = _dual_eigenpairs(features, mean, root, start, min_penalty, tolerance, limits)
    nonzero = pairs.values > EIGENVALUE_RTOL * pairs.values.max(initial=0.0)
    values, vectors, length = pairs.values[nonzero], pairs.vectors[:, nonzero], np.sqrt(pairs.values[nonzero])
    projected_start = parallel_over_columns(lambda block: vectors.T @ block)(start)
    vectors /= length
    vectors *= root
    return FactoredSource(
        DualBasis(mean, features, vectors),
        values,
        length[:, None] * projected_start[:, : targets.shape[1]],
        target_mean,
        projected_start[:, targets.shape[1] :].T / length,
        spans_other_rows=False,
        normal_equations=(
            None if pairs.solves_start else NormalEquations.from_rows(features, targets, normalized_weight)
        ),
    )


@dataclass(frozen=True, slots=True)
class _DualEigenpairs:
    """Eigenpairs of the kernel, or Ritz pairs that suffice for the start block."""

    values: FloatArray  # (r,)
    vectors: FloatArray  # (n, r)
    solves_start: bool  # whether systems with the start block are solved, not only its inner products with solutions


def _dual_eigenpairs(
    features: FeatureMatrix,
    mean: FloatArray,
    root: FloatArray,
    start: FloatArray,
    min_penalty: float,
    tolerance: Tolerance,
    limits: FactorizationLimits,
) -> _DualEigenpairs:
    if len(root) <= (limits.max_eigh_stored_gram if features.has_stored_gram else limits.max_eigh):
        values, vectors = features.weighted_eigh(root, lambda: kernel_matrix(features, mean, root))
        return _DualEigenpairs(values, vectors, solves_start=True)
    if features.has_stored_gram:
        values, vectors = rational_krylov_eigenpairs(kernel_matrix(features, mean, root), start, min_penalty)
        return _DualEigenpairs(values, vectors, solves_start=True)
    values, vectors = lanczos_eigenpairs(_kernel(features, mean, root, limits), start, min_penalty, tolerance)
    return _DualEigenpairs(values, vectors, solves_start=tolerance is SOLUTION)


def _kernel(features: FeatureMatrix, mean: FloatArray, root: FloatArray, limits: FactorizationLimits) -> Operator:
    gram = features.gram_operator()
    if gram.beats_dense_gram or len(root) > limits.max_dense_kernel:
        return kernel_operator(gram, features @ mean, mean, root)
    kernel = kernel_matrix(features, mean, root)
    return parallel_over_columns(lambda block: kernel @ block)

"""Ridge regression on one source, with an unpenalized intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FeatureMatrix, FloatArray
from deconfound.linalg.factorization import DEFAULT_LIMITS, DualBasis, FactorizationLimits, factor
from deconfound.linalg.kernels import kernel_matrix
from deconfound.linalg.moments import Moments
from deconfound.threads import one_blas_thread


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear function of the features; several targets give several columns."""

    coef: FloatArray  # (d,) or (d, m)
    intercept: float | FloatArray  # scalar or (m,)

    def __call__(self, features: FeatureMatrix | FloatArray) -> FloatArray:
        """Value of the function at each row."""
        return np.asarray(features @ self.coef + self.intercept)


def ridge_of_moments(moments: Moments, penalty: float) -> Linear:
    """Minimize sum of squares + penalty * w'w for the first target: one factorization of the size of the columns."""
    system = moments.covariance.copy()
    system[np.diag_indices_from(system)] += penalty / moments.weight
    coef = linalg.solve(system, moments.cross_covariance[:, 0], assume_a="pos", check_finite=False)
    return Linear(coef, float(moments.target_mean[0] - moments.mean @ coef))


def ridge(
    features: FeatureMatrix,
    targets: FloatArray,
    penalty: float,
    weight: FloatArray | None = None,
    limits: FactorizationLimits = DEFAULT_LIMITS,
) -> Linear:
    """Minimize sum_i weight_i |t_i - x_i'w - b|^2 + penalty |w|^2 for one target (n,) or several (n, m)."""
    weight = np.ones(features.shape[0]) if weight is None else weight
    total = float(weight.sum())
    columns = targets[:, None] if targets.ndim == 1 else targets
    # With stored inner products, one Cholesky factorization is fastest at any size that fits into memory.
    dual = features.has_stored_gram or features.shape[0] <= min(limits.max_eigh, features.shape[1])
    with one_blas_thread():
        if dual:
            coef, intercept = _dual_ridge(features, columns, weight / total, penalty / total)
        else:
            coef, intercept = _factored_ridge(features, columns, weight / total, penalty / total, limits)
    return Linear(coef[:, 0], float(intercept[0])) if targets.ndim == 1 else Linear(coef, intercept)


def _dual_ridge(
    features: FeatureMatrix, targets: FloatArray, normalized_weight: FloatArray, penalty: float
) -> tuple[FloatArray, FloatArray]:
    """Few rows over many features: one Cholesky factorization of their kernel."""
    mean, target_mean = features.transposed_product(normalized_weight), normalized_weight @ targets
    root = np.sqrt(normalized_weight)[:, None]
    kernel = kernel_matrix(features, mean, root)
    kernel[np.diag_indices_from(kernel)] += penalty
    triangle = linalg.cho_factor(kernel, overwrite_a=True, check_finite=False)
    row_weights = root * linalg.cho_solve(triangle, root * (targets - target_mean), check_finite=False)
    coef = DualBasis(mean, features, row_weights).to_feature_space(np.eye(targets.shape[1]))
    return coef, target_mean - mean @ coef


def _factored_ridge(
    features: FeatureMatrix,
    targets: FloatArray,
    normalized_weight: FloatArray,
    penalty: float,
    limits: FactorizationLimits,
) -> tuple[FloatArray, FloatArray]:
    """All other sizes: factor the source for this one penalty."""
    source = factor(features, targets, normalized_weight, None, penalty, limits)
    coef = source.basis.to_feature_space(source.cross_covariance / (source.eigenvalues + penalty)[:, None])
    return coef, source.target_mean - source.basis.mean @ coef

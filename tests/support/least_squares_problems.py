"""Random least-squares problems and the limits that lead through each numerical path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from deconfound.design import CsrMatrix, DenseMatrix, FeatureMatrix, FloatArray
from deconfound.linalg import FactorizationLimits

LIMITS = {
    "eigh": FactorizationLimits(),
    "lanczos": FactorizationLimits(max_eigh=3),
    "lanczos-implicit": FactorizationLimits(max_eigh=3, max_dense_kernel=3),
    "eigh-dual": FactorizationLimits(max_dense_kernel=3),
}

KINDS: dict[str, Callable[[FloatArray], FeatureMatrix]] = {
    "dense": DenseMatrix,
    "csr": lambda array: CsrMatrix(sparse.csr_matrix(array)),
}


def random_problem(rows: int, columns: int, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Features, three targets and integer weights."""
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((rows, columns)),
        rng.standard_normal((rows, 3)),
        rng.integers(1, 5, rows).astype(np.float64),
    )

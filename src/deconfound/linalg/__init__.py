"""Ridge systems: the only numerical kernels of the package."""

from deconfound.linalg.factorization import FactoredSource, empty_source, factor
from deconfound.linalg.kernels import sparse_product
from deconfound.linalg.pooled_ridge import PooledRidge, PooledSolution, PooledSystem
from deconfound.linalg.ridge import Linear, ridge
from deconfound.linalg.threads import one_blas_thread, parallel_map

__all__ = [
    "FactoredSource",
    "Linear",
    "PooledRidge",
    "PooledSolution",
    "PooledSystem",
    "empty_source",
    "factor",
    "one_blas_thread",
    "parallel_map",
    "ridge",
    "sparse_product",
]

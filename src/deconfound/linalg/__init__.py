"""Ridge systems: the only numerical kernels of the package."""

from deconfound.linalg.conditioned import Conditioned
from deconfound.linalg.evidence import likeliest_sizes, log_likelihood
from deconfound.linalg.factored import Factored, blank, factor
from deconfound.linalg.kernel import sparse_product
from deconfound.linalg.pooled import Pooled, Solution, System
from deconfound.linalg.ridge import Linear, ridge
from deconfound.linalg.threads import in_threads, one_blas_thread

__all__ = [
    "Conditioned",
    "Factored",
    "Linear",
    "Pooled",
    "Solution",
    "System",
    "blank",
    "factor",
    "in_threads",
    "likeliest_sizes",
    "log_likelihood",
    "one_blas_thread",
    "ridge",
    "sparse_product",
]

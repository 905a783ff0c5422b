"""Ridge systems: all numerical linear algebra of the package."""

from deconfound.linalg.factorization import (
    DEFAULT_LIMITS,
    FactoredSource,
    FactorizationLimits,
    empty_source,
    factor,
    factor_moments,
)
from deconfound.linalg.pooled_ridge import PooledRidge, PooledSolution, PooledSystem
from deconfound.linalg.ridge import Linear, ridge, ridge_of_moments

__all__ = [
    "DEFAULT_LIMITS",
    "FactoredSource",
    "FactorizationLimits",
    "Linear",
    "PooledRidge",
    "PooledSolution",
    "PooledSystem",
    "empty_source",
    "factor",
    "factor_moments",
    "ridge",
    "ridge_of_moments",
]

"""Range checks for hyperparameters, shared by the families."""

from __future__ import annotations

import numpy as np

from deconfound.errors import UsageError


def require_positive(name: str, value: float) -> None:
    """Reject a penalty or variance for which the fit would be undefined."""
    if not (np.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a positive number, not {value!r}.")


def require_unit_interval(name: str, value: float) -> None:
    """Reject a weight outside [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must lie in [0, 1], not {value!r}.")

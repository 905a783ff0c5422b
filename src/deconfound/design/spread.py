"""Standard deviations of columns to divide by, where rounding is no variation."""

from __future__ import annotations

import numpy as np

from deconfound.design.arrays import FloatArray

ROUNDING = 1e-9
"""Standard deviation of a column that does not vary, relative to its size: far above the rounding of its mean."""


def usable_sd(sd: FloatArray, size: FloatArray, rounding: float = ROUNDING) -> FloatArray:
    """Standard deviations (r,) of columns of this ``size`` (r,); infinite for a column that does not vary.

    A column divided by it is then zero. Divided by rounding errors, a column that is constant in some rows would be
    enormous in others.
    """
    return np.where(sd > rounding * size, sd, np.inf)

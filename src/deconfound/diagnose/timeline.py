"""Time as a predictor: only the order counts, so any clock will do."""

from __future__ import annotations

import numpy as np
from scipy import stats

from deconfound.design import FloatArray

WAVES = 4  # trends, one turn and back, a step somewhere: slow changes; faster ones take more rows to see


def timeline(time: FloatArray) -> FloatArray:
    """Each row's place between 0 and 1; rows of the same time share theirs."""
    return np.asarray((stats.rankdata(time) - 0.5) / len(time))


def waves(time: FloatArray) -> FloatArray:
    """Half and whole cosines of the place (n, WAVES), of mean square one each over evenly spread rows."""
    turns = np.arange(1, WAVES + 1)
    return np.asarray(np.sqrt(2.0) * np.cos(np.pi * timeline(time)[:, None] * turns))

"""Do two judgements of the same rows point the same way, and do they agree in level?"""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.smoothing import exchanging, flipping, resampled_sums, within
from deconfound.diagnose.verdicts import DRAWS

TIE = 1e-9  # of the largest possible sum: below it two sums differ by rounding only


def signs(
    prediction: FloatArray, outcome: FloatArray, model: IntArray, cluster: IntArray, seed: int
) -> tuple[float, float, float]:
    """Chances of an association within models so negative and so positive by luck, and the correlation."""
    x, y = within(prediction[:, None], model), within(outcome[:, None], model)
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    if size <= 0.0:
        return 1.0, 1.0, 0.0
    drawn = resampled_sums(x[:, 0], y, exchanging(y, model, cluster), np.random.default_rng(seed))
    observed, slack = float(y[:, 0] @ x[:, 0]), TIE * size
    low, high = (drawn <= observed + slack).sum(), (drawn >= observed - slack).sum()
    return float(1 + low) / (1 + DRAWS), float(1 + high) / (1 + DRAWS), observed / size


def level_p_value(difference: FloatArray, cluster: IntArray, seed: int) -> tuple[float, float]:
    """Chance of a mean so far from zero if every cluster's sign were luck, and the mean."""
    target, one = difference[:, None], np.ones(len(difference))
    drawn = np.abs(resampled_sums(one, target, flipping(target, cluster), np.random.default_rng(seed)))
    observed, slack = abs(float(difference.sum())), TIE * float(np.abs(difference).sum())
    return float(1 + (drawn >= observed - slack).sum()) / (1 + DRAWS), float(difference.mean())

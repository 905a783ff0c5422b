"""The error of values that are weighted to a target: the target's contexts are a sample too.

Balanced weights carry the sampling error of the target's means into the values, and remove that of the experiment's:

    variance of the values = variance with known weights + f (1 / m - 1 / n_eff)

f is the variance of the mean outcome between contexts that the balanced features explain, m counts the target's
contexts and n_eff the experiment's effective rows. Where the difference is negative, variances are left as they are:
they are a little too large.
"""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.value.transport import TransportWeights

MIN_ROWS_PER_TERM = 2.0  # effective rows per coefficient; with fewer, f is all of the variance
TINY = 1e-300  # of a model whose rows all have weight zero


def target_sampling_variance(weights: TransportWeights, model: IntArray, outcome: FloatArray) -> float:
    """What to add to the variance of every value; the error is common to all models, so differences do not have it.

    ``model`` and ``outcome`` (n,) are columns of the experiment.
    """
    factor = 1.0 / weights.target_contexts - 1.0 / weights.effective_rows
    return factor * explained_variance(weights, model, outcome) if factor > 0 else 0.0


def explained_variance(weights: TransportWeights, model: IntArray, outcome: FloatArray) -> float:
    """Variance of the outcome within models that a linear function of the features explains, less what chance would.

    With few rows it is all of the variance.
    """
    share, effective_rows = weights.weight / weights.weight.sum(), weights.effective_rows
    models, code = np.unique(model, return_inverse=True)
    indicator = np.eye(len(models))[code]
    columns = np.column_stack([outcome, weights.balanced])
    means = indicator.T @ (share[:, None] * columns) / np.maximum(indicator.T @ share, TINY)[:, None]
    centered = np.sqrt(share)[:, None] * (columns - means[code])
    coef, _, rank, _ = np.linalg.lstsq(centered[:, 1:], centered[:, 0])
    total = float((centered[:, 0] ** 2).sum())
    residual = float(((centered[:, 0] - centered[:, 1:] @ coef) ** 2).sum())
    spent = rank + len(models)
    if effective_rows < MIN_ROWS_PER_TERM * spent:
        return total
    noise = residual * effective_rows / (effective_rows - spent)
    return float(max(total * effective_rows / (effective_rows - len(models)) - noise, 0.0))

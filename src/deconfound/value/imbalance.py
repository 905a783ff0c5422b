"""What differs between a weighted experiment and its target, also in features that the weights do not balance.

Checked are the balanced features, products of columns, the shares of rows below five quantiles of the target in each
column, and principal components beyond the balanced ones.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from deconfound.design import FloatArray
from deconfound.value.balance import TwoSamples, products

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
LEVEL = 0.01  # of all features together, by Bonferroni; estimated weights are treated as known
MAX_PRODUCT_COLUMNS = 20


def checked_features(columns: FloatArray, further: FloatArray, split: int) -> FloatArray:
    """Features (n + m, c) of columns and ``further`` ones that weighting may have left different."""
    limits = np.quantile(columns[split:], QUANTILES, axis=0)
    below = [(columns < limit).astype(np.float64) for limit in limits]
    return np.hstack([further, products(columns[:, :MAX_PRODUCT_COLUMNS]), *below])


def remaining_imbalance(samples: TwoSamples, weight: FloatArray) -> float:
    """Largest significant difference of a feature's mean from the target's, in standard deviations; 0 if there is none.

    Without the test the largest of hundreds of features would always differ.
    """
    difference, error = np.abs(samples.difference(weight)), samples.standard_error(weight)
    z = np.divide(difference, error, out=np.zeros_like(difference), where=error > 0)
    effective_rows = weight.sum() ** 2 / (weight @ weight)
    significant = 2 * stdtr(max(effective_rows - 1, 1.0), -z) * max(len(z), 1) < LEVEL
    return float(difference[significant].max(initial=0.0))

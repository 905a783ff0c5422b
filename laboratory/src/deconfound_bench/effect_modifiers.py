"""Effect modifiers of a pool's rows, scaled by each log as the package scales those of a study."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.features.blocks import Scaling, fit_scaling
from deconfound.features.modifiers import WORD_BUCKETS
from deconfound.threads import one_blas_thread
from deconfound.words.prompt_style import STATISTICS


def fit_modifier_scaling(log: FloatArray, counts: IntArray) -> Scaling:
    """Learn the scale from the unscaled modifiers of a log's distinct rows and their counts."""
    with one_blas_thread():
        return fit_scaling(log, counts, (WORD_BUCKETS, STATISTICS))


def scale_modifiers(scaling: Scaling, unscaled: FloatArray) -> FloatArray:
    """Modifiers of any rows, with mean square norm 1 over the log."""
    return np.asarray(scaling.standardize(unscaled) * scaling.weight)

"""How far the models' outputs overlap: which other models could have written the output of each experiment row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.design import UNKNOWN_MODEL, FloatArray, IntArray

PROPENSITY_RTOL = 1e-9  # declared propensities of one model that differ by less are equal
PROBABILITY_ATOL = 1e-9  # rounding of probabilities that sum to one
DECLARED_ATOL = 0.005  # of one propensity: six models are declared with 0.17 each, and sum to 1.02


@dataclass(frozen=True, slots=True)
class OutputOverlap:
    """Summary of P(model | context, output) over the experiment's rows of compared models."""

    effective_models: float  # mean over rows of 1 / sum_a P_a^2: 1 without overlap, k if all models write the same
    shared_rows: float  # share of rows whose output another model could have written
    own_probability: FloatArray  # (k,) mean probability of the model that did write the output; NaN without rows

    @classmethod
    def from_probability(cls, output_probability: FloatArray, model: IntArray) -> Self:
        """Summarize ``output_probability`` (n, k) of rows written by ``model`` (n,)."""
        compared = np.flatnonzero(model != UNKNOWN_MODEL)
        count = output_probability.shape[1]
        if not len(compared):
            return cls(1.0, 0.0, np.full(count, np.nan))
        probability, model = output_probability[compared], model[compared]
        own = probability[np.arange(len(model)), model]
        rows = np.bincount(model, minlength=count)
        total = np.bincount(model, weights=own, minlength=count)
        return cls(
            effective_models=float((1 / (probability**2).sum(axis=1)).mean()),
            shared_rows=float((own < 1 - PROBABILITY_ATOL).mean()),
            own_probability=np.divide(total, rows, out=np.full(count, np.nan), where=rows > 0),
        )


def assigned(model: IntArray, count: int) -> FloatArray:
    """1{model_j = a} (n, k); a row of zeros for a model that is not compared."""
    return np.asarray(np.asarray(model)[:, None] == np.arange(count), dtype=np.float64)


def propensities_by_model(model: IntArray, propensity: FloatArray, count: int) -> FloatArray | None:
    """The propensity of every model in every row (n, k), from that of the assigned model alone.

    Possible if each model always had the same propensity, or if there are two models. A model without rows has a known
    propensity only if all models share one. None if the propensities cannot be inferred.
    """
    by_model = np.full(count, np.nan)
    for a in range(count):
        own = propensity[model == a]
        if len(own):
            if np.ptp(own) > PROPENSITY_RTOL * own.max():
                return _complements(model, propensity) if count == 2 else None
            by_model[a] = own[0]
    missing = np.isnan(by_model)
    if missing.all() or (missing.any() and np.ptp(propensity) > PROPENSITY_RTOL * propensity.max()):
        return None
    by_model[missing] = propensity[0]
    if by_model.sum() > 1 + count * DECLARED_ATOL:
        return None
    return np.tile(by_model, (len(model), 1))


def _complements(model: IntArray, propensity: FloatArray) -> FloatArray | None:
    """What the assigned one of two models leaves to the other."""
    if (model == UNKNOWN_MODEL).any() or (propensity >= 1).any():
        return None
    both = np.column_stack([1 - propensity, 1 - propensity])
    both[np.arange(len(model)), model] = propensity
    return both

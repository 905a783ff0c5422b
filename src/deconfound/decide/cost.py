"""What one output of each model costs, in units of the outcome from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deconfound.data import Study
from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import did_you_mean, join_names, quote

MAX_COST = 1e6  # in units of the outcome; more than any outcome can be worth


def cost_vector(models: Sequence[str], cost: FloatArray | None) -> FloatArray:
    """Cost of each model in outcome units (k,); zero unless given."""
    if cost is None:
        return np.zeros(len(models))
    checked = np.asarray(cost, dtype=np.float64)
    if checked.shape != (len(models),) or not np.isfinite(checked).all():
        raise UsageError(f"cost must be one finite number, in outcome units, for each of the {len(models)} models.")
    return checked


def costs_by_model(study: Study, cost: Mapping[str, float]) -> FloatArray:
    """Costs (k,) from a mapping in units of the user's outcome; every model needs one, and no other name may occur."""
    for name in cost:
        if name not in study.models:
            near = did_you_mean(name, study.models) or "."
            raise UsageError(f"cost (--cost): no model {quote(name)}{near} There are {join_names(study.models)}.")
    missing = [name for name in study.models if name not in cost]
    if missing:
        raise UsageError(
            f"cost (--cost): none is given for {join_names(missing)}. Every model needs one; 0 if it is free."
        )
    extreme = [name for name, amount in cost.items() if not abs(amount) <= MAX_COST]
    if extreme:
        raise UsageError(
            f"cost (--cost) of {join_names(extreme)}: a cost is a finite number from {-MAX_COST:,.0f} to "
            f"{MAX_COST:,.0f}, in units of the outcome."
        )
    low, high = study.outcome_range
    return cost_vector(study.models, np.array([float(cost[name]) for name in study.models])) / abs(high - low)

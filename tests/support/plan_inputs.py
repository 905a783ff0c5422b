"""What is known of a few models, in numbers, for plans to be made of it."""

from __future__ import annotations

import numpy as np

from deconfound.plan import Evidence


def evidence(
    row: tuple[float, ...] = (0.04, 0.04),
    mean: tuple[float, ...] = (0.6, 0.5),
    context: float = 0.0,
    doubt: float = 0.0,
) -> Evidence:
    """Models with given variances of a row and values; ``context`` on the diagonal is what the reward explains."""
    count = len(row)
    return Evidence(
        models=tuple("abcdefgh"[:count]),
        outcome=np.array(row) + context,
        row=np.array(row),
        context=context * np.eye(count),
        excess=np.zeros(count),
        skew=np.zeros(count),
        independent=np.ones(count),
        mean=np.array(mean),
        doubt=doubt * np.eye(count),
        variance_range=(0.8, 1.25),
        source="numbers",
    )

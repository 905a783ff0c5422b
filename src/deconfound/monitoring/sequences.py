"""Intervals of values and differences that are valid at every look, and the bounds that the stopping rule uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.design import FloatArray
from deconfound.monitoring.boundary import one_sided_z, two_sided_z
from deconfound.value import Values

MIN_ROWS_PER_MODEL = 20  # at the first look; with fewer, rare extremes are missed too often, see decision 0021


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """Confidence sequences of k models at one look; each statement is meant for all looks together."""

    interval: FloatArray  # (k, 2) of each value; every model's own sequence covers with probability ``level``
    simultaneous_interval: FloatArray  # (k, 2) of all values together
    difference: FloatArray  # (k, k, 2) of every value, by row, less every other, by column; all pairs together
    lead: FloatArray  # (k, k) lower bound of value_i - value_j, by which models are compared with the best one

    @classmethod
    def from_values(cls, values: Values, level: float, share: float, n_models: int | None = None) -> Self:
        """The sequences at a look with ``share`` of the horizon's rows; ``n_models`` counts dropped models, too.

        They are the intervals of one look with larger quantiles, so that small samples, clusters, weights and bounded
        outcomes are treated alike. A statement about several models divides the error rate between them: by models for
        values, by pairs for differences, and by models for ``lead`` (see ``stopping``).
        """
        count, error_rate = n_models or len(values.models), 1 - level
        pairs = max(count * (count - 1) // 2, 1)
        return cls(
            interval=values.interval_at_z(two_sided_z(error_rate, share)),
            simultaneous_interval=values.interval_at_z(two_sided_z(error_rate / count, share)),
            difference=values.differences_at_z(two_sided_z(error_rate / pairs, share)),
            lead=_lead(values, one_sided_z(error_rate / count, share)),
        )


def _lead(values: Values, z: float) -> FloatArray:
    lead = values.differences_at_z(z)[:, :, 0]
    np.fill_diagonal(lead, 0.0)
    return lead

"""Bring statistics and columns of any unit to one scale, learned from the log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray

CLIP = 5.0
"""Standard deviations from the log's mean beyond which a value counts no further."""

CONSTANT = 1e-12
"""Spread, relative to the largest value, below which a column is rounding error around a constant."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """The log's mean and standard deviation of each column, and the weight of each standardised column in phi."""

    mean: FloatArray  # (s,)
    spread: FloatArray  # (s,), zero for a constant column
    weight: FloatArray  # (s,)

    def standardise(self, values: FloatArray) -> FloatArray:
        """Columns of mean 0 and standard deviation 1 over the log, clipped at ``CLIP``; constant columns are 0."""
        varies = self.spread > 0
        scaled = np.zeros(values.shape)
        # Clipped from far outside before the division, or a column of tiny spread could overflow.
        reach = CLIP * self.spread[varies]
        scaled[:, varies] = np.clip(values[:, varies] - self.mean[varies], -reach, reach) / self.spread[varies]
        return scaled


def fit_scaling(values: FloatArray, counts: IntArray, groups: tuple[int, ...]) -> Scaling:
    """Learn from the log's distinct rows and their counts.

    ``groups`` are the widths of the blocks that the columns form. The weights give the whole a mean square norm of 1
    over the log and each block that varies an equal part in it, however many columns it has.
    """
    share = counts / counts.sum()
    peak = np.abs(values).max(axis=0)
    peak[peak == 0] = 1.0
    unit = values / peak
    mean = share @ unit
    spread = np.sqrt(share @ (unit - mean) ** 2)
    spread[spread <= CONSTANT] = 0.0
    plain = Scaling(mean * peak, spread * peak, np.ones(values.shape[1]))
    squares = np.split(share @ plain.standardise(values) ** 2, np.cumsum(groups)[:-1])
    totals = np.array([block.sum() for block in squares])
    varying = np.count_nonzero(totals)
    weights = np.divide(1.0, np.sqrt(totals * varying), out=np.zeros(len(totals)), where=totals > 0)
    return Scaling(plain.mean, plain.spread, np.repeat(weights, groups))

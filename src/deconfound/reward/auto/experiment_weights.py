"""How much each experiment row counts in the posterior mean, for any subsets of the experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.reward.auto.gaussian import ConditionalRows
from deconfound.reward.fit import clip


class ExperimentWeights:
    """Weights of the experiment's rows after observing a subset of them; each subset is solved once."""

    def __init__(self, rows: ConditionalRows, experiment: Rows, prior_mean: float, noise: float) -> None:
        self._rows = rows
        self._noise = noise / experiment.weight_or_ones
        self._residual = experiment.require_outcome() - prior_mean
        self._prior_mean = prior_mean
        self._solved: dict[bytes, FloatArray] = {}  # by the bytes of the subset

    def of(self, trains: Sequence[IntArray]) -> list[FloatArray]:
        """The weights (n,) of each subset; subsets that were not asked for before are solved together."""
        new = [train for train in trains if train.tobytes() not in self._solved]
        if new:
            weights = self._rows.solve_all(self._residual, self._noise, new)
            self._solved.update(zip((train.tobytes() for train in new), weights, strict=True))
        return [self._solved[train.tobytes()] for train in trains]

    def predictions(self, trains: Sequence[IntArray]) -> list[FloatArray]:
        """For each subset, the clipped reward of every experiment row (n,)."""
        return [np.asarray(clip(self._prior_mean + self._rows.predict(weights))) for weights in self.of(trains)]

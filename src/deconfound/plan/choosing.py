"""How likely the model with the highest estimate is the best, and what it costs if it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.linalg import one_blas_thread
from deconfound.plan.evidence import Evidence
from deconfound.value.small_sample import ROUNDING_ATOL

DRAWS = 10_000  # a probability is then known to half a point
SEED = 20_240_301  # the same draws for every number of rows, so that curves are smooth


@dataclass(frozen=True, slots=True)
class Chooser:
    """Possible values of the models and the luck of an experiment, drawn once.

        value ~ Normal(mean, doubt),   estimate = value + sqrt(row / n_a) * luck + context luck / sqrt(n + elsewhere)

    Averaged over the values that are still possible, so the probability is what to expect now and not what would hold
    if the gaps were known.
    """

    value: FloatArray  # (k, draws)
    behind: FloatArray  # (k, draws) how far each model falls short of the best
    own: FloatArray  # (k, draws) luck of each model's own rows, standard normal
    row: FloatArray  # (k,) variance of a row
    shared: FloatArray  # (k, draws) luck of one context
    elsewhere: int

    @classmethod
    def of(cls, evidence: Evidence, elsewhere: int = 0) -> Chooser:
        """Draw values and luck."""
        count = len(evidence.models)
        first, own, last = np.random.default_rng(SEED).standard_normal((3, count, DRAWS))
        with one_blas_thread():
            value = evidence.mean[:, None] + _root(evidence.doubt) @ first
            shared = _root(evidence.context) @ last
        return cls(value, value.max(axis=0) - value, own, evidence.row, shared, elsewhere)

    def regrets(self, rows: FloatArray) -> FloatArray:
        """Loss (draws,) of serving the model that comes out first."""
        total = float(rows.sum())
        # Models are drawn, so the rows of each vary, and the mean of 1 / rows is above 1 / mean.
        drawn = (1 + (1 - rows / total) / rows) / rows
        error = np.sqrt(self.row * drawn)[:, None] * self.own + self.shared / np.sqrt(total + self.elsewhere)
        chosen = (self.value + error).argmax(axis=0)
        return np.asarray(self.behind[chosen, np.arange(len(chosen))])

    def best(self, rows: FloatArray, within: float = 0.0) -> float:
        """Probability that the model chosen is the best, or no more than ``within`` worse."""
        return share_within(self.regrets(rows), within)

    def regret(self, rows: FloatArray) -> float:
        """Expected loss against the best model."""
        return float(self.regrets(rows).mean())


def share_within(regrets: FloatArray, within: float) -> float:
    """Share of losses that are at most ``within``, rounding aside."""
    return float((regrets <= within + ROUNDING_ATOL).mean())


def _root(covariance: FloatArray) -> FloatArray:
    spread, axes = np.linalg.eigh(covariance)
    return np.asarray(axes * np.sqrt(np.maximum(spread, 0.0)))

"""Which model to use on which context, and where the data cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from deconfound.design import FloatArray, IntArray
from deconfound.material import Cells
from deconfound.metrics import choices
from deconfound.reward import RewardFit

Verdict = Literal["clear", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One context's best model and how sure that is.

    ``margin`` is its lead over the runner-up. The verdict is "cannot tell" where the margin's interval covers zero;
    the model is then only the better guess.
    """

    context_id: str
    model: str
    q: float
    low: float
    high: float
    runner_up: str
    margin: float
    margin_low: float
    margin_high: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """A fitted reward, its bootstrap refits and the error of the models' values: all that a recommendation needs."""

    models: tuple[str, ...]
    balance: float
    reward: RewardFit
    replicates: tuple[RewardFit, ...]
    covariance: FloatArray  # (k, k) of the doubly robust values

    def recommend(self, cells: Cells, level: float) -> tuple[Recommendation, ...]:
        """The best model of each replayed context.

        A lead's variance is the spread of the refits plus that of the two models' average difference: a reward
        borrowed from the log hardly moves between refits, and yet its lead on one context cannot be known better
        than the experiment knows the lead on average. A family that never looks at the experiment has no refits
        and so can tell nothing.
        """
        q = cells.q(self.reward, self.balance)
        refits = [cells.q(fit, self.balance) for fit in self.replicates]
        spread = _Spread.of(q, refits, self.covariance, level)
        return tuple(self._one(cells.contexts[i], q[i], spread, i) for i in range(len(q)))

    def _one(self, context_id: str, q: FloatArray, spread: _Spread, at: int) -> Recommendation:
        best, second = spread.best[at], spread.second[at]
        margin, half, give = float(q[best] - q[second]), float(spread.margin[at]), float(spread.q[at])
        low, high = max(margin - half, -1.0), min(margin + half, 1.0)
        return Recommendation(
            context_id,
            self.models[best],
            float(q[best]),
            max(float(q[best]) - give, 0.0),
            min(float(q[best]) + give, 1.0),
            self.models[second],
            margin,
            low,
            high,
            "clear" if low > 0 else "cannot tell",
        )


@dataclass(frozen=True, slots=True)
class _Spread:
    """Best and second model of each context with the half-widths of their value and lead."""

    best: IntArray
    second: IntArray
    q: FloatArray
    margin: FloatArray

    @classmethod
    def of(cls, q: FloatArray, refits: Sequence[FloatArray], covariance: FloatArray, level: float) -> _Spread:
        at = np.arange(len(q))
        best = choices(q)
        others = q.copy()
        others[at, best] = -np.inf
        second = choices(others)
        if len(refits) < 2:
            return cls(best, second, np.ones(len(q)), np.full(len(q), 2.0))
        stacked = np.stack(refits)  # (refits, contexts, models)
        quantile = float(stdtrit(len(refits) - 1, 0.5 + level / 2))
        lead = stacked[:, at, best] - stacked[:, at, second]
        own = np.diag(covariance)
        apart = own[best] + own[second] - 2 * covariance[best, second]
        value = np.sqrt(stacked[:, at, best].var(axis=0, ddof=1) + own[best])
        return cls(best, second, quantile * value, quantile * np.sqrt(lead.var(axis=0, ddof=1) + np.maximum(apart, 0)))

"""Which model to use on which context, and where the data cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from deconfound.design import FloatArray, IntArray, Rows
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
    """A fitted reward with its bootstrap refits: all that a recommendation needs."""

    models: tuple[str, ...]
    balance: float
    reward: RewardFit
    replicates: tuple[RewardFit, ...]

    def recommend(self, cells: Cells, level: float) -> tuple[Recommendation, ...]:
        """The best model of each replayed context, with intervals from the spread of the refits.

        The intervals hold the experiment's sampling error, not the bias that a reward may share with the log; a
        family that never looks at the experiment has no refits and so can tell nothing.
        """
        rows = cells.rows(self.balance)
        q = cells.average(self.reward.predict(rows))
        spread = _Spread.of(q, [cells.average(predicted) for predicted in _predictions(self.replicates, rows)], level)
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


def _predictions(fits: Sequence[RewardFit], rows: Rows) -> list[FloatArray]:
    return [fit.predict(rows) for fit in fits]


@dataclass(frozen=True, slots=True)
class _Spread:
    """Best and second model of each context with the half-widths of their value and lead."""

    best: IntArray
    second: IntArray
    q: FloatArray
    margin: FloatArray

    @classmethod
    def of(cls, q: FloatArray, refits: Sequence[FloatArray], level: float) -> _Spread:
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
        return cls(
            best, second, quantile * stacked[:, at, best].std(axis=0, ddof=1), quantile * lead.std(axis=0, ddof=1)
        )

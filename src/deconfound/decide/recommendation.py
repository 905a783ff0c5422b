"""Which model to use on which context, and where the data cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from deconfound.decide.calibration import Calibration
from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.features.study_arrays import ReplayArrays
from deconfound.metrics import argmax_model
from deconfound.reward import RewardFit
from deconfound.value.joint import check_level

Verdict = Literal["clear", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One context's best model and how sure that is.

    The best model is the one with the largest value as far as outcomes bear it out: a reward whose differences
    between contexts never came true leaves the model that is best on average. ``margin`` is its lead over the
    runner-up as far as outcomes bear it out, net of cost. ``error`` is the probability that any other model is
    better here; the verdict is "clear" where that is at most 1 - level, and so, on average, at most that share of
    clear contexts have another best model. Otherwise the model is only the better guess. ``regret`` bounds the loss
    to expect against the context's best model.
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
    error: float = 1.0
    regret: float = 1.0


@dataclass(frozen=True, slots=True)
class Policy:
    """A fitted reward, its bootstrap refits and the error of the models' values: all that a recommendation needs."""

    models: tuple[str, ...]
    surface_share: float
    reward: RewardFit
    bootstrap_fits: tuple[RewardFit, ...]
    covariance: FloatArray  # (k, k) of the doubly robust values
    calibration: Calibration | None = None
    cost: FloatArray | None = None  # (k,) in outcome units; recommendations are by q - cost

    def recommend(self, cells: ReplayArrays, level: float) -> tuple[Recommendation, ...]:
        """The best model of each replayed context; the verdict on one does not depend on the others.

        A family that never looks at the experiment has no refits and so can tell nothing.
        """
        check_level(level)
        price = cost_vector(self.models, self.cost)
        replay = cells.rows(self.surface_share)
        q = self.reward.mean_by_cell(replay)
        refits = [fit.mean_by_cell(replay) for fit in self.bootstrap_fits]
        known = self.calibration or Calibration.trusting(len(self.models))
        leads = _Leads.of(q, refits, self.covariance, known, price, replay.draw_counts())
        return tuple(self._one(cells.contexts[i], q[i], leads, i, level) for i in range(len(q)))

    def _one(self, context_id: str, q: FloatArray, leads: _Leads, at: int, level: float) -> Recommendation:
        best, second = leads.best[at], leads.second[at]
        margin, error = float(leads.lead[at, second]), float(leads.wrong[at])
        half = leads.half(at, second, level)
        give = leads.half(at, best, level)
        return Recommendation(
            context_id,
            self.models[best],
            float(q[best]),
            max(float(q[best]) - give, 0.0),
            min(float(q[best]) + give, 1.0),
            self.models[second],
            margin,
            max(margin - half, min(-1.0, margin)),
            min(margin + half, max(1.0, margin)),
            "clear" if error <= 1 - level else "cannot tell",
            error,
            float(leads.regret[at]),
        )


def cost_vector(models: Sequence[str], cost: FloatArray | None) -> FloatArray:
    """Cost of each model in outcome units (k,), nothing unless given."""
    if cost is None:
        return np.zeros(len(models))
    found = np.asarray(cost, dtype=np.float64)
    if found.shape != (len(models),) or not np.isfinite(found).all():
        raise UsageError(f"cost must hold one finite number, in outcome units, for each of the {len(models)} models.")
    return found


@dataclass(frozen=True, slots=True)
class _Leads:
    """Leads of each context's best model over the others, and what may be wrong with them."""

    best: IntArray  # (n,)
    second: IntArray  # (n,)
    lead: FloatArray  # (n, k)
    spread: FloatArray  # (n, k) standard error of the lead; in the best model's own column that of its q
    df: FloatArray  # (n, k)
    wrong: FloatArray  # (n,) probability that another model is better
    regret: FloatArray  # (n,)

    @classmethod
    def of(
        cls,
        q: FloatArray,
        refits: Sequence[FloatArray],
        covariance: FloatArray,
        known: Calibration,
        price: FloatArray,
        draws: FloatArray,
    ) -> _Leads:
        """A lead's variance adds up

        - the error of the average lead, which no lead on one context can be known better than,
        - that of the slope, and of the reward as far as it is believed: between refits and between draws,
        - what differs between contexts and no reward sees.
        """
        own, at = np.diag(covariance), np.arange(len(q))
        part, central = q - known.average, known.centre - price
        rest = central + known.slope * part
        best = argmax_model(rest)
        rest[at, best] = -np.inf
        further = part[at, best][:, None] - part
        lead = central[best][:, None] - central + known.slope * further
        moved = _moved(refits, best, q.shape)
        drawn = known.noise / np.maximum(draws, 1.0)
        with np.errstate(invalid="ignore"):
            believed = np.where(np.isinf(moved), np.inf, known.slope * (moved + drawn + drawn[at, best][:, None]))
            average = own[best][:, None] + own - 2 * np.where(np.isfinite(covariance), covariance, 0.0)[best]
            doubt = np.where(further == 0, 0.0, known.slope_error**2 * further**2)
        variance = np.maximum(average, 0.0) + doubt + believed + 2 * known.unseen
        variance[at, best] = own[best] + moved[at, best] + drawn[at, best]
        spread = np.sqrt(variance)
        df = np.minimum(np.minimum(known.df[best][:, None], known.df), max(len(refits) - 1, 1))
        others = np.ones(q.shape, dtype=np.bool_)
        others[at, best] = False
        reach = 1.0 + price[best] - price.min()
        regret = np.minimum(_loss(lead, spread, others), reach)
        return cls(best, argmax_model(rest), lead, spread, df, _wrong(lead, spread, df, others), regret)

    def half(self, context: int, model: int, level: float) -> float:
        """Half-width of one interval; two, the widest there is, where nothing is known."""
        spread = self.spread[context, model]
        return float(stdtrit(self.df[context, model], 0.5 + level / 2) * spread) if np.isfinite(spread) else 2.0


def _moved(refits: Sequence[FloatArray], best: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """Variance between refits of each lead (n, k), and of the best model's q in its own column; infinite without."""
    if len(refits) < 2:
        return np.full(shape, np.inf)
    at, stacked = np.arange(shape[0]), np.stack(refits)
    first = stacked[:, at, best]
    found = (first[:, :, None] - stacked).var(axis=0, ddof=1)
    found[at, best] = first.var(axis=0, ddof=1)
    return np.asarray(found)


def _wrong(lead: FloatArray, spread: FloatArray, df: FloatArray, others: NDArray[np.bool_]) -> FloatArray:
    """Probability that any of the others leads instead (n,): at most the sum of each one's."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(lead == 0, 0.0, lead / spread)
    return np.asarray(np.minimum(np.where(others, stdtr(df, -t), 0.0).sum(axis=1), 1.0))


def _loss(lead: FloatArray, spread: FloatArray, others: NDArray[np.bool_]) -> FloatArray:
    """Expected loss to the others (n,), at most the sum over them of E max(-lead, 0) under normal errors."""
    sure = np.where(np.isfinite(spread), spread, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(lead == 0, 0.0, lead / sure)
    density = np.exp(-0.5 * np.minimum(z**2, 1e3)) / np.sqrt(2 * np.pi)
    loss = np.where(np.isfinite(spread), sure * density - lead * ndtr(-z), np.inf)
    return np.asarray(np.where(others, np.maximum(loss, 0.0), 0.0).sum(axis=1))

"""How wrong an assumption would have to be before another model is recommended.

The unbiased value of model a is

    v_a = mean outcome_a + lambda_a (mean q_a - mean prediction_a)

over the model's own randomized rows for outcome and prediction, and over all contexts for q, with the control-variate
weight lambda_a of the reward. The reported value is v_a moved toward mean q_a (``shrink_toward``), v_a itself, or
mean q_a (method direct). A violation moves one of the means by a shift s_a that no data of the study show:

    replay fidelity (A2)      the replay's outputs would be rated s_a better than what the model really writes:
                              mean q_a moves by s_a and v_a by lambda_a s_a
    outcome consistency (A3)  the experiment rates model a by s_a better than the outcome that matters:
                              mean outcome_a and v_a move by s_a; mean q_a, learned from outcomes, stays or follows

The leader b is rated s too high and a rival r is rated s too low. The tipping shift is the smallest s, over all rivals,
at which the leader's reported value is no longer the highest. Without shrinkage it is

    min over r of (v_b - v_r) / (w_b + w_r),      w = lambda or 1

With it, values are not linear in s, nor is their order settled by its ends: where the source moves far away, nothing
is moved toward it. So s is searched from zero upward, at the estimated errors and weights of the reward. Outcomes lie
in [0, 1], so no shift exceeds one. In the same way, a rival enters the set of possibly best models as soon as no
model's lead over it is significant,

    max over c of (v_c - v_r - t_cr se_cr) / (w_r + w_b 1{c = b})

or it is the first.

A log whose outcomes mean something else is no violation of this kind: it changes the reward alone, whose errors the
experiment corrects. The unit to judge a shift by is the largest difference between two sources that was observed:
between replay and experiment, the reward's mean over replayed and over served outputs of the same contexts; between log
and experiment, the mean outcome of a model. Both contain sampling noise and the second one also confounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray
from deconfound.value.experiment import ScoredExperiment
from deconfound.value.multiple_comparisons import best_set_critical_z, t_quantile_at_z
from deconfound.value.shrinkage import PosteriorGrid
from deconfound.value.values import EQUAL_VALUES_ATOL, Values

ViolatedAssumption: TypeAlias = Literal["A2", "A3"]
MIN_SHIFT, MAX_SHIFT = 1e-6, 1.0
SHIFTS = np.geomspace(MIN_SHIFT, MAX_SHIFT, 600)  # each 2.3 % larger than the one before; then the interval is divided
DIVISIONS, DIVIDED = 16, 8  # so often into so many parts: to 16^-8 of the interval


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The smallest violations of one assumption that change the answer, in outcomes from 0 to 1.

    Shifts are infinite where no violation of this kind changes the answer, and zero where it takes none.
    """

    assumption: ViolatedAssumption
    leader: str
    rival: str  # takes the lead first
    tipping_shift: float
    possible_rival: str  # enters the set of possibly best models first
    best_set_shift: float
    observed_model: str  # with the largest difference between two sources
    observed_difference: float  # its size; NaN if no model has rows in both sources

    @property
    def tipping_ratio(self) -> float:
        """The tipping shift in units of the largest observed difference; infinite if none was observed."""
        return _ratio(self.tipping_shift, self.observed_difference)

    @property
    def best_set_ratio(self) -> float:
        """The same for the set of possibly best models."""
        return _ratio(self.best_set_shift, self.observed_difference)


def estimate_sensitivity(
    values: Values, source: FloatArray, data: ScoredExperiment, raw_log: Values, experiment: Values, level: float
) -> tuple[Sensitivity, ...]:
    """Sensitivity of reported ``values`` to violations of replay fidelity and of outcome consistency.

    ``source`` (k,) is mean q, toward which the values were moved, if at all.
    """
    reported, count = _Reported.from_values(values, source), len(values.models)
    none, all_of_it = np.zeros(count), np.ones(count)
    estimable = np.isfinite(values.standard_error)
    reward_weight = all_of_it if values.reward_weight is None else np.where(estimable, values.reward_weight, 1.0)
    replay = [_Effect(reward_weight, all_of_it)]
    outcomes = [_Effect(all_of_it, none), _Effect(all_of_it, all_of_it)]
    source_difference = np.asarray(raw_log.estimate - experiment.estimate)
    return (
        _sensitivity("A2", reported, replay, replay_differences(data), level),
        _sensitivity("A3", reported, outcomes, source_difference, level),
    )


def replay_differences(data: ScoredExperiment) -> FloatArray:
    """Mean reward of replayed outputs minus that of served outputs, on each model's own rows (k,).

        sum_j w_ja (q(x_j, a) - prediction_j)

    The expectation is zero if the replay runs what the experiment ran. NaN for a model without rows.
    """
    assigned = data.model[:, None] == np.arange(len(data.models))
    weight = assigned * (data.weight / data.propensity)[:, None]
    total = weight.sum(axis=0)
    difference = (weight * (data.q - data.prediction[:, None])).sum(axis=0)
    return np.asarray(np.divide(difference, total, out=np.full(len(total), np.nan), where=total > 0))


@dataclass(frozen=True, slots=True, eq=False)
class _Effect:
    """How far a shift of one moves the unbiased values (k,) and the source (k,)."""

    center: FloatArray
    source: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Reported:
    """How the reported estimates follow from unbiased values and source."""

    values: Values
    leader: int  # first of the ranking
    source: FloatArray  # (k,)
    from_source: NDArray[np.bool_]  # (k,) the source itself is reported
    movable: NDArray[np.bool_]  # (k,) shrunk toward the source
    grid: PosteriorGrid | None  # of the movable models; None where nothing is shrunk

    @classmethod
    def from_values(cls, values: Values, source: FloatArray) -> Self:
        """Shrunken values have a shrinkage fraction; unbiased ones have no center beside the estimate."""
        inestimable = np.isnan(values.center) | ~np.isfinite(values.standard_error)
        every, leader = np.ones(len(values.models), dtype=np.bool_), values.models.index(values.ranking()[0])
        if values.interval_center is None:
            return cls(values, leader, source, ~every, ~every, None)
        if values.shrinkage_fraction is None:
            return cls(values, leader, source, every, ~every, None)
        movable = ~inestimable & np.isfinite(source)
        grid = None
        if movable.any():
            grid = PosteriorGrid.from_covariance(values.covariance[np.ix_(movable, movable)])
        return cls(values, leader, source, inestimable & np.isfinite(source), movable, grid)

    def estimates(self, effect: _Effect, shifts: FloatArray) -> FloatArray:
        """Reported estimates (m, k) if unbiased values and source move by shifts (m, k) times their effect."""
        center = self.values.before_cost.center + shifts * effect.center
        source = self.source + shifts * effect.source
        estimates = np.where(self.from_source, source, center)
        if self.grid is not None:
            estimates[:, self.movable] += self.grid.clipped_steps((source - center)[:, self.movable])
        return np.asarray(estimates - self.values.cost_or_zero)

    def tipping_shift(self, effect: _Effect, rival: int, limit: float) -> float:
        """The smallest shift of leader and rival in opposite directions that makes another model first.

        Some larger value or infinity if it exceeds ``limit``.
        """
        low, high = 0.0, np.inf
        shifts = SHIFTS[: np.searchsorted(SHIFTS, limit) + 1]
        for _ in range(DIVIDED + 1):
            behind = np.flatnonzero(self._leads(effect, rival, shifts) <= 0)
            if len(behind) == 0:
                return high
            at = int(behind[0])
            low, high = shifts[at - 1] if at else low, float(shifts[at])
            shifts = np.linspace(low, high, DIVISIONS + 1)[1:]
        return high

    def _leads(self, effect: _Effect, rival: int, sizes: FloatArray) -> FloatArray:
        """The leader's estimate minus the highest other one (m,) at each size of the shift."""
        direction = np.zeros(len(self.source))
        direction[self.leader], direction[rival] = -1.0, 1.0
        estimates = self.estimates(effect, sizes[:, None] * direction)
        others = np.delete(estimates, self.leader, axis=1)
        return np.asarray(estimates[:, self.leader] - np.where(np.isnan(others), -np.inf, others).max(axis=1))


def _sensitivity(
    assumption: ViolatedAssumption,
    reported: _Reported,
    effects: Sequence[_Effect],
    observed: FloatArray,
    level: float,
) -> Sensitivity:
    values, leader = reported.values, reported.leader
    tipping = _tipping_shifts(reported, effects)
    entering = np.minimum(_best_set_shifts(values, effects[0].center, leader, level), tipping)
    observed = np.where(np.abs(observed) < EQUAL_VALUES_ATOL, 0.0, observed)
    known = np.isfinite(observed)
    largest = int(np.argmax(np.where(known, np.abs(observed), -1.0)))
    rival, possible = int(np.argmin(tipping)), int(np.argmin(entering))
    return Sensitivity(
        assumption=assumption,
        leader=values.models[leader],
        rival=values.models[rival],
        tipping_shift=float(tipping[rival]),
        possible_rival=values.models[possible],
        best_set_shift=float(entering[possible]),
        observed_model=values.models[largest] if known.any() else "",
        observed_difference=float(abs(observed[largest])) if known.any() else np.nan,
    )


def _tipping_shifts(reported: _Reported, effects: Sequence[_Effect]) -> FloatArray:
    """The smallest shift by any of the effects at which each rival is first (k,), zero where it is not behind.

    Rivals that need more than a rival with a larger estimate may have infinity.
    """
    estimate, leader = reported.values.estimate, reported.leader
    shifts = np.full(len(estimate), np.inf)
    for rival in np.argsort(-estimate, kind="stable").tolist():
        if rival == leader:
            continue
        if estimate[leader] - estimate[rival] < EQUAL_VALUES_ATOL:
            shifts[rival] = 0.0
        elif np.isfinite(estimate[rival]):
            limit = float(shifts.min())
            shifts[rival] = min(reported.tipping_shift(effect, rival, limit) for effect in effects)
    return shifts


def _best_set_shifts(values: Values, weight: FloatArray, leader: int, level: float) -> FloatArray:
    """Shift (k,) at which each rival enters the set of possibly best models; infinite for the leader."""
    in_set = set(values.best_set(level))
    estimable = np.flatnonzero(np.isfinite(values.standard_error))
    shifts = np.array([0.0 if name in in_set else np.inf for name in values.models])
    if leader not in estimable or len(estimable) < 2:
        return _without_leader(shifts, leader)
    covariance, pairs = values.covariance[np.ix_(estimable, estimable)], values.differences(estimable.tolist())
    for at, rival in enumerate(estimable.tolist()):
        if values.models[rival] in in_set:
            continue
        z = best_set_critical_z(pairs, covariance, level, at)
        excess = pairs.difference[:, at] - t_quantile_at_z(z, pairs.df[:, at]) * pairs.standard_error[:, at]
        excess[at] = -np.inf
        moved = weight[rival] + np.where(estimable == leader, weight[leader], 0.0)
        shifts[rival] = max(float(_divide(np.maximum(excess, 0.0), moved).max()), 0.0)
    return _without_leader(shifts, leader)


def _without_leader(shifts: FloatArray, leader: int) -> FloatArray:
    shifts = shifts.copy()
    shifts[leader] = np.inf
    return np.where(np.isnan(shifts), np.inf, shifts)


def _divide(gap: FloatArray, weight: FloatArray) -> FloatArray:
    """gap / weight; a gap of zero needs no shift, and without weight no shift closes a gap."""
    return np.divide(gap, weight, out=np.where(gap > 0, np.inf, 0.0), where=weight > 0)


def _ratio(shift: float, observed: float) -> float:
    if shift == 0.0:
        return 0.0
    return shift / observed if observed > 0 else np.inf

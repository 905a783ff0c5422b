"""How wrong an assumption would have to be before another model is recommended.

The unbiased value of model a is

    v_a = mean outcome_a + lambda_a (mean q_a - mean prediction_a)

over the model's own randomized rows for outcome and prediction, and over all contexts for q, with the control-variate
weight lambda_a of the reward. A violation moves one of the means by a shift s_a that no data of the study show:

    replay fidelity (A2)      the replay's outputs would be rated s_a better than what the model really writes:
                              mean q_a moves by s_a and the value by lambda_a s_a
    outcome consistency (A3)  the experiment rates model a by s_a better than the outcome that matters:
                              mean outcome_a and the value move by s_a

So the truth is v_a - w_a s_a with w_a = lambda_a or 1. Let every |s_a| be at most s. The leader b and a rival r change
places as soon as w_b s + w_r s reaches v_b - v_r, at shifts of opposite sign, so

    tipping shift = min over r of (v_b - v_r) / (w_b + w_r)

No smaller violation changes the order; a violation of this size does so only in the worst direction. In the same way,
the rival enters the set of possibly best models at the smallest s at which no model's lead over it is significant:

    max over c of (v_c - v_r - t_cr se_cr) / (w_r + w_b 1{c = b})

A log whose outcomes mean something else is no violation of this kind: it changes the reward alone, whose errors the
experiment corrects. The unit to judge a shift by is the largest difference between two sources that was observed:
between replay and experiment, the reward's mean over replayed and over served outputs of the same contexts; between log
and experiment, the mean outcome of a model. Both contain sampling noise and the second one also confounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from deconfound.design import FloatArray
from deconfound.value.experiment import ScoredExperiment
from deconfound.value.multiple_comparisons import best_set_critical_z, pairwise_differences, t_quantile_at_z
from deconfound.value.values import Values

ViolatedAssumption: TypeAlias = Literal["A2", "A3"]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The smallest violations of one assumption that change the answer, in outcomes from 0 to 1.

    Shifts are infinite where no violation of this kind can change the answer, and zero where it takes none.
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
    values: Values, data: ScoredExperiment, raw_log: Values, experiment: Values, level: float
) -> tuple[Sensitivity, ...]:
    """Sensitivity to violations of replay fidelity and of outcome consistency."""
    reward_weight = np.ones(len(values.models)) if values.reward_weight is None else values.reward_weight
    source_difference = np.asarray(raw_log.estimate - experiment.estimate)
    return (
        _sensitivity("A2", values, reward_weight, replay_differences(data), level),
        _sensitivity("A3", values, np.ones(len(values.models)), source_difference, level),
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


def _sensitivity(
    assumption: ViolatedAssumption, values: Values, weight: FloatArray, observed: FloatArray, level: float
) -> Sensitivity:
    leader = values.models.index(values.ranking()[0])
    tipping, entering = _tipping_shifts(values, weight, leader), _best_set_shifts(values, weight, leader, level)
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


def _tipping_shifts(values: Values, weight: FloatArray, leader: int) -> FloatArray:
    """Shift (k,) at which each rival reaches the leader; infinite for the leader, zero where it is not behind.

    Models without randomized rows have no unbiased value; their mean prediction stands for it, and moves with weight 1.
    """
    location = np.where(np.isfinite(values.standard_error), values.center, values.estimate)
    weight = np.where(np.isfinite(values.standard_error), weight, 1.0)
    gap = np.maximum(location[leader] - location, 0.0)
    return _without_leader(_divide(gap, weight + weight[leader]), leader)


def _best_set_shifts(values: Values, weight: FloatArray, leader: int, level: float) -> FloatArray:
    """Shift (k,) at which each rival enters the set of possibly best models; infinite for the leader."""
    in_set = set(values.best_set(level))
    estimable = np.flatnonzero(np.isfinite(values.standard_error))
    shifts = np.array([0.0 if name in in_set else np.inf for name in values.models])
    if leader not in estimable or len(estimable) < 2:
        return _without_leader(shifts, leader)
    covariance = values.covariance[np.ix_(estimable, estimable)]
    limit = np.inf if values.max_difference_df is None else values.max_difference_df
    pairs = pairwise_differences(values.center[estimable], covariance, values.df_or_inf[estimable], limit)
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

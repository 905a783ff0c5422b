"""The gain from routing: choosing the model per context, compared with the best single model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from deconfound.decide.calibration import CrossFittedPolicy
from deconfound.decide.cost import cost_vector
from deconfound.design import UNKNOWN_MODEL, FloatArray, IntArray
from deconfound.errors import EvidenceError
from deconfound.metrics import argmax_model
from deconfound.value import MIN_ROWS_PER_MODEL, ScoredExperiment, tuned_doubly_robust
from deconfound.value.clusters import Clusters
from deconfound.value.estimators import cluster_covariance
from deconfound.value.multiple_comparisons import (
    MAX_LEVEL,
    check_level,
    t_quantile_at_z,
    two_sided_z,
)

RoutingVerdict: TypeAlias = Literal["route", "one model", "cannot tell"]

MIN_GAIN = 0.01  # outcome units; a gain of less than one point in a hundred does not pay for a router


@dataclass(frozen=True, slots=True)
class RoutingGain:
    """Value of the recommended policy compared with always using one model; with a cost, everything is net of it.

    ``gain`` is estimated with policies and single models that were chosen without the rows that it is estimated on. Its
    interval is for the gain of the final policy over ``best`` and allows for the choice of ``best`` among near ties.
    ``gain_bound`` is valid over every single model. ``achievable_gain_bound`` limits what any policy could gain.
    ``value`` and ``gain`` are those of the policies of the folds, which were fitted on four fifths of the experiment:
    with few rows the final one is better.
    """

    models: tuple[str, ...]
    value: float  # of the policy; NaN where no experiment row follows it
    value_low: float
    value_high: float
    best: str  # single model with the highest value
    gain: float  # NaN where no experiment row shows it
    gain_low: float
    gain_high: float
    gain_bound: float  # lower bound of the gain over each single model, the best one included
    achievable_gain_bound: float  # upper bound of the gain of the best possible policy
    plug_in_gain: float  # gain if the reward were correct
    model_shares: tuple[float, ...]  # share of contexts for which the policy picks each model
    best_model_share: float  # share of contexts for which the policy picks ``best``
    on_policy_rows: int  # experiment rows whose model is the one that the policy picks
    min_gain: float
    level: float
    verdict: RoutingVerdict

    @property
    def summary(self) -> str:
        """The verdict in plain English."""
        from deconfound.report.decision_text import routing_text

        return routing_text(self)


def routing_gain(
    data: ScoredExperiment,
    policy: CrossFittedPolicy,
    *,
    best: str,
    contenders: int,
    achievable_gain_bound: float = 1.0,
    cost: FloatArray | None = None,
    level: float = 0.95,
    min_gain: float = MIN_GAIN,
) -> RoutingGain:
    """Doubly robust value of choosing per context, and its gain over always using one model.

        policy(x_j) = argmax_a policy.q[j, a] - cost[a]        reference_j = argmax_a policy.values[j, a] - cost[a]
        gain = V(policy) - V(reference)

    Policy and reference of a row are those of the other folds, so neither has seen the row's outcome. ``best`` is the
    model with the highest value, which the reference is in most folds, and ``contenders`` the number of models that may
    be the best. ``cost`` (k,) is in outcome units.

    The folds choose references on each other's rows. Near ties that correlates their errors, at most about as if the
    largest of the contenders' estimates had been chosen: the gain has the level of that many intervals that hold
    together (``joint_level``). The bound over each single model needs no such level, and is also a lower limit of the
    gain over ``best``: if it is too high for any model, it is too high for the truly best one.

    The verdict is "route" where the gain over each single model is significantly positive, and "one model" where
    neither this policy nor any other can gain ``min_gain``.
    """
    check_level(level)
    cost = cost_vector(data.models, cost)
    if data.n_clusters < MIN_ROWS_PER_MODEL:
        raise EvidenceError("Routing cannot be evaluated on a single context or cluster. Randomize on more contexts.")
    policy_model, reference = (argmax_model(each - cost) for each in (policy.q, policy.values))
    n = _effective_clusters(data)
    gain = _gain_over(reference, data, policy_model, cost, joint_level(level, contenders), n)
    singles = (np.full(len(data.q), b) for b in range(len(data.models)))
    bound = min(_gain_over(single, data, policy_model, cost, level, n).low for single in singles)
    bound = float(np.fmin(bound, gain.estimate))
    shares = np.bincount(policy_model, weights=data.weight, minlength=len(data.models)) / data.weight.sum()
    value, value_low, value_high = _policy_value(data, policy_model, float(shares @ cost), level)
    return RoutingGain(
        models=data.models,
        value=value,
        value_low=value_low,
        value_high=value_high,
        best=best,
        gain=gain.estimate,
        gain_low=max(gain.low, bound),
        gain_high=gain.high,
        gain_bound=bound,
        achievable_gain_bound=achievable_gain_bound,
        plug_in_gain=_plug_in_gain(data.q - cost, data.weight),
        model_shares=tuple(float(share) for share in shares),
        best_model_share=float(shares[data.models.index(best)]),
        on_policy_rows=int((policy_model == data.model).sum()),
        min_gain=min_gain,
        level=level,
        verdict=_verdict(gain, bound, achievable_gain_bound, min_gain),
    )


def _verdict(gain: _Gain, bound: float, achievable_gain_bound: float, min_gain: float) -> RoutingVerdict:
    if bound > 0:
        return "route"
    return "one model" if max(gain.high, achievable_gain_bound) < min_gain else "cannot tell"


@dataclass(frozen=True, slots=True)
class _Gain:
    """Gain of the policy; NaN with the widest possible interval where it cannot be estimated."""

    estimate: float
    low: float
    high: float


def _gain_over(
    reference: IntArray, data: ScoredExperiment, policy_model: IntArray, cost: FloatArray, level: float, clusters: float
) -> _Gain:
    """Gain over the model of ``reference`` (n,), estimated on the contexts for which the policy picks another.

    ``clusters`` is their effective number.

        V(policy) - V(reference) = s * D,      s = share of those contexts,  D = mean difference on them
        se^2 = s^2 se(D)^2 + (D^2 + se(D)^2) se(s)^2

    On all other contexts the difference is zero. Restricting the rows shows how few of them there are.
    """
    differs = policy_model != reference
    weight = data.weight / data.weight.mean()
    share, z = float(np.mean(weight * differs)), two_sided_z(level)
    # A difference is at most one outcome plus the difference in cost, and zero where the two agree.
    max_share, cost_range = _wilson_upper_bound(share, clusters, z), float(np.ptp(cost))
    widest = max_share * (1 + cost_range)
    if share == 0:
        return _Gain(0.0, -widest, widest)
    code = np.where(data.model == policy_model, 0, np.where(data.model == reference, 1, UNKNOWN_MODEL))
    rows = _as_models(data, ("policy", "reference"), (policy_model, reference), code).take(differs)
    own_weight = weight[differs]
    values = tuned_doubly_robust(rows) if rows.n_clusters >= MIN_ROWS_PER_MODEL else None
    if values is None or not np.isfinite(values.standard_error).all():
        return _Gain(float("nan"), -widest, widest)
    extra_cost = cost[policy_model[differs]] - cost[reference[differs]]
    mean_cost = float(np.average(extra_cost, weights=own_weight))
    cost_influence = own_weight / own_weight.mean() * (extra_cost - mean_cost)
    cost_variance = cluster_covariance(cost_influence[:, None], rows.cluster)
    share_variance = cluster_covariance((weight * (differs - share))[:, None], data.cluster)
    pair = values.differences()
    difference, df = float(pair.difference[0, 1]) - mean_cost, pair.df[0:1, 1]
    standard_error = float(np.hypot(pair.standard_error[0, 1], np.sqrt(cost_variance[0, 0])))
    total = np.hypot(share * standard_error, np.hypot(difference, standard_error) * np.sqrt(share_variance[0, 0]))
    half_width = float(t_quantile_at_z(z, df)[0] * total)
    gain = float(np.clip(share * difference, -widest, widest))
    return _Gain(gain, max(gain - half_width, -widest), min(gain + half_width, widest))


def _as_models(
    data: ScoredExperiment, names: tuple[str, ...], policies: tuple[IntArray, ...], code: IntArray
) -> ScoredExperiment:
    """The experiment with policies in place of models; ``code`` (n,) is the policy that each row's model follows.

    The prediction of a row is the q that the policy saw, not the reward of the row's own output: a policy picks models
    whose replayed outputs happen to look good, and only the same q has the same excess.
    """
    row = np.arange(len(data.q))
    q = np.column_stack([data.q[row, policy] for policy in policies])
    own = np.where(code == UNKNOWN_MODEL, 0, code)
    return replace(data, models=names, q=q, prediction=q[row, own], model=code)


def _policy_value(
    data: ScoredExperiment, policy_model: IntArray, mean_cost: float, level: float
) -> tuple[float, float, float]:
    """Value of the policy and its interval, net of its mean cost.

    Rows whose noise favors one model make the other folds choose it. So the folds' errors are correlated, at most as if
    the largest of k estimates had been chosen.
    """
    on_policy = np.where(policy_model == data.model, 0, UNKNOWN_MODEL)
    values = tuned_doubly_robust(_as_models(data, ("policy",), (policy_model,), on_policy))
    low, high = values.interval(joint_level(level, len(data.models)))[0]
    return float(values.estimate[0]) - mean_cost, float(low) - mean_cost, float(high) - mean_cost


def joint_level(level: float, count: int) -> float:
    """Level of each of ``count`` intervals that hold together with probability ``level`` (Sidak)."""
    return float(min(level ** (1 / count), MAX_LEVEL))


def _plug_in_gain(net_q: FloatArray, weight: FloatArray) -> float:
    """Gain of the best model of every context over the best model on average, by the reward itself."""
    per_context = np.average(net_q.max(axis=1), weights=weight)
    return float(per_context - np.average(net_q, axis=0, weights=weight).max())


def _effective_clusters(data: ScoredExperiment) -> float:
    """Kish's effective number of clusters, of the way of clustering that has fewest."""
    clusters = Clusters.from_codes(data.cluster, len(data.q))
    weights = (way.sums(data.weight[:, None]) for way in clusters.counted)
    return min(float(weight.sum() ** 2 / (weight**2).sum()) for weight in weights)


def _wilson_upper_bound(share: float, n: float, z: float) -> float:
    """Wilson's upper bound of a share, positive even for a share of zero."""
    center = share + z**2 / (2 * n)
    half_width = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float(min((center + half_width) / (1 + z**2 / n), 1.0))

"""The gain from routing: choosing the model per context, compared with the best single model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from deconfound.decide.recommendation import cost_vector
from deconfound.design import UNKNOWN_MODEL, FloatArray, IntArray
from deconfound.errors import EvidenceError
from deconfound.metrics import argmax_model
from deconfound.value import MIN_ROWS_PER_MODEL, ScoredExperiment, Values, tuned_doubly_robust
from deconfound.value.estimators import cluster_covariance
from deconfound.value.experiment import require_equal_length, require_q_matrix
from deconfound.value.multiple_comparisons import check_level, differences, t_quantile_at_z, two_sided_z

RoutingVerdict: TypeAlias = Literal["route", "one model", "cannot tell"]

MIN_GAIN = 0.01  # outcome units; a gain of less than one point in a hundred does not pay for a router
POLICY = "policy"  # name of the policy's column inside this module


@dataclass(frozen=True, slots=True)
class RoutingGain:
    """Value of the recommended policy compared with the best single model; with a cost, everything is net of it.

    The regret against the best model of every context is not included. It cannot be estimated, because an experiment
    tries one model per context; ``Recommendation.expected_regret_bound`` bounds it. ``plug_in_gain`` minus ``gain``
    measures how optimistic the reward is.
    """

    models: tuple[str, ...]
    value: float  # of the policy; NaN where no experiment row follows it
    value_low: float
    value_high: float
    best: str  # single model with the highest value
    gain: float  # smallest of the gains over each single model
    gain_low: float
    gain_high: float
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
    policy_q: FloatArray | None = None,
    *,
    cost: FloatArray | None = None,
    level: float = 0.95,
    min_gain: float = MIN_GAIN,
) -> RoutingGain:
    """Doubly robust value of choosing per context, and its gain over every single model.

        policy(x_j) = argmax_a policy_q[j, a] - cost[a]        gain = min_b (V(policy) - mu(b))

    ``policy_q`` (n, k), by default the q of ``data``, must be out of fold, so that the policy is evaluated on contexts
    that it was not fitted on. ``cost`` (k,) is in outcome units.

    ``gain_low`` is the smallest of the one-sided bounds: it has to be valid only for the one model that is truly best.
    ``gain_high`` is the smallest of simultaneous bounds, because any model may provide it. It is never negative: where
    models are tied, a policy fitted without a fold tends to pick the models that did badly in that fold, and would be
    called harmful too often.

    The verdict is "one model" where the gain is significantly below ``min_gain`` or the policy picks the same model
    everywhere, and "route" where the gain is significantly positive.
    """
    check_level(level)
    cost = cost_vector(data.models, cost)
    net = data.net_of(cost)
    policy_model = argmax_model(net.q if policy_q is None else _checked(data, policy_q) - cost)
    if data.n_clusters < MIN_ROWS_PER_MODEL:
        raise EvidenceError("Routing cannot be evaluated on a single context or cluster. Randomize on more contexts.")
    values = _values_with_policy(net, policy_model)
    single = Values(data.models, values.estimate[:-1], values.covariance[:-1, :-1], values.method)
    best = single.ranking()[0]
    gain = _smallest([_gain_over(b, net, policy_model, cost, level) for b in range(len(data.models))])
    shares = np.bincount(policy_model, weights=data.weight, minlength=len(data.models)) / data.weight.sum()
    value_low, value_high = _value_interval(values, float(shares @ cost), level)
    return RoutingGain(
        models=data.models,
        value=float(values.estimate[-1]),
        value_low=value_low,
        value_high=value_high,
        best=best,
        gain=gain.estimate,
        gain_low=gain.low,
        gain_high=gain.high,
        plug_in_gain=_plug_in_gain(net),
        model_shares=tuple(float(share) for share in shares),
        best_model_share=float(shares[data.models.index(best)]),
        on_policy_rows=int((policy_model == data.model).sum()),
        min_gain=min_gain,
        level=level,
        verdict=_verdict(gain, min_gain, policy_model),
    )


def _verdict(gain: _Gain, min_gain: float, policy_model: IntArray) -> RoutingVerdict:
    if (policy_model == policy_model[0]).all() or gain.high < min_gain:
        return "one model"
    return "route" if gain.low > 0 else "cannot tell"


def _checked(data: ScoredExperiment, policy_q: FloatArray) -> FloatArray:
    policy_q = np.asarray(policy_q, dtype=np.float64)
    require_q_matrix(data.models, policy_q, "policy_q")
    require_equal_length(len(data.q), {"policy_q": policy_q})
    return policy_q


def _values_with_policy(net: ScoredExperiment, policy_model: IntArray) -> Values:
    """Values of the models and, in the last place, of the policy.

    A row can be evidence for its model and for the policy. Every row therefore enters twice, once with the code of its
    model and once with that of the policy (or of no model, where the two differ). Both copies have the cluster of the
    row, so their common noise is counted as common, and contexts keep their weights. A (k + 1)-th column of influence
    values would give the same numbers up to rounding, but not to the last bit.
    """
    count, rows = len(net.models), np.arange(len(net.q))
    on_policy = np.where(policy_model == net.model, count, UNKNOWN_MODEL)
    q = np.column_stack([net.q, net.q[rows, policy_model]])
    twice = replace(
        net.take(np.tile(rows, 2)),
        models=(*net.models, POLICY),
        q=np.vstack([q, q]),
        model=np.concatenate([net.model, on_policy]),
    )
    return tuned_doubly_robust(twice)


@dataclass(frozen=True, slots=True)
class _Gain:
    """Gain of the policy; NaN with the widest possible interval where it cannot be estimated."""

    estimate: float
    low: float
    high: float


def _smallest(gains: list[_Gain]) -> _Gain:
    estimate = min((gain.estimate for gain in gains if not np.isnan(gain.estimate)), default=float("nan"))
    return _Gain(estimate, min(gain.low for gain in gains), max(min(gain.high for gain in gains), 0.0))


def _gain_over(b: int, net: ScoredExperiment, policy_model: IntArray, cost: FloatArray, level: float) -> _Gain:
    """Gain over model ``b``, estimated on the contexts for which the policy picks another model.

        V(policy) - mu(b) = s * D,      s = share of those contexts,  D = mean difference on them
        se^2 = s^2 se(D)^2 + (D^2 + se(D)^2) se(s)^2

    On all other contexts the difference is zero. Restricting the rows shows how few of them there are.
    """
    differs = policy_model != b
    weight = net.weight / net.weight.mean()
    share = float(np.mean(weight * differs))
    z, bonferroni_z = two_sided_z(level), float(-ndtri((1 - level) / 2 / len(net.models)))
    # A difference is at most one outcome plus the difference in cost, and zero where the policy picks b.
    max_share = _wilson_upper_bound(share, net, z)
    floor, ceiling = -max_share * (1 + float(cost.max() - cost[b])), max_share * (1 + float(cost[b] - cost.min()))
    if share == 0:
        return _Gain(0.0, floor, ceiling)
    values = _values_where_policy_differs(b, net.take(differs), policy_model[differs])
    if values is None or not np.isfinite(values.standard_error).all():
        return _Gain(float("nan"), floor, ceiling)
    share_variance = cluster_covariance((weight * (differs - share))[:, None], net.cluster)[0, 0]
    share_standard_error = float(np.sqrt(share_variance))
    pair = differences(values.estimate, values.covariance, values.df_or_inf)
    difference, standard_error, df = pair.difference[0, 1], pair.standard_error[0, 1], pair.df[0:1, 1]
    total = float(np.hypot(share * standard_error, np.hypot(difference, standard_error) * share_standard_error))
    below, above = (float(t_quantile_at_z(quantile, df)[0]) * total for quantile in (z, bonferroni_z))
    gain = share * float(difference)
    return _Gain(gain, float(np.clip(gain - below, floor, ceiling)), float(np.clip(gain + above, floor, ceiling)))


def _values_where_policy_differs(b: int, net: ScoredExperiment, policy_model: IntArray) -> Values | None:
    """Values of the policy and of model ``b`` on rows where the policy picks another; None for a single cluster."""
    if net.n_clusters < MIN_ROWS_PER_MODEL:
        return None
    code = np.where(net.model == policy_model, 0, np.where(net.model == b, 1, UNKNOWN_MODEL))
    q = np.column_stack([net.q[np.arange(len(net.q)), policy_model], net.q[:, b]])
    return tuned_doubly_robust(replace(net, models=(POLICY, net.models[b]), q=q, model=code))


def _plug_in_gain(net: ScoredExperiment) -> float:
    """Gain of the best model of every context over the best model on average, by the reward itself."""
    per_context = np.average(net.q.max(axis=1), weights=net.weight)
    return float(per_context - np.average(net.q, axis=0, weights=net.weight).max())


def _wilson_upper_bound(share: float, data: ScoredExperiment, z: float) -> float:
    """Wilson's upper bound of a share, positive even for a share of zero; n is the effective number of clusters."""
    weight = np.bincount(np.unique(data.cluster, return_inverse=True)[1], weights=data.weight)
    n = float(weight.sum() ** 2 / (weight**2).sum())
    center = share + z**2 / (2 * n)
    half_width = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float(min((center + half_width) / (1 + z**2 / n), 1.0))


def _value_interval(values: Values, mean_cost: float, level: float) -> tuple[float, float]:
    """Interval of the policy's value, inside [0, 1] less the mean cost."""
    value, half_width = float(values.estimate[-1]), float(values.half_width(level)[-1])
    low, high = -mean_cost, 1.0 - mean_cost
    if not np.isfinite(half_width) or np.isnan(value):
        return low, high
    return float(np.clip(value - half_width, low, high)), float(np.clip(value + half_width, low, high))

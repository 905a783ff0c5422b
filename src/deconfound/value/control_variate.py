"""Doubly robust values with the reward as a control variate, weighted so that the variance is smallest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.clusters import Influence
from deconfound.value.estimators import welch_satterthwaite_df
from deconfound.value.experiment import ScoredExperiment, require_finite, require_q_matrix
from deconfound.value.mean_weights import (
    ROUNDING_ATOL,
    ModelWeights,
    clustered_df,
    difference_df_limit,
    independent_rows,
    sum_squared_weight,
)
from deconfound.value.small_sample import OutcomeMeans, binomial_variance, moderated
from deconfound.value.values import Values

MAX_REWARD_WEIGHT = 2.0  # fitted rewards are shrunken, so a weight above one can be right; measured, decision 0008
POOLING_DF = 30.0  # df at which a model's own weight counts as much as the common one; measured, decision 0008
COMPARISON_LEVEL = 0.95  # of the intervals whose widths decide whether the reward is used; hardly matters


def experiment_only(
    models: Sequence[str],
    model: IntArray,
    outcome: FloatArray,
    propensity: FloatArray | None = None,
    cluster: IntArray | None = None,
    *,
    weight: FloatArray | None = None,
) -> Values:
    """Mean randomized outcome of each model, weighted by 1 / propensity, without log or replay.

    The other arguments are columns of a ``ScoredExperiment``.
    """
    rows = len(outcome)
    data = ScoredExperiment.from_arrays(
        models,
        np.zeros((rows, len(models))),
        np.zeros(rows),
        model,
        outcome,
        propensity=propensity,
        cluster=cluster,
        weight=weight,
    )
    terms = InfluenceTerms.from_experiment(data, data.q[:0])
    return tuned_values(terms, 0.0, "experiment only")


def tuned_doubly_robust(
    data: ScoredExperiment, *, extra_q: FloatArray | None = None, reward_weight: float | None = None
) -> Values:
    """Doubly robust values in which the reward has a weight per model, as a control variate has.

        mu(a) = lambda_a mean_x q(x, a) + sum_j w_ja (outcome_j - lambda_a prediction_j)

    w_ja is weight_j 1{model_j = a} / propensity_j, normalized to sum to one. Weight lambda = 0 is the experiment alone
    and lambda = 1 is doubly robust with normalized weights; every fixed lambda is consistent. ``reward_weight`` None
    estimates the weights of smallest variance (``optimal_reward_weight``). They are used only if the intervals become
    narrower after the cost of the estimation; otherwise the weights are 0, so a useless reward does no harm.

    ``extra_q`` (N, k) is q on replayed contexts outside the experiment, from the population that ``data`` with its
    weights represents.
    """
    if reward_weight is not None and not (np.isfinite(reward_weight) and reward_weight >= 0):
        raise UsageError(f"reward_weight must be a finite number of at least 0, or None, not {reward_weight!r}.")
    terms = InfluenceTerms.from_experiment(data, extra_rows(data, extra_q))
    return tuned_values(terms, reward_weight, "doubly robust, tuned reward weight")


def tuned_values(terms: InfluenceTerms, reward_weight: float | None, method: str) -> Values:
    """Values at a reward weight, or at the best one if that narrows the intervals, otherwise without reward."""
    count = len(terms.models)
    if reward_weight is not None:
        chosen = _values(terms, RewardWeight.fixed(reward_weight, count), method)
    else:
        tuned = _values(terms, optimal_reward_weight(terms), method)
        without_reward = _values(terms, RewardWeight.fixed(0.0, count), method)
        chosen = tuned if _is_narrower(tuned, without_reward) else without_reward
    return replace(chosen, difference_df_limit=difference_df_limit(terms.weights))


def extra_rows(data: ScoredExperiment, extra_q: FloatArray | None) -> FloatArray:
    """``extra_q`` as a checked array (N, k); no rows if there is none."""
    if extra_q is None or len(extra_q) == 0:
        return data.q[:0]
    extra_q = np.asarray(extra_q, dtype=np.float64)
    require_q_matrix(data.models, extra_q, "extra_q")
    require_finite({"extra_q": extra_q})
    return extra_q


@dataclass(frozen=True, slots=True)
class InfluenceTerms:
    """Means and influence values of outcome, prediction and q; every estimate is a linear combination of them."""

    models: tuple[str, ...]
    weights: ModelWeights
    outcomes: OutcomeMeans
    mean_prediction: FloatArray  # (k,) on the same rows
    mean_q: FloatArray  # (k,) over all contexts
    outcome_influence: Influence
    prediction_influence: Influence
    q_influence: Influence  # of the experiment's contexts
    extra_context_covariance: FloatArray  # (k, k) of ``mean_q``, from the contexts outside the experiment
    q_df: float  # degrees of freedom of ``mean_q``

    @classmethod
    def from_experiment(cls, data: ScoredExperiment, extra_q: FloatArray) -> Self:
        """Terms of the experiment's rows and of ``extra_q`` (N, k), N possibly 0.

        mean_q = (n_eff * weighted mean of q + sum of extra_q) / (n_eff + N),      n_eff = (sum w)^2 / sum w^2
        """
        weights = ModelWeights.from_rows(data.model, len(data.models), data.weight / data.propensity, data.cluster)
        effective_rows = data.weight.sum() ** 2 / (data.weight**2).sum()
        inner = data.weight / data.weight.sum() * effective_rows / (effective_rows + len(extra_q))
        outer = 1.0 / (effective_rows + len(extra_q))
        mean_q = inner @ data.q + outer * extra_q.sum(axis=0)
        n_contexts = weights.clusters.count + len(extra_q)
        unbiased = n_contexts / max(n_contexts - 1, 1)  # with a single cluster all variances are infinite anyway
        q_sums = weights.clusters.sums(inner[:, None] * (data.q - mean_q))
        outcome_influence = weights.influence(data.outcome)
        return cls(
            models=data.models,
            weights=weights,
            outcomes=outcome_means(weights, data.outcome, outcome_influence),
            mean_prediction=weights.mean(data.prediction),
            mean_q=mean_q,
            outcome_influence=outcome_influence,
            prediction_influence=weights.influence(data.prediction),
            q_influence=q_sums.scaled(np.sqrt(unbiased)),
            extra_context_covariance=unbiased * outer**2 * (extra_q - mean_q).T @ (extra_q - mean_q),
            q_df=clustered_df(weights.clusters, inner, np.full(len(extra_q), outer)),
        )

    @property
    def mean_outcome(self) -> FloatArray:
        """Weighted mean outcome of each model (k,)."""
        return self.outcomes.mean


def outcome_means(weights: ModelWeights, outcome: FloatArray, influence: Influence) -> OutcomeMeans:
    """Means of outcomes (n,), whose ``influence`` is known."""
    mean, row_variance = weights.mean(outcome), weights.row_variance(outcome)
    return OutcomeMeans.from_variances(weights, mean, row_variance, influence.variance())


@dataclass(frozen=True, slots=True)
class RewardWeight:
    """Control-variate weight of the reward per model, and the factor on the variance for having estimated it."""

    value: FloatArray  # (k,)
    variance_inflation: FloatArray  # (k,)

    @classmethod
    def fixed(cls, value: float, count: int) -> Self:
        """The same weight for all ``count`` models, not estimated."""
        return cls(np.full(count, value), np.ones(count))


def optimal_reward_weight(terms: InfluenceTerms) -> RewardWeight:
    """Weights that minimize the summed variance, clipped to [0, MAX_REWARD_WEIGHT].

        lambda_a = s_a lambda_own,a + (1 - s_a) lambda_common,      s_a = df_a / (df_a + POOLING_DF)

    The influence values are linear in the weight, so both optima are ratios of sums: over one model and over all. The
    common one dominates where rows are few; a model's own matters where rows are many, because a reward can be good
    for one model and bad for another. A minimized variance is biased downward; ``variance_inflation`` corrects for the
    degree of freedom spent, most of it shared by the models.
    """
    estimable, df = ~terms.weights.inestimable, terms.weights.df
    reward_influence = terms.q_influence - terms.prediction_influence
    curvature = reward_influence.variance() + np.diag(terms.extra_context_covariance)
    curvature = np.where(estimable, curvature, 0.0)
    slope = np.where(estimable, -reward_influence.product(terms.outcome_influence), 0.0)
    total_df = float(df.sum())
    if curvature.sum() < ROUNDING_ATOL**2 or total_df <= 1:
        return RewardWeight.fixed(0.0, len(df))
    common = slope.sum() / curvature.sum()
    own = np.divide(slope, curvature, out=np.full_like(slope, common), where=curvature > ROUNDING_ATOL**2)
    own_share = own_weight_share(df)
    spent_df_ratio = own_share / np.maximum(df, 1.0) + (1 - own_share) / total_df
    value = np.clip(own_share * own + (1 - own_share) * common, 0.0, MAX_REWARD_WEIGHT)
    return RewardWeight(value, 1 / (1 - spent_df_ratio))


def own_weight_share(df: FloatArray) -> FloatArray:
    """Share of a model's own optimum in its reward weight (k,); the rest is the optimum common to all models."""
    return np.asarray(df / (df + POOLING_DF))


def _is_narrower(tuned: Values, without_reward: Values) -> bool:
    """Whether finite intervals are narrower, by the median and by the sum of squares."""
    finite = np.isfinite(without_reward.standard_error)
    if not finite.any():
        return False
    new, old = (values.half_width(COMPARISON_LEVEL)[finite] for values in (tuned, without_reward))
    return bool(np.median(new) < np.median(old) and (new**2).sum() < (old**2).sum())


def _values(terms: InfluenceTerms, weight: RewardWeight, method: str) -> Values:
    """Estimate, covariance and df at a reward weight, without the limit for differences.

        covariance = covariance of t + added covariance + (lambda lambda') * extra context covariance

    t = r + lambda q are influence values, with r those of outcome - lambda prediction. The variance of r is moderated.
    """
    reward_weight, inestimable = weight.value, terms.weights.inestimable
    residual = terms.outcome_influence - terms.prediction_influence.scaled(reward_weight)
    q = terms.q_influence.scaled(reward_weight)
    extra_covariance = np.outer(reward_weight, reward_weight) * terms.extra_context_covariance
    estimate = terms.mean_outcome + reward_weight * (terms.mean_q - terms.mean_prediction)
    own_variance = residual.variance()
    moderation = moderated(terms.weights, residual, terms.outcomes)
    added_variance = moderation.added_variance(terms.weights, own_variance, estimate)
    covariance = (residual + q).covariance() + moderation.added_covariance(added_variance) + extra_covariance
    covariance *= np.sqrt(np.outer(weight.variance_inflation, weight.variance_inflation))
    covariance[inestimable, inestimable] = np.inf
    q_variance = q.variance() + np.diag(extra_covariance)
    df = welch_satterthwaite_df(own_variance + added_variance, moderation.df, q_variance, terms.q_df)
    return Values(
        models=terms.models,
        estimate=estimate,
        covariance=covariance,
        method=method,
        df=df,
        binomial_variance=binomial_variance(estimate, moderation.dispersion * sum_squared_weight(terms.weights)),
        independent_rows=independent_rows(terms.weights),
        reward_weight=reward_weight,
    )

"""The plain estimators of model values: direct, doubly robust as in the paper, and the raw log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.design.outcome_sums import OutcomeSums
from deconfound.value.clusters import Clusters, Influence
from deconfound.value.experiment import ScoredExperiment, require_equal_length, require_q_matrix, require_weight
from deconfound.value.mean_weights import (
    MIN_ROWS_PER_MODEL,
    MeanWeights,
    ModelWeights,
    SummedWeights,
    difference_df_limit,
    independent_rows,
    sum_squared_weight,
)
from deconfound.value.small_sample import OutcomeMeans, binomial_variance, moderated
from deconfound.value.values import Values


def direct(
    models: Sequence[str], q: FloatArray, cluster: IntArray | None = None, *, weight: FloatArray | None = None
) -> Values:
    """Mean of the replayed reward over contexts.

        mu(a) = mean_j q(x_j, a)

    The covariance describes the sampling of contexts only, given the fitted reward: neither the error of the reward nor
    the bias that a confounded log gives it. ``doubly_robust`` and ``tuned_doubly_robust`` correct both. ``weight`` (n,)
    moves the rows to a target population.
    """
    q = np.asarray(q, dtype=np.float64)
    require_q_matrix(models, q)
    weight = np.ones(len(q)) if weight is None else np.asarray(weight, dtype=np.float64)
    require_equal_length(len(q), {"weight": weight})
    require_weight(weight)
    estimate = np.average(q, axis=0, weights=weight)
    covariance = cluster_covariance((weight / weight.mean())[:, None] * (q - estimate), cluster)
    return Values(tuple(models), estimate, covariance, "direct")


def doubly_robust(
    models: Sequence[str],
    q: FloatArray,
    model: IntArray,
    outcome: FloatArray,
    prediction: FloatArray,
    propensity: FloatArray | None = None,
    cluster: IntArray | None = None,
) -> Values:
    """The direct value plus the inverse-propensity weighted mean of the experiment's residuals.

        mu(a) = mean_j [ q(x_j, a) + 1{model_j = a} / propensity_j * (outcome_j - prediction_j) ]

    Unbiased for any reward that was not fitted on row j; a poor reward only widens the interval. The arguments are the
    columns of a ``ScoredExperiment``.
    """
    data = ScoredExperiment.from_arrays(models, q, prediction, model, outcome, propensity=propensity, cluster=cluster)
    assigned = data.model[:, None] == np.arange(len(data.models))
    influence = data.q + assigned * ((data.outcome - data.prediction) / data.propensity)[:, None]
    estimate = influence.mean(axis=0)
    covariance = cluster_covariance(influence - estimate, data.cluster)
    inestimable = assigned.sum(axis=0) < MIN_ROWS_PER_MODEL
    covariance[inestimable, inestimable] = np.inf
    return Values(data.models, estimate, covariance, "doubly robust")


def raw_log(models: Sequence[str], model: IntArray, outcome: FloatArray, cluster: IntArray | None = None) -> Values:
    """Mean logged outcome of each model, ignoring confounding; NaN for a model without rows.

    Variances are moderated as those of the experiment: a log is long, but some of its models may have few rows or
    users. A model that only one ``cluster`` used, such as one user, has infinite variance.
    """
    weights = ModelWeights.from_rows(model, len(models), np.ones(len(outcome)), cluster)
    mean, row_variance = weights.mean(outcome), weights.row_variance(outcome)
    return _log_values(models, weights, weights.influence(outcome), mean, row_variance)


def raw_log_from_sums(models: Sequence[str], sums: OutcomeSums) -> Values:
    """``raw_log`` from sums over the rows, the same up to rounding while every cluster has sums of its own."""
    weights = SummedWeights.from_sums(sums)
    return _log_values(models, weights, weights.influence, weights.mean, weights.row_variance)


def _log_values(
    models: Sequence[str], weights: MeanWeights, influence: Influence, mean: FloatArray, row_variance: FloatArray
) -> Values:
    own_variance = influence.variance()
    outcomes = OutcomeMeans.from_variances(weights, mean, row_variance, own_variance)
    moderation = moderated(weights, influence, outcomes)
    added_variance = moderation.added_variance(weights, own_variance, mean)
    covariance = influence.covariance() + moderation.added_covariance(added_variance)
    covariance[weights.inestimable, weights.inestimable] = np.inf
    return Values(
        models=tuple(models),
        estimate=mean,
        covariance=covariance,
        method="raw log",
        df=moderation.df,
        difference_df_limit=difference_df_limit(weights),
        binomial_variance=binomial_variance(mean, moderation.dispersion * sum_squared_weight(weights)),
        independent_rows=independent_rows(weights),
    )


def welch_satterthwaite_df(
    variance: FloatArray, df: float | FloatArray, other_variance: FloatArray, other_df: float | FloatArray
) -> FloatArray:
    """Degrees of freedom of the sum of two variance estimates; infinite where both variances are zero.

    (v + v')^2 / (v^2 / df + v'^2 / df')
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        total_df = (variance + other_variance) ** 2 / (variance**2 / df + other_variance**2 / other_df)
    return np.where(np.isnan(total_df), np.inf, total_df)


def cluster_covariance(influence: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Covariance of a mean from centered influence values (n, k), summed within clusters first.

        sum_g s_g s_g' / n^2 * G / (G - 1),      s_g = sum of the influence values of cluster g

    ``cluster`` is as in ``Clusters.from_codes``. Infinite on the diagonal if there is a single cluster.
    """
    clusters = Clusters.from_codes(cluster, len(influence))
    if clusters.count < 2:
        return np.diag(np.full(influence.shape[1], np.inf))
    corrected = clusters.sums(influence / len(influence)).scaled(np.sqrt(clusters.count / (clusters.count - 1)))
    return corrected.covariance()

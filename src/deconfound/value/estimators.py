"""The plain estimators of model values: direct, doubly robust as in the paper, and the raw log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.experiment import ScoredExperiment, require_equal_length, require_q_matrix, require_weight
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL, ModelWeights, sum_by_cluster
from deconfound.value.values import Values


def direct(
    models: Sequence[str],
    q: FloatArray,
    cluster: IntArray | None = None,
    *,
    refits: FloatArray | None = None,
    weight: FloatArray | None = None,
) -> Values:
    """Mean of the replayed reward over contexts.

        mu(a) = mean_j q(x_j, a)

    Without ``refits`` the covariance describes the sampling of contexts only, given the fitted reward. ``refits``
    (R, k) are direct values of rewards refitted on bootstrapped experiments; their covariance is added, with R - 1
    degrees of freedom. Neither includes a bias that every refit shares, such as that of a confounded log:
    ``with_reward_bias`` adds it, ``doubly_robust`` and ``tuned_doubly_robust`` correct it. ``weight`` (n,) moves the
    rows to a target population.
    """
    q = np.asarray(q, dtype=np.float64)
    require_q_matrix(models, q)
    weight = np.ones(len(q)) if weight is None else np.asarray(weight, dtype=np.float64)
    require_equal_length(len(q), {"weight": weight})
    require_weight(weight)
    estimate = np.average(q, axis=0, weights=weight)
    context_covariance = cluster_covariance((weight / weight.mean())[:, None] * (q - estimate), cluster)
    if refits is None:
        return Values(tuple(models), estimate, context_covariance, "direct")
    refits = np.asarray(refits, dtype=np.float64)
    require_q_matrix(models, refits, "refits")
    if len(refits) < 2:
        raise UsageError("direct needs at least two refits to estimate a variance; give more, or none.")
    refit_covariance = np.atleast_2d(np.cov(refits.T))
    n_clusters = len(q) if cluster is None else len(np.unique(cluster))
    df = welch_satterthwaite_df(
        np.diag(context_covariance), n_clusters - 1.0, np.diag(refit_covariance), len(refits) - 1.0
    )
    return Values(tuple(models), estimate, context_covariance + refit_covariance, "direct, bootstrap refits", df)


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

    Logs are long, so the variances are not moderated and the quantiles are normal. A model that only one ``cluster``
    used, such as one user, has infinite variance.
    """
    weights = ModelWeights.from_rows(model, len(models), np.ones(len(outcome)), cluster)
    influence = weights.influence(outcome)
    covariance = influence.T @ influence
    covariance[weights.inestimable, weights.inestimable] = np.inf
    return Values(tuple(models), weights.mean(outcome), covariance, "raw log")


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

    Infinite on the diagonal if there is a single cluster.
    """
    rows = len(influence)
    if cluster is not None:
        _, code = np.unique(cluster, return_inverse=True)
        influence = sum_by_cluster(influence, code, int(code.max()) + 1)
    n_clusters = len(influence)
    if n_clusters < 2:
        return np.diag(np.full(influence.shape[1], np.inf))
    return np.asarray(influence.T @ influence / rows**2 * n_clusters / (n_clusters - 1))

"""The plain estimators: direct, the paper's doubly robust, and the log at face value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL, Shares, summed
from deconfound.value.values import Values


def direct(
    models: Sequence[str],
    q: FloatArray,
    cluster: IntArray | None = None,
    *,
    refits: FloatArray | None = None,
    weight: FloatArray | None = None,
) -> Values:
    """Mean over contexts of the replayed reward.

        mu(a) = mean_j q(x_j, a)

    Without ``refits`` the covariance is that of drawing the contexts, given the fitted reward: it says nothing of the
    reward's own error. ``refits`` (R, k) are direct values of rewards refitted on resampled experiments; their
    covariance is added, on R - 1 degrees of freedom. Neither knows of a reward that is wrong in every refit, as one
    learnt from a confounded log is; ``doubted`` adds that, ``doubly_robust`` and ``powered`` correct it. ``weight``
    (n,) moves the rows to a target population.
    """
    q = table(models, q)
    heavy = weights(len(q), weight)
    estimate = np.average(q, axis=0, weights=heavy)
    contexts = clustered((heavy / heavy.mean())[:, None] * (q - estimate), cluster)
    if refits is None:
        return Values(tuple(models), estimate, contexts, "direct")
    refits = table(models, refits, "refits")
    if len(refits) < 2:
        raise UsageError("direct needs at least two refits to see how far the reward moves; give more, or none.")
    fitted = np.atleast_2d(np.cov(refits.T))
    groups = len(q) if cluster is None else len(np.unique(cluster))
    df = welch(np.diag(contexts), groups - 1.0, np.diag(fitted), len(refits) - 1.0)
    return Values(tuple(models), estimate, contexts + fitted, "direct, refitted", df)


def welch(
    one: FloatArray, freedom_one: float | FloatArray, other: FloatArray, freedom_other: float | FloatArray
) -> FloatArray:
    """Degrees of freedom of the sum of two variance estimates; infinite where there is no variance, or no end to it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (one + other) ** 2 / (one**2 / freedom_one + other**2 / freedom_other)
    return np.where(np.isnan(found), np.inf, found)


def doubly_robust(
    models: Sequence[str],
    q: FloatArray,
    model: IntArray,
    outcome: FloatArray,
    prediction: FloatArray,
    propensity: FloatArray | None = None,
    cluster: IntArray | None = None,
) -> Values:
    """The direct value plus what the experiment's residuals say was wrong with it.

        mu(a) = mean_j [ q(x_j, a) + 1{model_j = a} / propensity_j * (outcome_j - prediction_j) ]

    Unbiased for any reward that was not fitted on row j (cross-fitting is the caller's), good or bad: a poor one
    only widens the interval. ``propensity`` is the probability with which row j's own model was drawn; None means
    uniform over ``models``. Codes outside ``range(len(models))`` are rows of models that are not compared.
    """
    q = table(models, q)
    check_rows(len(q), {"model": model, "outcome": outcome, "prediction": prediction})
    chance = propensities(models, model, propensity)
    drawn = np.asarray(model)[:, None] == np.arange(len(models))
    influence = q + drawn * ((np.asarray(outcome) - prediction) / chance)[:, None]
    estimate = influence.mean(axis=0)
    covariance = clustered(influence - estimate, cluster)
    blind = drawn.sum(axis=0) < MIN_ROWS_PER_MODEL
    covariance[blind, blind] = np.inf
    return Values(tuple(models), estimate, covariance, "doubly robust")


def raw_log(models: Sequence[str], model: IntArray, outcome: FloatArray, cluster: IntArray | None = None) -> Values:
    """What the log says at face value: each model's mean logged outcome, as if nobody had chosen.

    Logs are long: the normal quantile and each model's own variance do. NaN where a model never occurs. Rows of one
    ``cluster``, a user say, count as one piece of luck; of a model that one of them alone used nothing is known.
    """
    shares = Shares.of(model, len(models), np.ones(len(outcome)), cluster)
    influence = shares.influence(outcome)
    covariance = influence.T @ influence
    covariance[shares.blind, shares.blind] = np.inf
    return Values(tuple(models), shares.mean(outcome), covariance, "raw log")


def propensities(models: Sequence[str], model: IntArray, propensity: FloatArray | None) -> FloatArray:
    """Probability with which each row's own model was drawn; uniform unless declared."""
    if propensity is None and np.max(model) >= len(models):
        raise UsageError(
            "Some rows are of models that are not compared; give the propensity with which each was drawn."
        )
    if propensity is None:
        return np.full(len(model), 1.0 / len(models))
    check_rows(len(model), {"propensity": propensity})
    propensity = np.asarray(propensity, dtype=np.float64)
    if not ((propensity > 0) & (propensity <= 1)).all():
        raise UsageError("Every propensity must lie in (0, 1].")
    return propensity


def check_rows(rows: int, columns: Mapping[str, FloatArray | IntArray]) -> None:
    """Refuse columns that do not belong to the same rows."""
    for name, column in columns.items():
        if len(column) != rows:
            raise UsageError(f"{name} has {len(column)} entries and q has {rows} rows; they must agree.")


def weights(rows: int, weight: FloatArray | None) -> FloatArray:
    """How much each row counts; the same for all unless given."""
    if weight is None:
        return np.ones(rows)
    check_rows(rows, {"weight": weight})
    found = np.asarray(weight, dtype=np.float64)
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise UsageError("Every weight must be a finite number of at least 0, and not all of them 0.")
    return found


def table(models: Sequence[str], q: FloatArray, name: str = "q") -> FloatArray:
    """A table with one column a model."""
    q = np.asarray(q, dtype=np.float64)
    if q.ndim != 2 or q.shape[1] != len(models) or len(q) == 0:
        raise UsageError(f"{name} must have one row a context and {len(models)} columns, one a model; it is {q.shape}.")
    return q


def clustered(influence: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Covariance of a mean from centred influence values, rows of one cluster moving together."""
    rows = len(influence)
    if cluster is not None:
        _, code = np.unique(cluster, return_inverse=True)
        influence = summed(influence, code, int(code.max()) + 1)
    groups = len(influence)
    if groups < 2:
        return np.diag(np.full(influence.shape[1], np.inf))
    return np.asarray(influence.T @ influence / rows**2 * groups / (groups - 1))

"""The plain estimators: direct, the paper's doubly robust, and the log at face value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.own import FEWEST, summed
from deconfound.value.values import Values


def direct(
    models: Sequence[str], q: FloatArray, cluster: IntArray | None = None, *, refits: FloatArray | None = None
) -> Values:
    """Mean over contexts of the replayed reward.

        mu(a) = mean_j q(x_j, a)

    Without ``refits`` the covariance is that of drawing the contexts, given the fitted reward: it says nothing of
    the reward's own error. ``refits`` (R, k) are direct values of rewards refitted on resampled experiments; their
    covariance is added, on R - 1 degrees of freedom. Neither knows of a reward that is wrong in every refit, as one
    learnt from a confounded log is; ``doubly_robust`` and ``powered`` do.
    """
    q = table(models, q)
    contexts = clustered(q - q.mean(axis=0), cluster)
    if refits is None:
        return Values(tuple(models), q.mean(axis=0), contexts, "direct")
    refits = table(models, refits, "refits")
    if len(refits) < 2:
        raise UsageError("direct needs at least two refits to see how far the reward moves; give more, or none.")
    fitted = np.atleast_2d(np.cov(refits.T))
    groups = len(q) if cluster is None else len(np.unique(cluster))
    freedom = welch(np.diag(contexts), groups - 1.0, np.diag(fitted), len(refits) - 1.0)
    return Values(tuple(models), q.mean(axis=0), contexts + fitted, "direct, refitted", freedom)


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
    blind = drawn.sum(axis=0) < FEWEST
    covariance[blind, blind] = np.inf
    return Values(tuple(models), estimate, covariance, "doubly robust")


def raw_log(models: Sequence[str], model: IntArray, outcome: FloatArray, cluster: IntArray | None = None) -> Values:
    """What the log says at face value: each model's mean logged outcome, as if nobody had chosen.

    Logs are long: the normal quantile and each model's own variance do. NaN where a model never occurs. Rows of one
    ``cluster``, a user say, count as one piece of luck.
    """
    drawn = (np.asarray(model)[:, None] == np.arange(len(models))).astype(np.float64)
    mass = drawn.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = (drawn * outcome[:, None]).mean(axis=0) / mass
        influence = drawn * (outcome[:, None] - estimate) / mass
    covariance = clustered(np.nan_to_num(influence), cluster)
    blind = drawn.sum(axis=0) < FEWEST
    covariance[blind, blind] = np.inf
    return Values(tuple(models), estimate, covariance, "raw log")


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

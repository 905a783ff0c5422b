"""From a reward to the value of each model, with errors that know of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError

FEWEST = 2  # experiment rows a model needs before its own residuals say anything about its error


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much better one model is than another."""

    better: str
    worse: str
    difference: float
    error: float
    low: float
    high: float
    p_value: float

    @property
    def told_apart(self) -> bool:
        """Whether the interval of the difference leaves zero out."""
        return bool(self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class Values:
    """Estimated value of each model and how the errors move together.

    The covariance, not a vector of standard errors, is the primary field: two models replayed on the same contexts
    share their luck, and only the covariance lets a contrast cancel it. A model without evidence of its own has
    infinite variance: its interval is all of [0, 1].
    """

    models: tuple[str, ...]
    estimate: FloatArray  # (k,)
    covariance: FloatArray  # (k, k)
    method: str

    @property
    def error(self) -> FloatArray:
        """Standard error of each value (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = 0.95) -> FloatArray:
        """Intervals (k, 2) inside [0, 1]: estimate ± z * error, cut at the edges.

        Values lie in [0, 1], so cutting there loses no coverage.
        """
        half = _quantile(level) * self.error
        centre = np.where(np.isnan(self.estimate), 0.5, self.estimate)
        return np.clip(np.column_stack([centre - half, centre + half]), 0.0, 1.0)

    def contrast(self, better: str, worse: str, level: float = 0.95) -> Contrast:
        """Difference of two values, its error taken from the covariance."""
        i, j = self._at(better), self._at(worse)
        difference = float(self.estimate[i] - self.estimate[j])
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        error = float(np.sqrt(max(variance, 0.0)))
        half = _quantile(level) * error
        if not np.isfinite(error):
            return Contrast(better, worse, difference, error, -1.0, 1.0, 1.0)
        low, high = max(difference - half, -1.0), min(difference + half, 1.0)
        p_value = 2 * float(ndtr(-abs(difference) / error)) if error > 0 else float(difference == 0)
        return Contrast(better, worse, difference, error, low, high, p_value)

    def ranking(self) -> tuple[str, ...]:
        """Models from best to worst; equal estimates in the order of their names, unknown ones last."""
        known = np.where(np.isnan(self.estimate), -np.inf, self.estimate)
        return tuple(self.models[i] for i in np.argsort(-known, kind="stable"))

    def table(self, level: float = 0.95) -> list[dict[str, str | float]]:
        """One row a model, best first; estimates cut to [0, 1], where the truth is known to lie."""
        interval, error = self.interval(level), self.error
        rows: list[dict[str, str | float]] = []
        for name in self.ranking():
            i = self._at(name)
            estimate = float(np.clip(self.estimate[i], 0.0, 1.0))
            low, high = (float(edge) for edge in interval[i])
            rows.append({"model": name, "estimate": estimate, "low": low, "high": high, "error": float(error[i])})
        return rows

    def _at(self, model: str) -> int:
        if model not in self.models:
            raise UsageError(f'No value for model "{model}"; there are {", ".join(self.models)}.')
        return self.models.index(model)


def _quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise UsageError(f"level must lie strictly between 0 and 1, not {level!r}.")
    return float(ndtri(0.5 + level / 2))


def direct(models: Sequence[str], q: FloatArray, cluster: IntArray | None = None) -> Values:
    """Mean over contexts of the replayed reward.

        mu(a) = mean_j q(x_j, a)

    The covariance is that of drawing the contexts, given the fitted reward: it says nothing of the reward's own
    error. ``doubly_robust`` does.
    """
    q = _table(models, q)
    return Values(tuple(models), q.mean(axis=0), _clustered(q - q.mean(axis=0), cluster), "direct")


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
    q = _table(models, q)
    rows = len(q)
    _check_rows(rows, {"model": model, "outcome": outcome, "prediction": prediction})
    if propensity is None and np.max(model) >= len(models):
        raise UsageError(
            "Some rows are of models that are not compared; give the propensity with which each was drawn."
        )
    propensity = np.full(rows, 1.0 / len(models)) if propensity is None else np.asarray(propensity, dtype=np.float64)
    if not ((propensity > 0) & (propensity <= 1)).all():
        raise UsageError("Every propensity must lie in (0, 1].")
    drawn = np.asarray(model)[:, None] == np.arange(len(models))
    influence = q + drawn * ((np.asarray(outcome) - prediction) / propensity)[:, None]
    estimate = influence.mean(axis=0)
    covariance = _clustered(influence - estimate, cluster)
    blind = drawn.sum(axis=0) < FEWEST
    covariance[blind, blind] = np.inf
    return Values(tuple(models), estimate, covariance, "doubly robust")


def experiment_alone(
    models: Sequence[str], model: IntArray, outcome: FloatArray, propensity: FloatArray, cluster: IntArray
) -> Values:
    """What the experiment says without replay or log: each model's mean outcome, weighted by 1 / propensity."""
    drawn = np.asarray(model)[:, None] == np.arange(len(models))
    return _weighted_means(models, drawn / propensity[:, None], outcome, cluster, "experiment alone")


def raw_log(models: Sequence[str], model: IntArray, outcome: FloatArray) -> Values:
    """What the log says at face value: each model's mean logged outcome, as if nobody had chosen."""
    drawn = (np.asarray(model)[:, None] == np.arange(len(models))).astype(np.float64)
    return _weighted_means(models, drawn, outcome, None, "raw log")


def _weighted_means(
    models: Sequence[str], weight: FloatArray, outcome: FloatArray, cluster: IntArray | None, method: str
) -> Values:
    """Normalised weighted means of the outcome, one a column of weights; NaN where nothing weighs."""
    mass = weight.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = (weight * outcome[:, None]).mean(axis=0) / mass
        influence = weight * (outcome[:, None] - estimate) / mass
    covariance = _clustered(np.nan_to_num(influence), cluster)
    blind = (weight > 0).sum(axis=0) < FEWEST
    covariance[blind, blind] = np.inf
    return Values(tuple(models), estimate, covariance, method)


def _check_rows(rows: int, columns: Mapping[str, FloatArray | IntArray]) -> None:
    for name, column in columns.items():
        if len(column) != rows:
            raise UsageError(f"{name} has {len(column)} entries and q has {rows} rows; they must agree.")


def _table(models: Sequence[str], q: FloatArray) -> FloatArray:
    q = np.asarray(q, dtype=np.float64)
    if q.ndim != 2 or q.shape[1] != len(models) or len(q) == 0:
        raise UsageError(f"q must have one row a context and {len(models)} columns, one a model; it is {q.shape}.")
    return q


def _clustered(influence: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Covariance of a mean from centred influence values, rows of one cluster moving together."""
    rows = len(influence)
    if cluster is not None:
        _, code = np.unique(cluster, return_inverse=True)
        sums = np.zeros((int(code.max()) + 1, influence.shape[1]))
        np.add.at(sums, code, influence)
        influence = sums
    groups = len(influence)
    if groups < 2:
        return np.diag(np.full(influence.shape[1], np.inf))
    return np.asarray(influence.T @ influence / rows**2 * groups / (groups - 1))

"""Values of an experiment in which outcomes are missing, under assumptions that are stated.

Bounds assume nothing: every missing outcome may be the worst or the best. Weighted values assume that, among rows with
the same model and similar contexts and outputs, a missing outcome says nothing about its value. Each rated row then
stands for the unrated ones like it:

    weight(x) = 1 / P(rated | x) = 1 + P(unrated) / P(rated) * p(x | unrated) / p(x | rated)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, connected_groups, usable_sd
from deconfound.features.randomized_rows import RandomizedRows
from deconfound.value.control_variate import experiment_only, tuned_doubly_robust
from deconfound.value.estimators import direct
from deconfound.value.experiment import ScoredExperiment
from deconfound.value.shrinkage import shrink_toward
from deconfound.value.transport import MAX_WEIGHT, density_ratio
from deconfound.value.values import Values

MIN_MISSING = 5  # rows of either kind, below which nothing can be learned about the difference between them


@dataclass(frozen=True, slots=True, eq=False)
class RatingWeights:
    """Weights of the rated rows, and how well they make these resemble all randomized rows."""

    weight: FloatArray  # (n,) mean one
    imbalance_before: float  # largest difference of a statistic's mean from all rows', in standard deviations
    imbalance: float  # the same after weighting

    @property
    def effective_share(self) -> float:
        """Kish's effective sample size over the number of rows."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum() / len(self.weight))


@dataclass(frozen=True, slots=True, eq=False)
class MissingOutcomes:
    """Randomized rows and missing outcomes per model, and the values that they allow."""

    models: tuple[str, ...]
    rows: tuple[int, ...]
    missing: tuple[int, ...]
    lowest: Values  # every missing outcome is the worst possible
    highest: Values  # every missing outcome is the best possible
    weighted: Values | None  # None where too few outcomes are missing to learn weights
    effective_share: float
    imbalance: float

    def bounds(self, level: float = 0.95) -> FloatArray:
        """Limits (k, 2) that contain each value with this probability, whatever the missing outcomes are."""
        return np.column_stack([self.lowest.interval(level)[:, 0], self.highest.interval(level)[:, 1]])


def estimate_missing_outcomes(
    models: tuple[str, ...], rows: RandomizedRows, data: ScoredExperiment, seed: int, *, is_shrunk: bool = True
) -> MissingOutcomes:
    """Counts, bounds and weighted values; ``data`` are the rated rows with their rewards, in the order of ``rows``.

    ``is_shrunk`` says whether the reported values are moved toward the mean prediction: weighted ones then are, too, so
    that a difference between the two is one of the weights.
    """
    compared = rows.model < len(models)
    rows_per_model, missing_per_model = (
        tuple(np.bincount(rows.model[mask], minlength=len(models)).tolist())
        for mask in (compared, compared & rows.is_missing)
    )
    lowest, highest = bound_values(models, rows)
    weights = rating_weights(rows, seed)
    weighted = None
    if weights is not None:
        weight = data.weight * weights.weight
        weighted = tuned_doubly_robust(replace(data, weight=weight))
        if is_shrunk:
            weighted = shrink_toward(weighted, direct(models, data.q, weight=weight).estimate)
    return MissingOutcomes(
        models,
        rows_per_model,
        missing_per_model,
        lowest,
        highest,
        weighted,
        1.0 if weights is None else weights.effective_share,
        0.0 if weights is None else weights.imbalance,
    )


def bound_values(models: Sequence[str], rows: RandomizedRows) -> tuple[Values, Values]:
    """Mean outcome per model over all randomized rows, with missing outcomes at 0 and at 1."""
    lowest, highest = (
        experiment_only(
            models,
            rows.model,
            np.where(rows.is_missing, assumed, rows.outcome),
            rows.propensity,
            rows.noise_clusters,
        )
        for assumed in (0.0, 1.0)
    )
    return lowest, highest


def rating_weights(rows: RandomizedRows, seed: int) -> RatingWeights | None:
    """One over the estimated probability of a rating, for each rated row; None where too few rows of a kind exist."""
    missing = rows.is_missing
    unrated, rated = int(missing.sum()), int((~missing).sum())
    if min(unrated, rated) < MIN_MISSING:
        return None
    columns = _columns(rows)
    ratio = density_ratio(columns, missing, connected_groups(rows.context, rows.cluster), seed)[~missing]
    weight = 1.0 + unrated / rated * ratio
    weight = np.minimum(weight, MAX_WEIGHT * weight.mean())
    weight /= weight.mean()
    before = _largest_difference(columns, missing, np.ones(rated))
    return RatingWeights(weight, before, _largest_difference(columns, missing, weight))


def _columns(rows: RandomizedRows) -> FloatArray:
    """Model, statistics of the output and features of the context, each block of mean square length one."""
    models = np.eye(int(rows.model.max()) + 1)[rows.model]
    blocks = [block - block.mean(axis=0) for block in (models, rows.statistics, rows.modifiers) if block.shape[1]]
    sizes = [np.sqrt((block**2).sum(axis=1).mean()) for block in blocks]
    return np.hstack([block / size for block, size in zip(blocks, sizes, strict=True) if size > 0.0])


def _largest_difference(columns: FloatArray, missing: NDArray[np.bool_], weight: FloatArray) -> float:
    sd = columns.std(axis=0)
    mean = np.average(columns[~missing], axis=0, weights=weight)
    size = usable_sd(sd, np.abs(columns).max(axis=0, initial=0.0))
    return float(np.max(np.abs(mean - columns.mean(axis=0)) / size, initial=0.0))

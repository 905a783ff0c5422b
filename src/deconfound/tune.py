"""Choose a family's hyperparameters on the experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, Rows, group_folds
from deconfound.errors import UsageError
from deconfound.linalg import one_blas_thread
from deconfound.reward import Family, Prepared, Sources

F = TypeVar("F", bound=Family)
By = Literal["model", "sample", "holdout"]
Mode = Literal["model", "sample", "holdout", "fixed"]

TIE = 1e-10  # losses this close, relative to the best, are equal up to rounding
HOLDOUT = 0.3  # share of the experiment that the hold-out strategy validates on


@dataclass(frozen=True, slots=True)
class Tuned(Generic[F]):
    """The chosen hyperparameters and the evidence for them.

    ``mode`` is how the candidates were really compared: "model" falls back to "sample" when too few models appear
    in the experiment, and "fixed" means that there was nothing to compare or nothing to compare it on.
    """

    estimator: F
    candidates: tuple[F, ...]
    losses: FloatArray  # one a candidate; NaN when fixed
    mode: Mode


def tune(
    family: F,
    log: Rows,
    experiment: Rows,
    folds: int = 5,
    by: By = "model",
    seed: int = 0,
    candidates: Sequence[F] | None = None,
) -> Tuned[F]:
    """Compare a family's candidates on held-out randomized outcomes.

    ``by="model"`` holds out whole models and compares predicted with observed model means, which is what a ranking
    needs; "sample" holds out rows, contexts kept whole; "holdout" is one such split. All of the log takes part in
    every fit. Ties go to the more regularized candidate.
    """
    listed = tuple(family.grid() if candidates is None else candidates)
    with one_blas_thread():
        prepared = type(family).prepare(Sources(log, experiment), listed)
        return choose(prepared, listed, experiment, np.arange(len(experiment)), folds, by, seed)


def choose(
    prepared: Prepared[F],
    candidates: Sequence[F],
    experiment: Rows,
    among: IntArray,
    folds: int = 5,
    by: By = "model",
    seed: int = 0,
) -> Tuned[F]:
    """``tune`` on a preparation already made, with only the experiment rows ``among``."""
    if by not in ("model", "sample", "holdout"):
        raise UsageError(f'by must be "model", "sample" or "holdout", not {by!r}.')
    listed = tuple(candidates)
    cuts, mode = _folds(experiment.take(among), folds, by, seed)
    if len(listed) == 1 or not cuts:
        return Tuned(listed[0], listed, np.full(len(listed), np.nan), "fixed")
    trains = [among[cut.train] for cut in cuts]
    losses = np.empty(len(listed))
    for at, candidate in enumerate(listed):
        predictions = prepared.predict(candidate, trains)
        losses[at] = np.mean(
            [_loss(p, experiment, among[cut.held_out], mode) for p, cut in zip(predictions, cuts, strict=True)]
        )
    return Tuned(listed[best_candidate(losses, listed)], listed, losses, mode)


def best_candidate(losses: FloatArray, candidates: Sequence[Family]) -> int:
    """Index of the smallest loss, ties broken towards the more regularized candidate."""
    best = losses.min()
    tied = np.flatnonzero(losses <= best + TIE * max(abs(best), TIE))
    return max((int(at) for at in tied), key=lambda at: candidates[at].rigidity())


def _loss(prediction: FloatArray, experiment: Rows, held_out: IntArray, mode: Mode) -> float:
    """Squared error of held-out model means weighted by their counts, or of held-out rows."""
    error = prediction[held_out] - experiment.outcomes[held_out]
    if mode != "model" or experiment.model is None:
        return float(np.mean(error**2))
    _, code, count = np.unique(experiment.model[held_out], return_inverse=True, return_counts=True)
    mean_error = np.bincount(code, weights=error) / count
    return float(count @ mean_error**2 / count.sum())


def _folds(experiment: Rows, folds: int, by: By, seed: int) -> tuple[tuple[Fold, ...], Mode]:
    if by == "model" and experiment.model is not None and len(np.unique(experiment.model)) >= folds:
        return group_folds(_anonymous(experiment), folds, seed), "model"
    group = np.arange(len(experiment)) if experiment.context is None else experiment.context
    if by == "holdout":
        cuts = group_folds(group, round(1 / HOLDOUT), seed)
        return cuts[:1], "holdout"
    return group_folds(group, folds, seed), "sample"


def _anonymous(experiment: Rows) -> IntArray:
    """Model codes in an order that renaming the models cannot change: by count, then by mean outcome."""
    assert experiment.model is not None  # noqa: S101  (the caller looked)
    _, code, count = np.unique(experiment.model, return_inverse=True, return_counts=True)
    mean = np.bincount(code, weights=experiment.outcomes) / count
    rank = np.empty(len(count), dtype=np.int64)
    rank[np.lexsort((mean, count))] = np.arange(len(count))
    return rank[code]

"""Choose a family's hyperparameters on the experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, Rows, group_folds
from deconfound.errors import UsageError
from deconfound.linalg import one_blas_thread
from deconfound.reward import Family, Prepared, RewardFit, TrainingData

F = TypeVar("F", bound=Family)
ValidationScheme = Literal["model", "sample", "holdout"]
Mode = Literal["model", "sample", "holdout", "fixed"]

TIE = 1e-10  # losses this close, relative to the best, are equal up to rounding
HOLDOUT = 3  # the hold-out strategy validates on one part in so many


@dataclass(frozen=True, slots=True)
class Validation:
    """How held-out rows are chosen: by whole models, by rows with contexts kept whole, or in one split."""

    folds: int = 5
    by: ValidationScheme = "model"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.by not in ("model", "sample", "holdout"):
            raise UsageError(f'by must be "model", "sample" or "holdout", not {self.by!r}.')
        if self.folds < 2:
            raise UsageError(f"Cross-validation needs at least 2 folds, not {self.folds}.")


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
    fit: RewardFit | None = None  # the chosen one on all rows, where ``tune`` had them at hand


def tune(
    family: F,
    log: Rows,
    experiment: Rows,
    folds: int = 5,
    by: ValidationScheme = "model",
    seed: int = 0,
    candidates: Sequence[F] | None = None,
) -> Tuned[F]:
    """Compare a family's candidates on held-out randomized outcomes.

    ``by="model"`` holds out whole models and compares predicted with observed model means, which is what a ranking
    needs; "sample" holds out rows, contexts kept whole; "holdout" is one such split. All of the log takes part in
    every fit. Ties go to the more regularized candidate, which is then fitted to all rows: ``tuned.fit``.
    """
    listed = tuple(family.grid() if candidates is None else candidates)
    with one_blas_thread():
        prepared = type(family).prepare(TrainingData(log, experiment), listed)
        everything = np.arange(len(experiment))
        tuned = tune_subsets(prepared, listed, family, experiment, [everything], Validation(folds, by, seed))[0]
        return replace(tuned, fit=prepared.fit(tuned.estimator, everything))


def tune_subsets(
    prepared: Prepared[F],
    candidates: Sequence[F],
    default: F,
    experiment: Rows,
    subsets: Sequence[IntArray],
    validation: Validation,
    tick: Callable[[float], None] = lambda _done: None,
) -> list[Tuned[F]]:
    """``tune`` on a preparation already made, once for each subset of the experiment's rows.

    Nested cross-fitting tunes the same candidates on many overlapping subsets; doing it candidate by candidate lets
    them share every matrix that depends on the hyperparameters alone. A subset too small to be cut gets ``default``.
    """
    listed = tuple(candidates)
    plans = [_plan(experiment, subset, validation) for subset in subsets]
    if len(listed) == 1:
        return [Tuned(listed[0], listed, np.full(1, np.nan), "fixed") for _ in subsets]
    losses = np.full((len(subsets), len(listed)), np.nan)
    trains = [cut.train for plan in plans for cut in plan.cuts]
    for at, candidate in enumerate(listed):
        tick(at / len(listed))
        losses[:, at] = _losses(prepared.predict(candidate, trains), experiment, plans)
    best = [
        listed[best_candidate(loss, listed)] if plan.cuts else default for loss, plan in zip(losses, plans, strict=True)
    ]
    return [Tuned(chosen, listed, loss, plan.mode) for chosen, loss, plan in zip(best, losses, plans, strict=True)]


def _losses(predictions: Sequence[FloatArray], experiment: Rows, plans: Sequence[_Plan]) -> list[float]:
    """One candidate's mean loss in each plan, from its predictions for every cut in order."""
    each = iter(predictions)
    parts = [[_loss(next(each), experiment, cut) for cut in plan.cuts] for plan in plans]
    return [float(np.mean(losses)) if losses else np.nan for losses in parts]


@dataclass(frozen=True, slots=True)
class _Cut:
    """One split, by row numbers of the whole experiment; ``unit`` numbers what the loss takes the mean error of."""

    train: IntArray
    held_out: IntArray
    unit: IntArray


@dataclass(frozen=True, slots=True)
class _Plan:
    """How one subset of the experiment is cut."""

    cuts: tuple[_Cut, ...]
    mode: Mode


def _plan(experiment: Rows, subset: IntArray, validation: Validation) -> _Plan:
    folds, mode = _folds(experiment.take(subset), validation)
    cuts = []
    for fold in folds:
        held_out = subset[fold.held_out]
        unit = np.arange(len(held_out))
        if mode == "model" and experiment.model is not None:
            unit = np.unique(experiment.model[held_out], return_inverse=True)[1]
        cuts.append(_Cut(subset[fold.train], held_out, unit))
    return _Plan(tuple(cuts), mode if cuts else "fixed")


def best_candidate(losses: FloatArray, candidates: Sequence[Family]) -> int:
    """Index of the smallest loss, ties broken towards the more regularized candidate."""
    best = losses.min()
    tied = np.flatnonzero(losses <= best + TIE * max(abs(best), TIE))
    return max((int(at) for at in tied), key=lambda at: candidates[at].regularization_order())


def _loss(prediction: FloatArray, experiment: Rows, cut: _Cut) -> float:
    """Squared error of held-out means, of models or of single rows, weighted by their counts."""
    error = prediction[cut.held_out] - experiment.require_outcome()[cut.held_out]
    weight = experiment.weight_or_ones[cut.held_out]
    count = np.bincount(cut.unit, weights=weight)
    mean_error = np.bincount(cut.unit, weights=weight * error) / count
    return float(count @ mean_error**2 / count.sum())


def _folds(experiment: Rows, validation: Validation) -> tuple[tuple[Fold, ...], Mode]:
    folds, by, seed = validation.folds, validation.by, validation.seed
    if by == "model" and experiment.model is not None and len(np.unique(experiment.model)) >= folds:
        return group_folds(_anonymous(experiment), folds, seed), "model"
    group = np.arange(len(experiment)) if experiment.context is None else experiment.context
    if by == "holdout":
        cuts = group_folds(group, HOLDOUT, seed)
        return cuts[:1], "holdout"
    return group_folds(group, folds, seed), "sample"


def _anonymous(experiment: Rows) -> IntArray:
    """Model codes in an order that renaming the models cannot change: by count, mean outcome, then mean features.

    Balanced draws of yes-or-no outcomes leave models with equal counts and means, which only their outputs tell apart.
    """
    assert experiment.model is not None  # noqa: S101  (the caller looked)
    _, code = np.unique(experiment.model, return_inverse=True)
    count = np.bincount(code, weights=experiment.weight_or_ones)
    shares = experiment.weight_or_ones / count[code]
    mean = np.bincount(code, weights=shares * experiment.require_outcome())
    place = np.bincount(code, weights=shares * experiment.phi.random_projection(seed=3))
    rank = np.empty(len(count), dtype=np.int64)
    rank[np.lexsort((place, np.round(mean, 12), count))] = np.arange(len(count))
    return rank[code]

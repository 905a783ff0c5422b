"""Choose a family's hyperparameters on the experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, Rows, group_folds
from deconfound.errors import UsageError
from deconfound.reward import Family, Prepared, RewardFit, TrainingData
from deconfound.threads import one_blas_thread

F = TypeVar("F", bound=Family)
ValidationScheme = Literal["model", "sample", "holdout"]
Mode = Literal["model", "sample", "holdout", "fixed"]

LOSS_TIE_RTOL = 1e-10  # losses this close, relative to the smallest, are equal up to rounding
HOLDOUT_PARTS = 3  # "holdout" validates on one part in three
MEAN_DECIMALS = 12  # mean outcomes are compared after rounding, because the order of summation moves the last bits


@dataclass(frozen=True, slots=True)
class Validation:
    """How validation rows are held out: by whole models, by rows without splitting contexts, or in one such split."""

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
    """The chosen hyperparameters and the losses behind the choice.

    ``mode`` is the scheme that was really used: "model" falls back to "sample" when too few models occur in the
    experiment, and "fixed" means that there was one candidate only, or too few rows to compare several.
    """

    estimator: F
    candidates: tuple[F, ...]
    losses: FloatArray  # one per candidate; NaN when fixed
    mode: Mode
    fit: RewardFit | None = None  # of the chosen candidate to all rows; only ``tune`` sets it


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
    needs; "sample" holds out rows without splitting contexts; "holdout" is one such split. Every fit uses the whole
    log. Ties go to the more regularized candidate. The winner is fitted to all rows: ``tuned.fit``.
    """
    with one_blas_thread():
        data = TrainingData(log, experiment)
        compared = tuple(family.grid(data) if candidates is None else candidates)
        prepared = type(family).prepare(data, compared)
        all_rows = np.arange(len(experiment))
        tuned = tune_subsets(prepared, compared, family, experiment, [all_rows], Validation(folds, by, seed))[0]
        return replace(tuned, fit=prepared.fit(tuned.estimator, all_rows))


def tune_subsets(
    prepared: Prepared[F],
    candidates: Sequence[F],
    default: F,
    experiment: Rows,
    subsets: Sequence[IntArray],
    validation: Validation,
    on_progress: Callable[[float], None] = lambda _done: None,
) -> list[Tuned[F]]:
    """``tune`` with an existing preparation, once for each subset of the experiment's rows.

    Nested cross-fitting tunes the same candidates on many overlapping subsets. The loop goes candidate by candidate,
    so that all subsets share the matrices of its hyperparameters. A subset too small to split gets ``default``.
    """
    candidates = tuple(candidates)
    plans = [_split_plan(experiment, subset, validation) for subset in subsets]
    if len(candidates) == 1:
        return [Tuned(candidates[0], candidates, np.full(1, np.nan), "fixed") for _ in subsets]
    losses = np.full((len(subsets), len(candidates)), np.nan)
    train_subsets = [split.train for plan in plans for split in plan.splits]
    for i, candidate in enumerate(candidates):
        on_progress(i / len(candidates))
        losses[:, i] = _mean_losses(prepared.predict(candidate, train_subsets), experiment, plans)
    tuned = []
    for loss, plan in zip(losses, plans, strict=True):
        chosen = candidates[best_candidate(loss, candidates)] if plan.splits else default
        tuned.append(Tuned(chosen, candidates, loss, plan.mode))
    return tuned


def best_candidate(losses: FloatArray, candidates: Sequence[Family]) -> int:
    """Index of the smallest loss; ties go to the more regularized candidate."""
    best = losses.min()
    tied = np.flatnonzero(losses <= best + LOSS_TIE_RTOL * max(abs(best), LOSS_TIE_RTOL))
    return max((int(i) for i in tied), key=lambda i: candidates[i].regularization_order())


@dataclass(frozen=True, slots=True)
class _Split:
    """Training and validation rows, as row numbers of the whole experiment."""

    train: IntArray
    held_out: IntArray
    loss_group: IntArray  # (n_held_out,) the loss is the squared mean error of each group


@dataclass(frozen=True, slots=True)
class _SplitPlan:
    """All splits of one subset of the experiment."""

    splits: tuple[_Split, ...]
    mode: Mode


def _split_plan(experiment: Rows, subset: IntArray, validation: Validation) -> _SplitPlan:
    folds, mode = _folds(experiment.take(subset), validation)
    splits = []
    for fold in folds:
        held_out = subset[fold.held_out]
        loss_group = np.arange(len(held_out))
        if mode == "model" and experiment.model is not None:
            loss_group = np.unique(experiment.model[held_out], return_inverse=True)[1]
        splits.append(_Split(subset[fold.train], held_out, loss_group))
    return _SplitPlan(tuple(splits), mode if splits else "fixed")


def _folds(experiment: Rows, validation: Validation) -> tuple[tuple[Fold, ...], Mode]:
    folds, by, seed = validation.folds, validation.by, validation.seed
    if by == "model" and experiment.model is not None and len(np.unique(experiment.model)) >= folds:
        return group_folds(_name_invariant_codes(experiment), folds, seed), "model"
    group = np.arange(len(experiment)) if experiment.context is None else experiment.context
    if by == "holdout":
        return group_folds(group, HOLDOUT_PARTS, seed)[:1], "holdout"
    return group_folds(group, folds, seed), "sample"


def _name_invariant_codes(experiment: Rows) -> IntArray:
    """Model codes in an order that renaming the models cannot change: by count, mean outcome, then mean features.

    Balanced designs with binary outcomes often give two models equal counts and means; only their outputs differ.
    """
    assert experiment.model is not None  # noqa: S101  (checked by the caller)
    _, code = np.unique(experiment.model, return_inverse=True)
    count = np.bincount(code, weights=experiment.weight_or_ones)
    shares = experiment.weight_or_ones / count[code]
    mean = np.bincount(code, weights=shares * experiment.require_outcome())
    projection = np.bincount(code, weights=shares * experiment.phi.random_projection(seed=3))
    rank = np.empty(len(count), dtype=np.int64)
    rank[np.lexsort((projection, np.round(mean, MEAN_DECIMALS), count))] = np.arange(len(count))
    return rank[code]


def _mean_losses(predictions: Sequence[FloatArray], experiment: Rows, plans: Sequence[_SplitPlan]) -> list[float]:
    """One candidate's mean loss in each plan, from its predictions for every split in order."""
    next_prediction = iter(predictions)
    by_plan = [[_loss(next(next_prediction), experiment, split) for split in plan.splits] for plan in plans]
    return [float(np.mean(losses)) if losses else np.nan for losses in by_plan]


def _loss(prediction: FloatArray, experiment: Rows, split: _Split) -> float:
    """Squared mean error of each group of held-out rows, averaged by weight."""
    held_out = split.held_out
    error, weight = prediction[held_out] - experiment.require_outcome()[held_out], experiment.weight_or_ones[held_out]
    count = np.bincount(split.loss_group, weights=weight)
    mean_error = np.bincount(split.loss_group, weights=weight * error) / count
    return float(count @ mean_error**2 / count.sum())

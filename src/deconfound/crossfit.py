"""Fit a family in folds, so that no experiment row is evaluated by a reward that was fitted to its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, group_folds
from deconfound.errors import EvidenceError
from deconfound.progress import Progress, prefixed
from deconfound.reward import Attribution, Family, Prepared, RewardFit
from deconfound.surface_share import StudyTrainingData
from deconfound.tune import Tuned, Validation, tune_subsets

F = TypeVar("F", bound=Family)

BOOTSTRAP_REFITS = 20
"""Default number of bootstrap refits behind recommendations and attribution."""


@dataclass(frozen=True, slots=True)
class FoldFit(Generic[F]):
    """A family tuned and fitted on some rows of the experiment, at the surface share chosen on those rows."""

    surface_share: float
    tuned: Tuned[F]
    reward: RewardFit


@dataclass(frozen=True, slots=True)
class CrossFit(Generic[F]):
    """Out-of-fold rewards for values, and the fit on all rows for recommendations."""

    final: FoldFit[F]
    q: FloatArray  # (n, k) out-of-fold reward of each model on the context of each experiment row
    prediction: FloatArray  # (n,) out-of-fold reward of each experiment row's own output
    predictions: FloatArray  # (n, k) of that output, had each model written it
    q_all_contexts: FloatArray  # (contexts, k) mean over the folds' rewards, on every replayed context
    q_unseen: FloatArray  # (n, k) as ``q``, from rewards that have not seen the row's context in the log either
    bootstrap_fits: tuple[RewardFit, ...]  # refits of the final candidate; none if it ignores the experiment
    bootstrap_rows: tuple[IntArray, ...]  # resampled experiments, as row numbers
    attribution: Attribution | None
    folds: tuple[Fold, ...]
    unseen_fits: tuple[FoldFit[F], ...]  # one per fold, behind ``q_unseen``


def cross_fit(
    data: StudyTrainingData,
    family: F,
    folds: int,
    seed: int,
    surface_share: float | None,
    progress: Progress,
    bootstrap_fits: int = BOOTSTRAP_REFITS,
) -> CrossFit[F]:
    """Tune and fit within each fold, and on all rows.

    Folds split no context and, as far as ``connected_groups`` can, no cluster: its rows share noise, which would leak
    into the fit. Surface share and hyperparameters are chosen anew inside every fold, so the held-out rows influence
    nothing that is evaluated on them. The exception is what ``Family.resolve`` estimates, which uses all rows.
    """
    n = len(data.study.experiment.outcome)
    outer_folds = _outer_folds(data.study.experiment.fold_group, folds, seed)
    train_subsets = [fold.train for fold in outer_folds] if family.learns_from_experiment else []
    fitter = _Fitter(data, family, seed, surface_share, progress)
    *fold_fits, final = fitter.fit([*train_subsets, np.arange(n)])
    progress("scoring replayed outputs", 0.0)
    fits = fold_fits or [final] * len(outer_folds)
    scores = _out_of_fold(data, outer_folds, fits)
    unseen = [fitter.without_contexts(fold, fit) for fold, fit in zip(outer_folds, fits, strict=True)]
    is_same = all(one is other for one, other in zip(unseen, fits, strict=True))
    q_unseen = scores[0] if is_same else _out_of_fold(data, outer_folds, unseen)[0]
    bootstrap_rows = _bootstrap_rows(data.study.experiment.cluster, bootstrap_fits, seed)
    replay = data.study.replay.rows(final.surface_share)
    # First the attribution, which knows all refits at once and can solve for them together.
    attribution = fitter.prepared(final.surface_share).attribution(replay, bootstrap_rows)
    refits = fitter.refit(final, bootstrap_rows) if family.learns_from_experiment else ()
    return CrossFit(final, *scores, q_unseen, refits, tuple(bootstrap_rows), attribution, outer_folds, tuple(unseen))


def _outer_folds(fold_group: IntArray, folds: int, seed: int) -> tuple[Fold, ...]:
    outer_folds = group_folds(fold_group, folds, seed)
    if not outer_folds:
        raise EvidenceError(
            "The experiment has a single context; values need at least two. Randomize on more contexts."
        )
    return outer_folds


def _out_of_fold(
    data: StudyTrainingData, outer_folds: Sequence[Fold], fits: Sequence[FoldFit[F]]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """``q``, ``prediction``, ``predictions`` and ``q_all_contexts`` of ``CrossFit``."""
    experiment, replay = data.study.experiment, data.study.replay
    q = np.empty((len(experiment.outcome), replay.n_models))
    prediction, predictions = np.empty(len(experiment.outcome)), np.empty(q.shape)
    q_all_contexts = np.zeros((len(replay.contexts), replay.n_models))
    for fold, fit in zip(outer_folds, fits, strict=True):
        held_out = fold.held_out
        fold_q = fit.reward.mean_by_cell(replay.rows(fit.surface_share))
        q_all_contexts += fold_q / len(outer_folds)
        q[held_out] = fold_q[experiment.context[held_out]]
        rows = data.at(fit.surface_share).experiment.take(held_out)
        prediction[held_out] = fit.reward.predict(rows)
        predictions[held_out] = fit.reward.predict_by_model(rows, replay.n_models)
    return q, prediction, predictions, q_all_contexts


def _bootstrap_rows(cluster: IntArray, count: int, seed: int) -> list[IntArray]:
    """Row numbers of experiments whose clusters are drawn with replacement."""
    clusters, code = np.unique(cluster, return_inverse=True)
    members = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
    rng = np.random.default_rng([seed, BOOTSTRAP_REFITS])
    draws = [rng.integers(len(clusters), size=len(clusters)) for _ in range(count)]
    return [np.concatenate([members[i] for i in draw]) for draw in draws]


class _Fitter(Generic[F]):
    """One family on one study, fitted to any subsets of the experiment."""

    def __init__(
        self, data: StudyTrainingData, family: F, seed: int, surface_share: float | None, progress: Progress
    ) -> None:
        self._data = data
        self._family = family
        self._seed = seed
        self._fixed_share = surface_share if family.surface_share is None else family.surface_share
        self._progress = progress
        self._resolved_by_share: dict[float, F] = {}
        self._prepared_by_share: dict[float, Prepared[F]] = {}

    def fit(self, subsets: Sequence[IntArray]) -> list[FoldFit[F]]:
        """Surface share, hyperparameters and reward of each subset; subsets with the same share are tuned together."""
        shares = self._surface_shares(subsets)
        fits: dict[int, FoldFit[F]] = {}
        for share in sorted(set(shares)):
            at_share = [i for i, chosen in enumerate(shares) if chosen == share]
            for i, tuned in zip(at_share, self._tune(share, [subsets[i] for i in at_share]), strict=True):
                fits[i] = FoldFit(share, tuned, self.prepared(share).fit(tuned.estimator, subsets[i]))
        return [fits[i] for i in range(len(subsets))]

    def without_contexts(self, fold: Fold, fit: FoldFit[F]) -> FoldFit[F]:
        """The fit of a fold without the log's rows on the held-out contexts, with the same hyperparameters.

        A reward that has seen a context in the log knows it better than it will know a new one.
        """
        part = self._data.without_contexts(fold.held_out, fit.surface_share)
        if part is None:
            return fit
        self._progress("fitting without the log's rows on held-out contexts", 0.0)
        estimator = fit.tuned.estimator
        prepared = estimator.prepare_part(part, self.prepared(fit.surface_share))
        train = fold.train if estimator.learns_from_experiment else np.arange(len(part.data.experiment))
        return replace(fit, reward=prepared.fit(estimator, train))

    def refit(self, final: FoldFit[F], bootstrap_rows: Sequence[IntArray]) -> tuple[RewardFit, ...]:
        """The final candidate fitted to resampled experiments."""
        fits = []
        for i, rows in enumerate(bootstrap_rows):
            self._progress("fitting bootstrap refits", i / len(bootstrap_rows))
            fits.append(self.prepared(final.surface_share).fit(final.tuned.estimator, rows))
        return tuple(fits)

    def prepared(self, surface_share: float) -> Prepared[F]:
        """The family's preparation at this share."""
        if surface_share not in self._prepared_by_share:
            family, data = self._resolved(surface_share), self._data.at(surface_share)
            self._prepared_by_share[surface_share] = type(family).prepare(data, family.grid(data))
        return self._prepared_by_share[surface_share]

    def _tune(self, surface_share: float, subsets: Sequence[IntArray]) -> list[Tuned[F]]:
        family, data = self._resolved(surface_share), self._data.at(surface_share)
        prepared, candidates, validation = self.prepared(surface_share), family.grid(data), Validation(seed=self._seed)
        return tune_subsets(prepared, candidates, family, data.experiment, subsets, validation, self._report_progress)

    def _resolved(self, surface_share: float) -> F:
        if surface_share not in self._resolved_by_share:
            stage, data = f"preparing {self._family.name}", self._data.at(surface_share)
            self._progress(stage, 0.0)
            resolved = self._family.resolve(data, prefixed(self._progress, f"{stage}: "))
            self._resolved_by_share[surface_share] = resolved
        return self._resolved_by_share[surface_share]

    def _surface_shares(self, subsets: Sequence[IntArray]) -> list[float]:
        if self._fixed_share is not None:
            return [self._fixed_share] * len(subsets)
        self._progress("choosing features", 0.0)
        return self._data.choose_surface_shares(subsets, self._seed)

    def _report_progress(self, done: float) -> None:
        self._progress(f"tuning {self._family.name}", done)

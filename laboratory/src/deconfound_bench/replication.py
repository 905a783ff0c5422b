"""Score reward families on one replication: one draw of log and experiment whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from time import perf_counter

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.metrics import regret, rmse, top_k_recall
from deconfound.reward import Family, RewardFit, TrainingData, family_by_name
from deconfound.threads import one_blas_thread
from deconfound.tune import Tuned, Validation, tune_subsets
from deconfound.value import doubly_robust
from deconfound_bench.batch_prediction import BatchPredictor, ReplayFeatures
from deconfound_bench.results import Cell, Hyperparameters, Score

FOLDS = 5  # of the cross-fitting behind doubly robust values


@dataclass(frozen=True, slots=True)
class Truth:
    """The true values that estimates are compared with."""

    q: FloatArray  # (evaluation contexts, models)
    value: FloatArray  # (models,)


@dataclass(frozen=True, slots=True)
class Replication:
    """One draw of log and experiment, the replay of every model, and the truth.

    The experiment has as many rows as the largest cell. Smaller experiments are its first rows.
    """

    models: tuple[str, ...]
    log: Rows
    experiment: Rows
    experiment_row: IntArray  # (n,) row of each experiment output in ``train_replay``
    train_replay: ReplayFeatures  # on the contexts of log and experiment
    test_replay: ReplayFeatures  # on the evaluation contexts
    truth: Truth


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family, tuned over its grid or used with exactly these hyperparameters."""

    family: Family
    tuned: bool = True

    def grid(self, data: TrainingData) -> tuple[Family, ...]:
        """The candidates that are compared on these rows; a grid of one is used without tuning."""
        family = self.family.resolve(data)
        return tuple(family.grid(data)) if self.tuned else (family,)


def candidate_for(name: str) -> Candidate:
    """A family by name, tuned as the package tunes it."""
    return Candidate(family_by_name(name)())


@dataclass(frozen=True, slots=True)
class FoldFit:
    """A fit and the experiment rows it was not trained on."""

    held_out: IntArray
    fit: RewardFit


@dataclass(frozen=True, slots=True)
class CandidateFits:
    """The tuned family, its fit to all rows, and its fits with each fold held out."""

    tuned: Tuned[Family]
    final: RewardFit
    folds: tuple[FoldFit, ...]
    seconds: float

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The chosen values, in the form of the result table."""
        names = [field.name for field in fields(Hyperparameters) if field.name != "mode"]
        chosen = {name: getattr(self.tuned.estimator, name, None) for name in names}
        return Hyperparameters(**chosen, mode=self.tuned.mode)


def fit_candidate(candidate: Candidate, data: TrainingData, seed: int) -> CandidateFits:
    """Tune on the experiment, then fit to all of its rows and without each fold.

    As in the paper, hyperparameters are chosen once and reused in the folds. A family that does not learn from the
    experiment needs no folds: its single fit has seen none of the experiment's outcomes.
    """
    start = perf_counter()
    experiment, family = data.experiment, candidate.family
    everything = np.arange(len(experiment))
    grid = candidate.grid(data)
    prepared = type(family).prepare(data, grid)
    tuned = tune_subsets(prepared, grid, family, experiment, [everything], Validation(seed=seed))[0]
    final = prepared.fit(tuned.estimator, everything)
    folds: tuple[FoldFit, ...] = (FoldFit(everything, final),)
    if family.learns_from_experiment:
        assert experiment.context is not None  # noqa: S101  (benchmarks number their contexts)
        folds = tuple(
            FoldFit(fold.held_out, prepared.fit(tuned.estimator, fold.train))
            for fold in group_folds(experiment.context, FOLDS, seed)
        )
    return CandidateFits(tuned, final, folds, perf_counter() - start)


def score_candidates(
    replication: Replication, candidates: Sequence[Candidate], benchmark: str, cell: Cell, seed: int
) -> list[Score]:
    """Tune, fit, cross-fit and score every candidate on the cell's experiment.

    The families get exactly the rows of the cell, as a user of the package would pass them, so a score does not
    depend on which other cells or families are run.
    """
    with one_blas_thread():
        data = TrainingData(replication.log, replication.experiment.take(np.arange(cell.n_experiment)))
        train, test = BatchPredictor(replication.train_replay), BatchPredictor(replication.test_replay)
        scores = []
        for candidate in candidates:
            fits = fit_candidate(candidate, data, seed)
            q = test.predict_q(fits.final, fits.hyperparameters.log_penalty)
            dr_value = _doubly_robust_value(replication, data.experiment, fits, q.mean(axis=0), train)
            score = Score(
                benchmark,
                cell,
                seed,
                candidate.family.name,
                **_metrics(q, dr_value, replication.truth),
                seconds=fits.seconds,
                hyperparameters=fits.hyperparameters,
            )
            scores.append(score)
        return scores


def _metrics(q: FloatArray, dr_value: FloatArray, truth: Truth) -> dict[str, float]:
    value = q.mean(axis=0)
    return {
        "regret": regret(q, truth.q),
        "rmse_context": rmse(q, truth.q),
        "rmse_model_direct": rmse(value, truth.value),
        "rmse_model_dr": rmse(dr_value, truth.value),
        "top1": top_k_recall(value, truth.value, 1),
        "top3": top_k_recall(value, truth.value, 3),
    }


def _doubly_robust_value(
    replication: Replication, experiment: Rows, fits: CandidateFits, value: FloatArray, train: BatchPredictor
) -> FloatArray:
    """The direct values plus the experiment's cross-fitted residuals (the paper's main equation).

    Both estimates average over the same evaluation contexts and are compared with the same truth. The experiment
    enters through its residuals only.
    """
    model = experiment.model
    assert model is not None  # noqa: S101  (an experiment always names its models)
    held_out = [fold.held_out for fold in fits.folds]
    predicted = train.predict_rows(
        [fold.fit for fold in fits.folds],
        fits.hyperparameters.log_penalty,
        [replication.experiment_row[rows] for rows in held_out],
        [model[rows] for rows in held_out],
    )
    prediction = np.empty(len(experiment))
    for rows, part in zip(held_out, predicted, strict=True):
        prediction[rows] = part
    q = np.tile(value, (len(experiment), 1))
    return doubly_robust(
        replication.models, q=q, model=model, outcome=experiment.require_outcome(), prediction=prediction
    ).estimate

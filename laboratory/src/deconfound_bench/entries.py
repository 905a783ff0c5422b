"""Fit a family to the start of an experiment, on all of it and with each fold held out."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from deconfound.design import IntArray, group_folds
from deconfound.reward import Family, RewardFit, TrainingData
from deconfound.tune import Tuned, Validation, tune_subsets

FOLDS = 5  # of the cross-fitting behind doubly robust values


@dataclass(frozen=True, slots=True)
class Contender:
    """A family and the hyperparameters it may choose from; a single candidate is taken as it is."""

    family: Family
    candidates: tuple[Family, ...]

    @classmethod
    def of(cls, family: Family) -> Contender:
        """A family with the grid of its own."""
        return cls(family, tuple(family.grid()))


@dataclass(frozen=True, slots=True)
class Part:
    """A reward and the experiment rows that it has not seen."""

    held_out: IntArray
    fit: RewardFit


@dataclass(frozen=True, slots=True)
class Entry:
    """One family's fits for the first ``rows`` rows of the experiment."""

    family: Family
    rows: int
    tuned: Tuned[Family]
    final: RewardFit
    parts: tuple[Part, ...]
    seconds: float

    @property
    def fits(self) -> tuple[RewardFit, ...]:
        """All rewards of the entry."""
        return (self.final, *(part.fit for part in self.parts))


def enter(sources: TrainingData, contender: Contender, context: IntArray, rows: int, seed: int) -> Entry:
    """Tune on the experiment of ``sources``, which has ``rows`` rows, then fit to all of it and without each fold.

    As in the paper, hyperparameters are chosen once and reused in the folds. A family that does not learn from the
    experiment has seen none of its rows, and one fit serves for all.
    """
    start = perf_counter()
    subset = np.arange(rows)
    family, candidates = contender.family, tuple(each.resolve(sources) for each in contender.candidates)
    prepared = type(family).prepare(sources, candidates)
    tuned = tune_subsets(prepared, candidates, family, sources.experiment, [subset], Validation(seed=seed))[0]
    final = prepared.fit(tuned.estimator, subset)
    folds = group_folds(context[subset], FOLDS, seed) if family.learns_from_experiment else ()
    parts = tuple(Part(fold.held_out, prepared.fit(tuned.estimator, fold.train)) for fold in folds)
    return Entry(family, rows, tuned, final, parts or (Part(subset, final),), perf_counter() - start)

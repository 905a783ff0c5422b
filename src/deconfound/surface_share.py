"""Choose the share of surface statistics in phi, and cache a study's training data per share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import IntArray
from deconfound.features.study_arrays import StudyArrays
from deconfound.reward import ExpOnly, TrainingData
from deconfound.tune import Validation, tune_subsets

SURFACE_SHARES = (0.1, 0.5, 0.9)
"""Candidates for the share of the surface statistics in phi."""

PENALTIES = (0.3, 1.0, 3.0, 10.0)
"""Penalties of the ridge that compares the shares; each share is scored at its best penalty."""


class StudyTrainingData:
    """One study's training data at each surface share, and the shares chosen so far.

    Families that are evaluated together use one object, so that they share its factorizations.
    """

    def __init__(self, study: StudyArrays) -> None:
        self.study = study
        self._data_by_share: dict[float, TrainingData] = {}
        self._chosen_shares: dict[tuple[int, bytes], float] = {}  # by seed and subset

    def at(self, surface_share: float) -> TrainingData:
        """Log and experiment with phi at this share."""
        if surface_share not in self._data_by_share:
            log, experiment = self.study.log_rows(surface_share), self.study.experiment_rows(surface_share)
            self._data_by_share[surface_share] = TrainingData(log, experiment)
        return self._data_by_share[surface_share]

    def choose_surface_shares(self, subsets: Sequence[IntArray], seed: int) -> list[float]:
        """For each subset of the experiment, the share that predicts its held-out outcomes best.

        Scored by ``ExpOnly`` at its best penalty, in folds that split no context. The best share depends on which
        features predict the outcome and not on how far the log is trusted, so all families use the same.
        """
        if not self.study.has_surface_share:
            return [0.0] * len(subsets)
        keys = [(seed, subset.tobytes()) for subset in subsets]
        new = {key: subset for key, subset in zip(keys, subsets, strict=True) if key not in self._chosen_shares}
        if new:
            shares = _cross_validate_surface_share(self, list(new.values()), seed)
            self._chosen_shares.update(zip(new, shares, strict=True))
        return [self._chosen_shares[key] for key in keys]


def _cross_validate_surface_share(data: StudyTrainingData, subsets: Sequence[IntArray], seed: int) -> list[float]:
    candidates = [ExpOnly(penalty) for penalty in PENALTIES]
    validation = Validation(by="sample", seed=seed)
    losses = []
    for share in SURFACE_SHARES:
        training = data.at(share)
        prepared = ExpOnly.prepare(training, candidates)
        tuned = tune_subsets(prepared, candidates, ExpOnly(), training.experiment, subsets, validation)
        losses.append([float(result.losses.min()) for result in tuned])
    by_subset = np.array(losses).T  # (subsets, shares); NaN where a subset is too small to split
    middle = len(SURFACE_SHARES) // 2
    best = [middle if np.isnan(loss).any() else int(np.argmin(loss)) for loss in by_subset]
    return [SURFACE_SHARES[i] for i in best]

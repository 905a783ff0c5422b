"""Choose the share of surface statistics in phi, and cache a study's training data per share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deconfound.design import IntArray, Rows
from deconfound.errors import UsageError
from deconfound.features.study_arrays import LongLogArrays, StudyArrays
from deconfound.linalg.log_sums import LogSums
from deconfound.reward import ExpOnly, TrainingData
from deconfound.reward.feature_maps import maps_of
from deconfound.reward.log_source import LogSource
from deconfound.reward.summed_log import SummedLog
from deconfound.reward.training_data import LogPart
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
        self._total: LogSums | None = None  # over a long log

    def at(self, surface_share: float) -> TrainingData:
        """Log and experiment with phi at this share."""
        if surface_share not in self._data_by_share:
            experiment = self.study.experiment_rows(surface_share)
            self._data_by_share[surface_share] = TrainingData(self._log(surface_share), experiment)
        return self._data_by_share[surface_share]

    def without_contexts(self, held_out: IntArray, surface_share: float) -> LogPart | None:
        """The log without its rows on the contexts of these experiment rows; None if there are none, or no others."""
        study, whole, log = self.study, self.at(surface_share), self.study.log_rows(surface_share)
        seen = np.isin(study.log_context, study.experiment.context[held_out])
        if study.long_log is None:
            return LogPart.from_rows(whole, log, seen) if 0 < seen.sum() < len(seen) else None
        sums = study.long_log.statistics.without(self._fold_number(study.long_log, held_out))
        if sums is None:
            return None
        part = self._summed(study.long_log, sums, log.take(np.flatnonzero(~seen)), surface_share)
        if isinstance(whole.log, SummedLog):
            part = replace(part, whole=whole.log)
        return LogPart(TrainingData(part, whole.experiment), 0, None)

    def _log(self, surface_share: float) -> Rows | LogSource:
        rows, long_log = self.study.log_rows(surface_share), self.study.long_log
        return rows if long_log is None else self._summed(long_log, self._all_sums(long_log), rows, surface_share)

    def _summed(self, long_log: LongLogArrays, sums: LogSums, sample: Rows, surface_share: float) -> SummedLog:
        return SummedLog(sums, long_log.models, maps_of(self.study.featurizer, surface_share), sample)

    def _all_sums(self, long_log: LongLogArrays) -> LogSums:
        if self._total is None:
            self._total = long_log.statistics.total()
        return self._total

    def _fold_number(self, long_log: LongLogArrays, held_out: IntArray) -> int:
        numbers = np.unique(long_log.fold[self.study.experiment.context[held_out]])
        if len(numbers) != 1 or numbers[0] < 0:
            raise UsageError("These folds are not those that the log was summed by; use the same number and seed.")
        return int(numbers[0])

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

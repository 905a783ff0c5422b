"""Fit a family so that no experiment row is ever judged by a reward that has seen its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, group_folds
from deconfound.errors import EvidenceError
from deconfound.features.study_arrays import StudyArrays
from deconfound.progress import Progress
from deconfound.reward import Auto, ExpOnly, Family, Prepared, PreparedAuto, RewardFit, settled
from deconfound.reward.auto.attribution import Attribution, attribute
from deconfound.tune import Tuned, Validation, tune_subsets

F = TypeVar("F", bound=Family)
SURFACE_SHARES = (0.1, 0.5, 0.9)
"""Shares of the surface statistics in phi that compete on the experiment."""

TEXT_ONLY = 0.0
"""The balance at which phi is text and nothing else, for the family that weighs the statistics itself."""

BALANCE_PENALTIES = (0.3, 1.0, 3.0, 10.0)
"""Penalties of the experiment-only ridge that compares the balances; each balance is judged at its best."""

BOOTSTRAP_REFITS = 20
"""Bootstrap refits behind the margins' intervals and the stability of weights, unless another number is asked for."""


@dataclass(frozen=True, slots=True)
class FoldFit(Generic[F]):
    """A family tuned and fitted on some rows of the experiment, at the balance those rows favour."""

    surface_share: float
    tuned: Tuned[F]
    reward: RewardFit


@dataclass(frozen=True, slots=True)
class CrossFit(Generic[F]):
    """Out-of-fold rewards for values, and the fit on everything for recommendations."""

    final: FoldFit[F]
    q: FloatArray  # (n, k) replayed reward on each experiment row's context
    prediction: FloatArray  # (n,) reward of each experiment row's own output
    everywhere: FloatArray  # (contexts, k) mean of the folds' rewards on every replayed context
    bootstrap_fits: tuple[RewardFit, ...]  # refits on bootstrapped clusters, hyperparameters kept
    samples: tuple[IntArray, ...]  # resampled experiments, as row numbers; those behind the refits where there are any
    trust: Attribution | None = None  # what the fit is made of, where the family can tell


def cross_fit(
    material: StudyArrays,
    family: F,
    folds: int,
    seed: int,
    surface_share: float | None,
    progress: Progress,
    bootstrap_fits: int = BOOTSTRAP_REFITS,
) -> CrossFit[F]:
    """Tune and fit within each fold and on everything.

    Folds part no context and, as far as ``linked`` can, no cluster: the same one in both halves would leak its luck.
    Balance and hyperparameters are chosen anew inside every fold, so the held-out rows have no say in anything that
    judges them. Only the sizes of ``Auto``, nine numbers that rest on the log more than on any fold, are learned once
    from everything.
    """
    rows = len(material.trial.outcome)
    if isinstance(family, Auto):
        surface_share = TEXT_ONLY
        progress("fitting variance components", 0.0)
        family = settled(family, material.sources(surface_share))
    cuts = _cuts(material, folds, seed)
    subsets = [cut.train for cut in cuts] if family.learns_from_experiment else []
    fitter = _Fitter(material, family, seed, surface_share, progress)
    progress(f"tuning {family.name}", 0.0)
    *parts, final = fitter.fit([*subsets, np.arange(rows)])
    progress("scoring replayed outputs", 0.0)
    q, prediction, everywhere = _out_of_fold(material, cuts, parts or [final] * len(cuts))
    samples = fitter.samples(bootstrap_fits)
    refits = fitter.refits(final, samples) if family.learns_from_experiment else ()
    ready = fitter.prepared(final.surface_share)
    trust = attribute(ready, material.cells, final.surface_share, samples) if isinstance(ready, PreparedAuto) else None
    return CrossFit(final, q, prediction, everywhere, refits, tuple(samples), trust)


def _cuts(material: StudyArrays, folds: int, seed: int) -> tuple[Fold, ...]:
    cuts = group_folds(material.trial.together, folds, seed)
    if not cuts:
        raise EvidenceError(
            "The experiment has a single context; values need at least two. Randomize on more contexts."
        )
    return cuts


def _out_of_fold(
    material: StudyArrays, cuts: Sequence[Fold], fits: Sequence[FoldFit[F]]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    trial, cells = material.trial, material.cells
    q = np.empty((len(trial.outcome), len(material.models)))
    prediction = np.empty(len(trial.outcome))
    everywhere = np.zeros((len(cells.contexts), len(material.models)))
    for cut, fit in zip(cuts, fits, strict=True):
        held_out = cut.held_out
        average = cells.q(fit.reward, fit.surface_share)
        everywhere += average / len(cuts)
        q[held_out] = average[trial.context[held_out]]
        prediction[held_out] = fit.reward.predict(material.sources(fit.surface_share).experiment.take(held_out))
    return q, prediction, everywhere


@dataclass(frozen=True, slots=True)
class _Fitter(Generic[F]):
    """One family on one study's material, fitted to any subsets of the experiment."""

    material: StudyArrays
    family: F
    seed: int
    surface_share: float | None
    progress: Progress
    made: dict[float, Prepared[F]] = field(default_factory=dict)

    def fit(self, subsets: Sequence[IntArray]) -> list[FoldFit[F]]:
        """Balance, hyperparameters and reward of each subset; subsets that agree on the balance share the work."""
        surface_shares = choose_surface_shares(self.material, subsets, self.seed, self.surface_share)
        fitted: dict[int, FoldFit[F]] = {}
        for surface_share in sorted(set(surface_shares)):
            at = [i for i, chosen in enumerate(surface_shares) if chosen == surface_share]
            prepared = self.prepared(surface_share)
            experiment = self.material.sources(surface_share).experiment
            parts = [subsets[i] for i in at]
            validation = Validation(seed=self.seed)
            tuned = tune_subsets(prepared, self.family.grid(), self.family, experiment, parts, validation, self._tick)
            for i, chosen in zip(at, tuned, strict=True):
                fitted[i] = FoldFit(surface_share, chosen, prepared.fit(chosen.estimator, subsets[i]))
        return [fitted[i] for i in range(len(subsets))]

    def samples(self, count: int) -> list[IntArray]:
        """Experiments with clusters drawn with replacement: refits say how far the reward would move with another."""
        names, code = np.unique(self.material.trial.cluster, return_inverse=True)
        members = [np.flatnonzero(code == i) for i in range(len(names))]
        rng = np.random.default_rng([self.seed, BOOTSTRAP_REFITS])
        draws = [rng.integers(len(names), size=len(names)) for _ in range(count)]
        return [np.concatenate([members[i] for i in draw]) for draw in draws]

    def refits(self, final: FoldFit[F], samples: Sequence[IntArray]) -> tuple[RewardFit, ...]:
        """Rewards of resampled experiments, hyperparameters kept."""
        found = []
        for number, sample in enumerate(samples):
            self.progress("fitting bootstrap replicates", number / len(samples))
            found.append(self.prepared(final.surface_share).fit(final.tuned.estimator, sample))
        return tuple(found)

    def _tick(self, done: float) -> None:
        self.progress(f"tuning {self.family.name}", done)

    def prepared(self, surface_share: float) -> Prepared[F]:
        """The family on both sources at this balance, made once."""
        if surface_share not in self.made:
            self.made[surface_share] = type(self.family).prepare(
                self.material.sources(surface_share), self.family.grid()
            )
        return self.made[surface_share]


def choose_surface_shares(
    material: StudyArrays, subsets: Sequence[IntArray], seed: int, surface_share: float | None
) -> list[float]:
    """The balance of text and statistics that predicts randomized outcomes best, for each subset.

    Judged by the experiment-only ridge at its best penalty, rows held out by context: it is a question of what the
    outcome depends on, not of how much the log is believed, so every family gets the same answer.
    """
    if surface_share is not None or not material.log_blocks.both:
        return [0.0 if surface_share is None else surface_share] * len(subsets)
    keys = [(seed, subset.tobytes()) for subset in subsets]
    new = {key: subset for key, subset in zip(keys, subsets, strict=True) if key not in material.surface_shares}
    if new:
        material.surface_shares.update(zip(new, _compare_balances(material, list(new.values()), seed), strict=True))
    return [material.surface_shares[key] for key in keys]


def _compare_balances(material: StudyArrays, subsets: Sequence[IntArray], seed: int) -> list[float]:
    candidates = [ExpOnly(penalty) for penalty in BALANCE_PENALTIES]
    losses = []
    for tried in SURFACE_SHARES:
        sources = material.sources(tried)
        prepared = ExpOnly.prepare(sources, candidates)
        validation = Validation(by="sample", seed=seed)
        tuned = tune_subsets(prepared, candidates, ExpOnly(), sources.experiment, subsets, validation)
        losses.append([float(result.losses.min()) for result in tuned])
    table = np.array(losses)  # (balances, subsets); NaN where a subset is too small to be cut
    middle = len(SURFACE_SHARES) // 2
    best = [middle if np.isnan(column).any() else int(np.argmin(column)) for column in table.T]
    return [SURFACE_SHARES[at] for at in best]

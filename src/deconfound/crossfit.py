"""Fit a family so that no experiment row is ever judged by a reward that has seen its outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, group_folds
from deconfound.errors import EvidenceError
from deconfound.material import Material
from deconfound.reward import Auto, ExpOnly, Family, Prepared, PreparedAuto, RewardFit, settled
from deconfound.trust import Trust, weigh
from deconfound.tune import Tuned, Validation, choose

F = TypeVar("F", bound=Family)
Progress = Callable[[str, float], None]
"""Told the stage of the work and how much of it is done, from 0 to 1."""

BALANCES = (0.1, 0.5, 0.9)
"""Shares of the surface statistics in phi that compete on the experiment."""

TEXT_ALONE = 0.0
"""The balance at which phi is text and nothing else, for the family that weighs the statistics itself."""

BALANCE_PENALTIES = (0.3, 1.0, 3.0, 10.0)
"""Penalties of the experiment-only ridge that compares the balances; each balance is judged at its best."""

REPLICATES, THOROUGH = 20, 200
"""Bootstrap refits behind the margins' intervals and the stability of weights, usually and on request."""


@dataclass(frozen=True, slots=True)
class Fitted(Generic[F]):
    """A family tuned and fitted on some rows of the experiment, at the balance those rows favour."""

    balance: float
    tuned: Tuned[F]
    reward: RewardFit


@dataclass(frozen=True, slots=True)
class CrossFit(Generic[F]):
    """Out-of-fold rewards for values, and the fit on everything for recommendations."""

    final: Fitted[F]
    q: FloatArray  # (n, k) replayed reward on each experiment row's context
    prediction: FloatArray  # (n,) reward of each experiment row's own output
    everywhere: FloatArray  # (contexts, k) mean of the folds' rewards on every replayed context
    replicates: tuple[RewardFit, ...]  # refits on bootstrapped clusters, hyperparameters kept
    samples: tuple[IntArray, ...]  # resampled experiments, as row numbers; those behind the refits where there are any
    trust: Trust | None = None  # what the fit is made of, where the family can tell


def cross_fit(
    material: Material,
    family: F,
    folds: int,
    seed: int,
    balance: float | None,
    progress: Progress,
    replicates: int = REPLICATES,
) -> CrossFit[F]:
    """Tune and fit within each fold and on everything.

    Folds part no context and, as far as ``linked`` can, no cluster: the same one in both halves would leak its luck.
    Balance and hyperparameters are chosen anew inside every fold, so the held-out rows have no say in anything that
    judges them. Only the sizes of ``Auto``, nine numbers that rest on the log more than on any fold, are learned once
    from everything.
    """
    rows = len(material.trial.outcome)
    if isinstance(family, Auto):
        balance = TEXT_ALONE
        progress("weighing the sources", 0.0)
        family = settled(family, material.sources(balance))
    cuts = _cuts(material, folds, seed)
    subsets = [cut.train for cut in cuts] if family.learns_from_experiment else []
    fitter = _Fitter(material, family, seed, balance, progress)
    progress(f"tuning {family.name}", 0.0)
    *parts, final = fitter.fit([*subsets, np.arange(rows)])
    progress("replaying", 0.0)
    q, prediction, everywhere = _out_of_fold(material, cuts, parts or [final] * len(cuts))
    samples = fitter.samples(replicates)
    refits = fitter.refits(final, samples) if family.learns_from_experiment else ()
    ready = fitter.prepared(final.balance)
    trust = weigh(ready, material.cells, final.balance, samples) if isinstance(ready, PreparedAuto) else None
    return CrossFit(final, q, prediction, everywhere, refits, tuple(samples), trust)


def _cuts(material: Material, folds: int, seed: int) -> tuple[Fold, ...]:
    cuts = group_folds(material.trial.together, folds, seed)
    if not cuts:
        raise EvidenceError(
            "The experiment has a single context; values need at least two. Randomize on more contexts."
        )
    return cuts


def _out_of_fold(
    material: Material, cuts: Sequence[Fold], fits: Sequence[Fitted[F]]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    trial, cells = material.trial, material.cells
    q = np.empty((len(trial.outcome), len(material.models)))
    prediction = np.empty(len(trial.outcome))
    everywhere = np.zeros((len(cells.contexts), len(material.models)))
    for cut, fit in zip(cuts, fits, strict=True):
        held_out = cut.held_out
        average = cells.q(fit.reward, fit.balance)
        everywhere += average / len(cuts)
        q[held_out] = average[trial.context[held_out]]
        prediction[held_out] = fit.reward.predict(material.sources(fit.balance).experiment.take(held_out))
    return q, prediction, everywhere


@dataclass(frozen=True, slots=True)
class _Fitter(Generic[F]):
    """One family on one study's material, fitted to any subsets of the experiment."""

    material: Material
    family: F
    seed: int
    balance: float | None
    progress: Progress
    made: dict[float, Prepared[F]] = field(default_factory=dict)

    def fit(self, subsets: Sequence[IntArray]) -> list[Fitted[F]]:
        """Balance, hyperparameters and reward of each subset; subsets that agree on the balance share the work."""
        balances = choose_balances(self.material, subsets, self.seed, self.balance)
        fitted: dict[int, Fitted[F]] = {}
        for balance in sorted(set(balances)):
            at = [i for i, chosen in enumerate(balances) if chosen == balance]
            prepared = self.prepared(balance)
            experiment = self.material.sources(balance).experiment
            parts = [subsets[i] for i in at]
            validation = Validation(seed=self.seed)
            tuned = choose(prepared, self.family.grid(), self.family, experiment, parts, validation, self._tick)
            for i, chosen in zip(at, tuned, strict=True):
                fitted[i] = Fitted(balance, chosen, prepared.fit(chosen.estimator, subsets[i]))
        return [fitted[i] for i in range(len(subsets))]

    def samples(self, count: int) -> list[IntArray]:
        """Experiments with clusters drawn with replacement: refits say how far the reward would move with another."""
        names, code = np.unique(self.material.trial.cluster, return_inverse=True)
        members = [np.flatnonzero(code == i) for i in range(len(names))]
        rng = np.random.default_rng([self.seed, REPLICATES])
        draws = [rng.integers(len(names), size=len(names)) for _ in range(count)]
        return [np.concatenate([members[i] for i in draw]) for draw in draws]

    def refits(self, final: Fitted[F], samples: Sequence[IntArray]) -> tuple[RewardFit, ...]:
        """Rewards of resampled experiments, hyperparameters kept."""
        found = []
        for number, sample in enumerate(samples):
            self.progress("refitting", number / len(samples))
            found.append(self.prepared(final.balance).fit(final.tuned.estimator, sample))
        return tuple(found)

    def _tick(self, done: float) -> None:
        self.progress(f"tuning {self.family.name}", done)

    def prepared(self, balance: float) -> Prepared[F]:
        """The family on both sources at this balance, made once."""
        if balance not in self.made:
            self.made[balance] = type(self.family).prepare(self.material.sources(balance), self.family.grid())
        return self.made[balance]


def choose_balances(material: Material, subsets: Sequence[IntArray], seed: int, balance: float | None) -> list[float]:
    """The balance of text and statistics that predicts randomized outcomes best, for each subset.

    Judged by the experiment-only ridge at its best penalty, rows held out by context: it is a question of what the
    outcome depends on, not of how much the log is believed, so every family gets the same answer.
    """
    if balance is not None or not material.log_blocks.both:
        return [0.0 if balance is None else balance] * len(subsets)
    keys = [(seed, subset.tobytes()) for subset in subsets]
    new = {key: subset for key, subset in zip(keys, subsets, strict=True) if key not in material.balances}
    if new:
        material.balances.update(zip(new, _compare_balances(material, list(new.values()), seed), strict=True))
    return [material.balances[key] for key in keys]


def _compare_balances(material: Material, subsets: Sequence[IntArray], seed: int) -> list[float]:
    candidates = [ExpOnly(penalty) for penalty in BALANCE_PENALTIES]
    losses = []
    for tried in BALANCES:
        sources = material.sources(tried)
        prepared = ExpOnly.prepare(sources, candidates)
        validation = Validation(by="sample", seed=seed)
        tuned = choose(prepared, candidates, ExpOnly(), sources.experiment, subsets, validation)
        losses.append([float(result.losses.min()) for result in tuned])
    table = np.array(losses)  # (balances, subsets); NaN where a subset is too small to be cut
    middle = len(BALANCES) // 2
    best = [middle if np.isnan(column).any() else int(np.argmin(column)) for column in table.T]
    return [BALANCES[at] for at in best]

"""Let families compete on one draw of log and experiment, against a truth that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.linalg import one_blas_thread
from deconfound.metrics import regret, rmse, top_k_recall
from deconfound.reward import RewardFit, TrainingData
from deconfound.value import doubly_robust
from deconfound_bench.entries import Contender, Entry, enter
from deconfound_bench.results import Cell, Choice, Score


@dataclass(frozen=True, slots=True)
class Replayed:
    """What every model writes on every context, one or several draws each."""

    phi: FloatArray  # (rows, d)
    psi: FloatArray  # (rows, r)
    row: IntArray  # (contexts, models, draws) into phi


@dataclass(frozen=True, slots=True)
class Truth:
    """What the families are held against."""

    q: FloatArray  # (held-out contexts, models)
    value: FloatArray  # (models,)


@dataclass(frozen=True, slots=True)
class Contest:
    """One draw, and its truth.

    Experiments are nested: one of n rows is the first n rows of the one in ``sources``, whose contexts count through
    those of ``trained``.
    """

    models: tuple[str, ...]
    sources: TrainingData
    experiment_row: IntArray  # (n,) into the rows of ``trained``
    trained: Replayed  # on the contexts of log and experiment
    held_out: Replayed  # on contexts that neither has seen
    truth: Truth

    @property
    def context(self) -> IntArray:
        """The context of each experiment row."""
        context = self.sources.experiment.context
        assert context is not None  # noqa: S101  (benchmarks number their contexts)
        return context


@dataclass(frozen=True, slots=True)
class Mark:
    """How one family did with one size of experiment; the metrics are those of ``Score``."""

    family: str
    regret: float
    rmse_context: float
    rmse_model_direct: float
    rmse_model_dr: float
    top1: float
    top3: float
    seconds: float
    choice: Choice

    def score(self, benchmark: str, cell: Cell, seed: int) -> Score:
        """The mark as a row of the benchmark's table."""
        return Score(
            benchmark,
            cell,
            seed,
            self.family,
            self.regret,
            self.rmse_context,
            self.rmse_model_direct,
            self.rmse_model_dr,
            self.top1,
            self.top3,
            self.seconds,
            self.choice,
        )


@dataclass(frozen=True, slots=True)
class Rewards:
    """Rewards of all rows of a replay; a pass over its features is made once for the fits of one entry."""

    replayed: Replayed
    baselines: dict[int, FloatArray] = field(default_factory=dict)  # products, by the vector they belong to

    def of(self, fits: Sequence[RewardFit]) -> list[FloatArray]:
        """Reward of each row, for each fit."""
        phi = self.replayed.phi
        own = [fit.phi_coef for fit in fits if fit.phi_coef is not None]
        along = iter(np.asarray(phi @ np.column_stack(own)).T if own else ())
        rewards = []
        for fit in fits:
            baseline = None if fit.baseline is None else self._baseline(fit.baseline.coef)
            mine = None if fit.phi_coef is None else next(along)
            rewards.append(fit.predict_from_products(baseline, mine, self.replayed.psi))
        return rewards

    def _baseline(self, vector: FloatArray) -> FloatArray:
        """The log's own reward stands behind several families."""
        if id(vector) not in self.baselines:
            self.baselines[id(vector)] = np.asarray(self.replayed.phi @ vector)
        return self.baselines[id(vector)]


def compete(contest: Contest, contenders: Sequence[Contender], rows: int, seed: int) -> list[Mark]:
    """Tune, fit, cross-fit and mark every contender with the first ``rows`` rows of the experiment."""
    with one_blas_thread():
        inside, outside = Rewards(contest.trained), Rewards(contest.held_out)
        sources = TrainingData(contest.sources.log, contest.sources.experiment.take(np.arange(rows)))
        entries = (enter(sources, one, contest.context, rows, seed) for one in contenders)
        return [_mark(contest, entry, inside, outside) for entry in entries]


def _mark(contest: Contest, entry: Entry, inside: Rewards, outside: Rewards) -> Mark:
    truth = contest.truth
    without_effect = outside.of([entry.final])[0][contest.held_out.row].mean(axis=2)
    q = entry.final.add_model_effect(without_effect, np.arange(len(contest.models)))
    value = q.mean(axis=0)
    return Mark(
        entry.family.name,
        regret=regret(q, truth.q),
        rmse_context=rmse(q, truth.q),
        rmse_model_direct=rmse(value, truth.value),
        rmse_model_dr=rmse(_doubly_robust(contest, entry, value, inside), truth.value),
        top1=top_k_recall(value, truth.value, 1),
        top3=top_k_recall(value, truth.value, 3),
        seconds=entry.seconds,
        choice=_choice(entry),
    )


def _doubly_robust(contest: Contest, entry: Entry, value: FloatArray, inside: Rewards) -> FloatArray:
    """The direct values corrected by the experiment's residuals, each from a reward that has not seen its outcome.

    The paper's main equation: the average over contexts is that of the direct values, so that both are held against
    the same truth, and the experiment enters through its residuals alone.
    """
    experiment, rows = contest.sources.experiment, entry.rows
    prediction = np.empty(rows)
    model = experiment.model
    assert model is not None  # noqa: S101  (an experiment without models is none)
    rewards = inside.of([part.fit for part in entry.parts])
    for part, reward in zip(entry.parts, rewards, strict=True):
        shown = reward[contest.experiment_row[part.held_out]]
        prediction[part.held_out] = part.fit.add_model_effect(shown, model[part.held_out])
    q, outcome = np.tile(value, (rows, 1)), experiment.require_outcome()[:rows]
    return doubly_robust(contest.models, q=q, model=model[:rows], outcome=outcome, prediction=prediction).estimate


def _choice(entry: Entry) -> Choice:
    chosen = entry.tuned.estimator
    found = {name: getattr(chosen, name, None) for name in ("penalty", "pooling", "strength", "basis", "log_penalty")}
    return Choice(**found, mode=entry.tuned.mode)

"""Do intervals, contrasts and best-model sets keep their promise? One thousand simulated studies a row.

A study has eight models, contexts with features, some of them of the same user, and a reward of known quality. The
reward is a table of numbers here, not a fit: what is judged is the step from a reward to values.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.linalg import one_blas_thread
from deconfound.value import Values, experiment_only, tuned_doubly_robust

MODELS = tuple("abcdefgh")
QUALITY = np.array([0.9, 0.75, 0.7, 0.65, 0.5, 0.4, 0.3, 0.12])  # about the models' values
FEATURES = 4
POPULATION = 400_000  # contexts behind the true values: an error of 0.0003, against 0.03 of the best estimates here
LEVEL = 0.95
REWARDS = ("useless", "good", "biased", "ridge")
PENALTY = 10.0  # of the ridge that a study fits itself, by folds
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study."""

    rows: int  # per model, on average
    reward: str
    yes_no: bool  # outcomes are 0 or 1, else anything between
    uneven: bool  # models are drawn with probabilities that depend on the context
    users: bool  # three contexts each, sharing their luck
    elsewhere: int = 0  # replayed contexts beyond the experiment's
    tied: bool = False  # all models are worth the same, the hardest case for a set that must hold the best


@dataclass(frozen=True, slots=True)
class Study:
    """What an estimator may see of one study."""

    q: FloatArray
    model: IntArray
    outcome: FloatArray
    prediction: FloatArray
    propensity: FloatArray
    cluster: IntArray
    elsewhere: FloatArray


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of the studies of one cell, in shares."""

    covered: FloatArray  # (k,) of intervals with an end
    doubt: float  # standard error of the mean coverage
    known: float  # intervals with an end
    together: float
    best: float
    kept: float  # mean size of the best set
    width: float  # median, over the experiment alone's median
    alone: float  # coverage of the experiment alone
    power: float  # median


@lru_cache(maxsize=1)
def law() -> FloatArray:
    """How each model's outcome depends on a context's features (FEATURES, k); the same in every study."""
    return np.random.default_rng(5).normal(0.0, 0.6, (FEATURES, len(MODELS)))


def worth(x: FloatArray, tied: bool) -> FloatArray:
    """Chance of a good outcome of each model on each context; the more extreme, the less it varies."""
    found = 1 / (1 + np.exp(-(np.log(QUALITY / (1 - QUALITY)) + x @ law())))
    return np.asarray(found[:, [1] * len(MODELS)] if tied else found)


@lru_cache(maxsize=2)
def truth(tied: bool) -> FloatArray:
    return np.asarray(worth(np.random.default_rng(6).normal(size=(POPULATION, FEATURES)), tied).mean(axis=0))


def draw(cell: Cell, rng: np.random.Generator) -> Study:
    rows, each = cell.rows * len(MODELS), 3 if cell.users else 1
    user = np.arange(rows) // each
    # Features of one user's contexts are alike, and so is the luck behind the outcomes.
    x, luck = (np.sqrt(0.5) * (rng.normal(size=(rows, c))[user] + rng.normal(size=(rows, c))) for c in (FEATURES, 1))
    if not cell.users:
        x, luck = rng.normal(size=(rows, FEATURES)), rng.normal(size=(rows, 1))
    chance = np.full((rows, len(MODELS)), 1 / len(MODELS))
    if cell.uneven:
        tilt = np.exp(0.5 * x @ law()[:, ::-1] + np.linspace(0.4, -0.4, len(MODELS)))
        chance = tilt / tilt.sum(axis=1, keepdims=True)
    model = (rng.random((rows, 1)) > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    at = np.arange(rows)
    outcome = _outcome(worth(x, cell.tied)[at, model], luck[:, 0], cell.yes_no, rng)
    context = rng.normal(size=(cell.elsewhere, FEATURES))
    q, elsewhere = _reward(cell, x, model, outcome, user, context, rng)
    return Study(q, model, outcome, q[at, model], chance[at, model], user, elsewhere)


def _outcome(mean: FloatArray, luck: FloatArray, yes_no: bool, rng: np.random.Generator) -> FloatArray:
    """Outcomes whose mean is ``mean`` given the context, lucky ones shared within a user."""
    even = ndtr(luck)  # uniform on [0, 1]
    if yes_no:
        return np.asarray(even < mean, dtype=np.float64)
    # A mean plus noise that fits between the edges: widest in the middle.
    return np.asarray(mean + (2 * even - 1) * np.minimum(mean, 1 - mean) * rng.choice([0.3, 1.0], len(mean)))


def _reward(
    cell: Cell,
    x: FloatArray,
    model: IntArray,
    outcome: FloatArray,
    user: IntArray,
    context: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    both = np.vstack([x, context])
    if cell.reward == "ridge":
        return _ridge(x, model, outcome, user, context)
    if cell.reward == "useless":
        found = rng.random((len(both), len(MODELS)))
    else:
        signal = 0.2 + 0.5 * worth(both, cell.tied)
        found = (signal if cell.reward == "good" else 0.9 - signal) + 0.05 * rng.normal(size=signal.shape)
    return found[: len(x)], found[len(x) :]


def _ridge(
    x: FloatArray, model: IntArray, outcome: FloatArray, user: IntArray, context: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A ridge of the outcome on features and model, fitted by folds of users; elsewhere the folds' average."""

    def row(features: FloatArray, a: IntArray) -> FloatArray:
        dummy = (a[:, None] == np.arange(len(MODELS))).astype(np.float64)
        return np.column_stack([features, dummy, dummy * features[:, :1], np.ones(len(features))])

    q, elsewhere = np.empty((len(x), len(MODELS))), np.zeros((len(context), len(MODELS)))
    for fold in group_folds(user, FOLDS, seed=0):
        seen = row(x[fold.train], model[fold.train])
        size = PENALTY * np.append(np.ones(seen.shape[1] - 1), 0.0)
        coef = np.linalg.solve(seen.T @ seen + np.diag(size), seen.T @ outcome[fold.train])
        for a in range(len(MODELS)):
            code = np.full(len(x), a)
            q[fold.held_out, a] = row(x[fold.held_out], code[fold.held_out]) @ coef
            elsewhere[:, a] += row(context, np.full(len(context), a)) @ coef / FOLDS
    return q, elsewhere


def estimate(study: Study) -> tuple[Values, Values]:
    s = study
    with_reward = tuned_doubly_robust(
        MODELS, s.q, s.model, s.outcome, s.prediction, s.propensity, s.cluster, elsewhere=s.elsewhere
    )
    return with_reward, experiment_only(MODELS, s.model, s.outcome, s.propensity, s.cluster)


def simulate(cell: Cell, studies: int, seed: int = 0) -> Tally:
    true = truth(cell.tied)
    best = MODELS[int(np.argmax(true))]
    hits, hits_alone, known, together, held, kept = ([] for _ in range(6))
    widths: list[float] = []
    widths_alone: list[float] = []
    power: list[float] = []
    for number in range(studies):
        values, alone = estimate(draw(cell, np.random.default_rng([seed, number])))
        interval, plain = values.interval(LEVEL), alone.interval(LEVEL)
        finite = np.isfinite(values.error)
        hits.append(np.where(finite, _inside(interval, true), np.nan))
        hits_alone.append(np.where(finite, _inside(plain, true), np.nan))
        known.append(finite.mean())
        together.append(_inside(values.interval(LEVEL, simultaneous=True), true).all())
        chosen = values.best_set(LEVEL)
        # Tied models are all the best; that any one of them is held says the same with less luck.
        held.append(len(chosen) / len(MODELS) if cell.tied else best in chosen)
        kept.append(len(chosen))
        widths.extend(values.half_width(LEVEL))
        widths_alone.extend(alone.half_width(LEVEL))
        power.extend(values.power if values.power is not None else [])
    return Tally(
        np.nanmean(hits, axis=0),
        float(np.nanmean(hits, axis=1).std(ddof=1) / np.sqrt(studies)),
        float(np.mean(known)),
        float(np.mean(together)),
        float(np.mean(held)),
        float(np.mean(kept)),
        float(np.median(widths) / np.median(widths_alone)),
        float(np.nanmean(hits_alone)),
        float(np.median(power)),
    )


def _inside(interval: FloatArray, true: FloatArray) -> FloatArray:
    return np.asarray((interval[:, 0] <= true) & (interval[:, 1] >= true))


def cells(rows: Sequence[int]) -> list[Cell]:
    found = []
    for count in rows:
        for reward in REWARDS:
            found.append(Cell(count, reward, yes_no=True, uneven=False, users=False))
            found.append(Cell(count, reward, yes_no=False, uneven=True, users=True))
        found.append(Cell(count, "good", yes_no=True, uneven=True, users=True, elsewhere=2_000))
        found.append(Cell(count, "good", yes_no=True, uneven=False, users=False, tied=True))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Coverage of intervals and best-model sets in simulated studies.")
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--rows", type=int, action="append", help="experiment rows a model; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies a row, level {LEVEL}; worst and mean over {len(MODELS)} models")
    print("rows outcome design          reward       worst  mean alone known  together  best kept  width power")
    with one_blas_thread():
        for cell in cells(given.rows or [5, 20, 100]):
            t = simulate(cell, given.studies, given.seed)
            outcome = "yes/no" if cell.yes_no else "[0, 1]"
            design = ("uneven" if cell.uneven else "uniform") + (", users" if cell.users else "")
            reward = cell.reward + (" +ctx" if cell.elsewhere else " tied" if cell.tied else "")
            print(
                f"{cell.rows:4d} {outcome:7s} {design:15s} {reward:11s} {t.covered.min():6.3f} {t.covered.mean():5.3f} "
                f"{t.alone:5.3f} {t.known:5.3f} {t.together:9.3f} {t.best:5.3f} {t.kept:4.1f} "
                f"{t.width:6.3f} {t.power:5.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Coverage of intervals, simultaneous intervals and best-model sets, in 1,000 simulated studies per row.

    python -m benchmarks.coverage --studies 1000

A study has eight models, contexts with features, some of them of the same user, and a reward of a given quality. The
reward is a table of numbers, not a fit: the benchmark examines the step from a reward to values.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from benchmarks.simulation import EIGHT_MODELS, SUCCESS_RATES, covers
from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, Values, experiment_only, tuned_doubly_robust

FEATURES = 4
POPULATION = 400_000  # contexts behind the true values: an error of 0.0003, against 0.03 of the best estimates here
LEVEL = 0.95
REWARDS = ("useless", "good", "biased", "ridge")
PENALTY = 10.0  # of the ridge reward, which a study fits by folds
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study."""

    rows: int  # per model, on average
    reward: str
    yes_no: bool  # outcomes are 0 or 1; otherwise anything between
    uneven: bool  # propensities depend on the context
    users: bool  # three contexts per user, with common noise
    extra_contexts: int = 0  # replayed contexts outside the experiment
    tied: bool = False  # all models have the same value, the hardest case for the best-model set


@dataclass(frozen=True, slots=True)
class Study:
    """One simulated study."""

    data: ScoredExperiment
    extra_q: FloatArray


@dataclass(frozen=True, slots=True)
class Coverage:
    """Results of the studies of one cell, as shares."""

    covered: FloatArray  # (k,) of finite intervals
    standard_error: float  # of the mean of ``covered``
    finite: float  # intervals with a finite width
    simultaneous: float
    best_in_set: float
    set_size: float  # mean
    width: float  # median, relative to that of the experiment alone
    experiment_only: float  # coverage of the experiment alone
    reward_weight: float  # median


@lru_cache(maxsize=1)
def feature_effects() -> FloatArray:
    """Effect of a context's features on the log odds of each model's success (FEATURES, k); the same in all studies."""
    return np.random.default_rng(5).normal(0.0, 0.6, (FEATURES, len(EIGHT_MODELS)))


def success_probability(x: FloatArray, tied: bool) -> FloatArray:
    """Expected outcome of each model on each context (n, k)."""
    log_odds = np.log(SUCCESS_RATES / (1 - SUCCESS_RATES)) + x @ feature_effects()
    probability = 1 / (1 + np.exp(-log_odds))
    return np.asarray(probability[:, [1] * len(EIGHT_MODELS)] if tied else probability)


@lru_cache(maxsize=2)
def true_values(tied: bool) -> FloatArray:
    contexts = np.random.default_rng(6).normal(size=(POPULATION, FEATURES))
    return np.asarray(success_probability(contexts, tied).mean(axis=0))


def draw(cell: Cell, rng: np.random.Generator) -> Study:
    rows, per_user = cell.rows * len(EIGHT_MODELS), 3 if cell.users else 1
    user = np.arange(rows) // per_user
    # Contexts of one user have correlated features and correlated noise.
    x, noise = (np.sqrt(0.5) * (rng.normal(size=(rows, c))[user] + rng.normal(size=(rows, c))) for c in (FEATURES, 1))
    if not cell.users:
        x, noise = rng.normal(size=(rows, FEATURES)), rng.normal(size=(rows, 1))
    propensity = np.full((rows, len(EIGHT_MODELS)), 1 / len(EIGHT_MODELS))
    if cell.uneven:
        odds = np.exp(0.5 * x @ feature_effects()[:, ::-1] + np.linspace(0.4, -0.4, len(EIGHT_MODELS)))
        propensity = odds / odds.sum(axis=1, keepdims=True)
    model = (rng.random((rows, 1)) > propensity.cumsum(axis=1)[:, :-1]).sum(axis=1)
    row = np.arange(rows)
    outcome = _outcome(success_probability(x, cell.tied)[row, model], noise[:, 0], cell.yes_no, rng)
    extra_x = rng.normal(size=(cell.extra_contexts, FEATURES))
    if cell.reward == "ridge":
        q, extra_q = _ridge_reward(x, model, outcome, user, extra_x)
    else:
        q, extra_q = _tabulated_reward(cell, x, extra_x, rng)
    data = ScoredExperiment.from_arrays(
        EIGHT_MODELS, q, q[row, model], model, outcome, propensity=propensity[row, model], cluster=user
    )
    return Study(data, extra_q)


def _outcome(mean: FloatArray, noise: FloatArray, yes_no: bool, rng: np.random.Generator) -> FloatArray:
    """Outcomes in [0, 1] with the given means, driven by normal noise."""
    uniform = ndtr(noise)
    if yes_no:
        return np.asarray(uniform < mean, dtype=np.float64)
    # Noise that fits between the edges: widest in the middle.
    return np.asarray(mean + (2 * uniform - 1) * np.minimum(mean, 1 - mean) * rng.choice([0.3, 1.0], len(mean)))


def _tabulated_reward(
    cell: Cell, x: FloatArray, extra_x: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """A reward that is noise, or follows the truth, or reverses it."""
    contexts = np.vstack([x, extra_x])
    if cell.reward == "useless":
        q = rng.random((len(contexts), len(EIGHT_MODELS)))
    else:
        signal = 0.2 + 0.5 * success_probability(contexts, cell.tied)
        q = (signal if cell.reward == "good" else 0.9 - signal) + 0.05 * rng.normal(size=signal.shape)
    return q[: len(x)], q[len(x) :]


def _ridge_reward(
    x: FloatArray, model: IntArray, outcome: FloatArray, user: IntArray, extra_x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A ridge of the outcome on features and model, fitted by folds of users; on extra contexts the folds' mean."""

    def design(features: FloatArray, a: IntArray) -> FloatArray:
        dummy = (a[:, None] == np.arange(len(EIGHT_MODELS))).astype(np.float64)
        return np.column_stack([features, dummy, dummy * features[:, :1], np.ones(len(features))])

    q, extra_q = np.empty((len(x), len(EIGHT_MODELS))), np.zeros((len(extra_x), len(EIGHT_MODELS)))
    for fold in group_folds(user, FOLDS, seed=0):
        train = design(x[fold.train], model[fold.train])
        penalty = PENALTY * np.append(np.ones(train.shape[1] - 1), 0.0)
        coef = np.linalg.solve(train.T @ train + np.diag(penalty), train.T @ outcome[fold.train])
        for a in range(len(EIGHT_MODELS)):
            code = np.full(len(x), a)
            q[fold.held_out, a] = design(x[fold.held_out], code[fold.held_out]) @ coef
            extra_q[:, a] += design(extra_x, np.full(len(extra_x), a)) @ coef / FOLDS
    return q, extra_q


def estimate(study: Study) -> tuple[Values, Values]:
    """Values with the reward, and from the experiment alone."""
    data = study.data
    alone = experiment_only(data.models, data.model, data.outcome, data.propensity, data.cluster)
    return tuned_doubly_robust(data, extra_q=study.extra_q), alone


def simulate(cell: Cell, studies: int, seed: int = 0) -> Coverage:
    truth = true_values(cell.tied)
    best = EIGHT_MODELS[int(np.argmax(truth))]
    hits, hits_alone, finite_shares, all_covered, best_in_set, set_sizes = ([] for _ in range(6))
    widths: list[float] = []
    widths_alone: list[float] = []
    reward_weights: list[float] = []
    for number in range(studies):
        values, alone = estimate(draw(cell, np.random.default_rng([seed, number])))
        finite = np.isfinite(values.standard_error)
        hits.append(np.where(finite, covers(values.interval(LEVEL), truth), np.nan))
        hits_alone.append(np.where(finite, covers(alone.interval(LEVEL), truth), np.nan))
        finite_shares.append(finite.mean())
        all_covered.append(covers(values.interval(LEVEL, simultaneous=True), truth).all())
        best_set = values.best_set(LEVEL)
        # Tied models are all the best; their mean share in the set estimates the same with less noise.
        best_in_set.append(len(best_set) / len(EIGHT_MODELS) if cell.tied else best in best_set)
        set_sizes.append(len(best_set))
        widths.extend(values.half_width(LEVEL))
        widths_alone.extend(alone.half_width(LEVEL))
        reward_weights.extend(values.reward_weight if values.reward_weight is not None else [])
    return Coverage(
        covered=np.nanmean(hits, axis=0),
        standard_error=float(np.nanmean(hits, axis=1).std(ddof=1) / np.sqrt(studies)),
        finite=float(np.mean(finite_shares)),
        simultaneous=float(np.mean(all_covered)),
        best_in_set=float(np.mean(best_in_set)),
        set_size=float(np.mean(set_sizes)),
        width=float(np.median(widths) / np.median(widths_alone)),
        experiment_only=float(np.nanmean(hits_alone)),
        reward_weight=float(np.median(reward_weights)),
    )


def cells(rows: Sequence[int]) -> list[Cell]:
    all_cells = []
    for count in rows:
        for reward in REWARDS:
            all_cells.append(Cell(count, reward, yes_no=True, uneven=False, users=False))
            all_cells.append(Cell(count, reward, yes_no=False, uneven=True, users=True))
        all_cells.append(Cell(count, "good", yes_no=True, uneven=True, users=True, extra_contexts=2_000))
        all_cells.append(Cell(count, "good", yes_no=True, uneven=False, users=False, tied=True))
    return all_cells


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Coverage of intervals and best-model sets in simulated studies.")
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--rows", type=int, action="append", help="experiment rows per model; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies per row, level {LEVEL}; lowest and mean coverage over {len(EIGHT_MODELS)} models.")
    print("alone: coverage of the experiment alone; finite: share of finite intervals; all: simultaneous coverage;")
    print("best, size: coverage and mean size of the best-model set; width: relative to the experiment alone;")
    print("weight: median weight of the reward")
    print("rows outcome design          reward       worst  mean alone finite      all  best size  width weight")
    with one_blas_thread():
        for cell in cells(given.rows or [5, 20, 100]):
            c = simulate(cell, given.studies, given.seed)
            outcome = "yes/no" if cell.yes_no else "[0, 1]"
            design = ("uneven" if cell.uneven else "uniform") + (", users" if cell.users else "")
            reward = cell.reward + (" +ctx" if cell.extra_contexts else " tied" if cell.tied else "")
            print(
                f"{cell.rows:4d} {outcome:7s} {design:15s} {reward:11s} {c.covered.min():6.3f} {c.covered.mean():5.3f} "
                f"{c.experiment_only:5.3f} {c.finite:6.3f} {c.simultaneous:8.3f} "
                f"{c.best_in_set:5.3f} {c.set_size:4.1f} {c.width:6.3f} {c.reward_weight:6.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Does the gain's interval keep its promise, and are contexts called clear wrong as rarely as stated?

A study here is made of numbers: contexts with features, four models whose outputs show some of what they are worth, a
confounded log, a small experiment, a replay. The reward is a real family, fitted by folds and refitted on bootstrapped
contexts, so that everything that `deconfound evaluate` does after featurizing is judged.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.decide.calibration import Calibration, fit_calibration
from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.decide.routing import RoutingGain, routing_gain
from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.features import FeatureBlocks
from deconfound.features.study_arrays import ReplayArrays
from deconfound.linalg import one_blas_thread
from deconfound.reward import Cvci, ExpOnly, Family, RewardFit
from deconfound.value import tuned_doubly_robust

MODELS = ("ant", "bee", "cat", "dog")
FEATURES = 3  # of a context
LOG_ROWS = 300
BOOTSTRAP_REFITS = 20
FOLDS = 5
BALANCE = 1.0  # the dense block alone: these rows have no text
LEVEL = 0.95
POPULATION = 10_000  # contexts over which a fitted policy's true value is averaged
FAMILIES: dict[str, Family] = {"exp-only": ExpOnly(penalty=3.0), "cvci": Cvci(pooling=0.5, penalty=0.02)}


@dataclass(frozen=True, slots=True)
class World:
    """What the models are worth, in chances of a good outcome around one half."""

    level: tuple[float, ...]  # of each model, on average
    seen: float  # spread of a model's worth over contexts that its outputs show
    unseen: float  # spread over contexts that nothing shows
    noise: float  # spread between two outputs on one context
    yes_no: bool = True
    log_bias: float = 0.3


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of study."""

    name: str
    world: World
    rows: int
    family: str
    draws: int = 2


@dataclass(frozen=True, slots=True)
class Made:
    """One study, what was learnt from it, and the truth."""

    routing: RoutingGain
    gain: float  # true, of the policy that was judged
    recommendations: tuple[Recommendation, ...]
    trusting: tuple[Recommendation, ...]  # the same without calibration
    q: FloatArray  # (n, k) true
    calibration: Calibration


def law() -> FloatArray:
    """How each model's outputs depend on a context's features (FEATURES, k); the same in every study."""
    return np.asarray(np.random.default_rng(3).normal(0.0, 1.0, (FEATURES, len(MODELS))) / np.sqrt(FEATURES))


def worth(world: World, x: FloatArray, hidden: FloatArray) -> FloatArray:
    """True q (n, k); the spreads are small enough that cutting at the edges is rare, and it is part of the truth."""
    return np.asarray(np.clip(0.5 + np.array(world.level) + world.seen * x @ law() + world.unseen * hidden, 0.02, 0.98))


def show(world: World, x: FloatArray, model: IntArray, rng: np.random.Generator) -> FloatArray:
    """Features of outputs: the context, who wrote it, and what it is worth as far as it shows, blurred by luck."""
    shown = (x @ law())[np.arange(len(x)), model] + world.noise * rng.normal(size=len(x))
    return np.column_stack([0.3 * x, model[:, None] == np.arange(len(MODELS)), shown])


def outcomes(world: World, mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    if world.yes_no:
        return np.asarray(rng.random(len(mean)) < mean, dtype=np.float64)
    return np.asarray(mean + (2 * rng.random(len(mean)) - 1) * np.minimum(mean, 1 - mean) * 0.8)


def rows_of(world: World, count: int, rng: np.random.Generator, bias: float) -> tuple[Rows, FloatArray, FloatArray]:
    """Random contexts, each given to one random model; in the log, who is in a good mood asks the second model."""
    x, hidden = rng.normal(size=(count, FEATURES)), rng.normal(size=(count, len(MODELS)))
    model = rng.integers(0, len(MODELS), count)
    q = worth(world, x, hidden)
    mean = np.clip(q[np.arange(count), model] + bias * (model == 1), 0, 1)
    return Rows(show(world, x, model, rng), outcome=outcomes(world, mean, rng), model=model), x, q


def replay_of(world: World, x: FloatArray, draws: int, rng: np.random.Generator) -> ReplayArrays:
    context, model, _ = (axis.ravel() for axis in np.indices((len(x), len(MODELS), draws)))
    shown = show(world, x[context], model, rng)
    blocks = FeatureBlocks(np.arange(len(shown)), None, shown / np.sqrt(2.0), None)
    names = tuple(f"{i:05d}" for i in range(len(x)))
    return ReplayArrays(blocks, names, context, model, len(MODELS))


def make(case: Case, rng: np.random.Generator) -> Made:
    world, family = case.world, FAMILIES[case.family]
    log, _, _ = rows_of(world, LOG_ROWS, rng, world.log_bias)
    experiment, x, true = rows_of(world, case.rows, rng, 0.0)
    model = experiment.model
    assert model is not None  # noqa: S101  (for the type checker)
    cells = replay_of(world, x, case.draws, rng)
    q, prediction, parts = np.empty(true.shape), np.empty(case.rows), []
    for fold in group_folds(np.arange(case.rows), FOLDS, seed=0):
        fit = family.fit(log, experiment.take(fold.train))
        q[fold.held_out] = fit.mean_by_cell(cells.rows(BALANCE))[fold.held_out]
        prediction[fold.held_out] = fit.predict(experiment.take(fold.held_out))
        parts.append((fit, len(fold.held_out)))
    final = family.fit(log, experiment)
    resampled = (rng.integers(case.rows, size=case.rows) for _ in range(BOOTSTRAP_REFITS))
    refits = tuple(family.fit(log, experiment.take(again)) for again in resampled)
    values = tuned_doubly_robust(MODELS, q, model, experiment.require_outcome(), prediction)
    known = fit_calibration(
        values, q, model, experiment.require_outcome(), cells=cells, reward=final, surface_share=BALANCE
    )
    policy = Policy(MODELS, BALANCE, final, refits, values.covariance, known)
    trusting = Policy(MODELS, BALANCE, final, refits, values.covariance)
    return Made(
        routing_gain(MODELS, q, model, experiment.require_outcome(), prediction, level=LEVEL),
        true_gain(case, parts, rng),
        policy.recommend(cells, LEVEL),
        trusting.recommend(cells, LEVEL),
        true,
        known,
    )


def true_gain(case: Case, parts: Sequence[tuple[RewardFit, int]], rng: np.random.Generator) -> float:
    """The value of the folds' policies on new contexts, over that of the best single model."""
    x, hidden = rng.normal(size=(POPULATION, FEATURES)), rng.normal(size=(POPULATION, len(MODELS)))
    q = worth(case.world, x, hidden)
    size = POPULATION // len(parts)
    total = 0.0
    for number, (fit, rows) in enumerate(parts):
        mine = np.arange(number * size, (number + 1) * size)
        replay = replay_of(case.world, x[mine], case.draws, rng_of(number)).rows(BALANCE)
        picked = np.argmax(fit.mean_by_cell(replay), axis=1)
        # Against the same contexts' values, so that their luck cancels.
        total += rows / case.rows * float((q[mine, picked] - q[mine].mean(axis=0).max()).mean())
    return total


def rng_of(number: int) -> np.random.Generator:
    return np.random.default_rng([77, number])


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of the studies of one case, in shares."""

    covered: float
    above: float  # intervals that lie wholly above the truth: where "route" may be said wrongly
    gain: float
    width: float
    route: float
    one: float
    clear: float
    wrong: float  # of clear contexts
    doubt: float  # standard error of ``wrong``, studies resampled
    claimed: float  # mean error probability of clear contexts
    trusting: float  # clear without calibration
    trusting_wrong: float
    slope: float
    regret: float
    feared: float  # mean bound on it


def simulate(case: Case, studies: int, seed: int = 0) -> Tally:
    made = [make(case, np.random.default_rng([seed, number])) for number in range(studies)]
    gain = np.array([one.gain for one in made])
    low, high = (np.array([getattr(one.routing, edge) for one in made]) for edge in ("low", "high"))
    verdicts = [one.routing.verdict for one in made]
    each = np.array([tally(one.recommendations, one.q) for one in made])
    plain = np.array([tally(one.trusting, one.q) for one in made])
    clear, wrong = each[:, 0].sum(), each[:, 1].sum()
    share = wrong / max(clear, 1)
    return Tally(
        float(((low <= gain) & (gain <= high)).mean()),
        float((low > gain).mean()),
        float(gain.mean()),
        float(np.median(high - low)),
        float(np.mean([verdict == "route" for verdict in verdicts])),
        float(np.mean([verdict == "one model" for verdict in verdicts])),
        float(each[:, 0].mean() / case.rows),
        float(share),
        float(np.sqrt(((each[:, 1] - share * each[:, 0]) ** 2).sum()) / max(clear, 1)),
        float(each[:, 2].sum() / max(clear, 1)),
        float(plain[:, 0].mean() / case.rows),
        float(plain[:, 1].sum() / max(plain[:, 0].sum(), 1)),
        float(np.mean([one.calibration.slope for one in made])),
        float(each[:, 3].mean() / case.rows),
        float(each[:, 4].mean() / case.rows),
    )


def tally(rows: Sequence[Recommendation], true: FloatArray) -> tuple[float, float, float, float, float]:
    """Clear contexts, wrong ones among them, what was claimed of those, true regret and its bound."""
    picked = np.array([MODELS.index(row.model) for row in rows])
    clear = np.array([row.verdict == "clear" for row in rows])
    error = np.array([row.error for row in rows])
    wrong = picked != true.argmax(axis=1)
    lost = true.max(axis=1) - true[np.arange(len(true)), picked]
    feared = sum(row.regret for row in rows)
    return float(clear.sum()), float((clear & wrong).sum()), float(error[clear].sum()), float(lost.sum()), feared


def cases() -> list[Case]:
    apart, near, tied = (0.2, 0.05, -0.05, -0.2), (0.03, 0.01, 0.0, -0.03), (0.0, 0.0, 0.0, 0.0)
    return [
        Case("routing helps", World(near, 0.2, 0.0, 0.3), 200, "exp-only"),
        Case("routing helps, few rows", World(near, 0.2, 0.0, 0.3), 40, "exp-only"),
        Case("routing helps, log pooled", World(near, 0.2, 0.0, 0.3), 200, "cvci"),
        Case("no context matters", World(apart, 0.0, 0.0, 0.3), 200, "exp-only"),
        Case("no context matters, tied", World(tied, 0.0, 0.0, 0.3), 200, "exp-only"),
        Case("no context matters, few", World(apart, 0.0, 0.0, 0.3), 40, "exp-only"),
        Case("nearly tied", World(near, 0.03, 0.0, 0.3), 200, "exp-only"),
        Case("loud outputs", World(near, 0.1, 0.0, 1.5), 200, "exp-only"),
        Case("loud outputs, one draw", World(near, 0.1, 0.0, 1.5, yes_no=False), 200, "cvci", 1),
        Case("some unseen", World(apart, 0.1, 0.1, 0.3, yes_no=False), 400, "exp-only"),
        Case("much unseen", World(apart, 0.1, 0.2, 0.3, yes_no=False), 400, "exp-only"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Coverage of the gain from routing, and errors of clear contexts.")
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, action="append", help="number of a case, from 0; may be repeated")
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies a row, level {LEVEL}")
    print("                                     | gain over the best single model     | contexts called clear ")
    print(
        "case                       rows slope | true   cover above width route one | share wrong  +-    claimed |",
        end="",
    )
    print(" uncalibrated | regret bound")
    with one_blas_thread():
        for case in cases() if given.case is None else [cases()[n] for n in given.case]:
            t = simulate(case, given.studies, given.seed)
            print(
                f"{case.name:26s} {case.rows:4d} {t.slope:5.2f} | "
                f"{t.gain:+.3f} {t.covered:6.3f} {t.above:5.3f} {t.width:5.3f} "
                f"{t.route:5.2f} {t.one:4.2f} | {t.clear:5.3f} {t.wrong:5.3f} {t.doubt:6.3f} {t.claimed:6.3f} | "
                f"{t.trusting:5.3f} {t.trusting_wrong:5.3f} | {t.regret:.3f} {t.feared:.3f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Coverage of the gain from routing, and the error rate among contexts with a clear recommendation.

    python -m benchmarks.routing --studies 500

A study is made of numbers: contexts with features, four models whose outputs partly reveal their value, a confounded
log, a small experiment and a replay. The reward is a real family, cross-fitted and refitted on bootstrapped contexts:
everything that ``deconfound evaluate`` does after featurizing is examined.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.decide.calibration import Calibration, CrossFittedPolicy, FoldCalibration, fit_calibration
from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.decide.routing import RoutingGain, routing_gain
from deconfound.design import FloatArray, Fold, IntArray, Rows, group_folds
from deconfound.features import FeatureBlocks
from deconfound.features.study_arrays import ReplayArrays
from deconfound.reward import Cvci, ExpOnly, Family, RewardFit
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, shrink_toward, tuned_doubly_robust

MODELS = ("ant", "bee", "cat", "dog")
FEATURES = 3  # per context
LOG_ROWS = 300
BOOTSTRAP_REFITS = 20
FOLDS = 5
SURFACE_SHARE = 1.0  # dense features only: these rows have no text
LEVEL = 0.95
POPULATION = 10_000  # contexts over which the true value of a fitted policy is averaged
FAMILIES: dict[str, Family] = {"exp-only": ExpOnly(penalty=3.0), "cvci": Cvci(pooling=0.5, penalty=0.02)}


@dataclass(frozen=True, slots=True)
class Mechanism:
    """How outcomes arise; success probabilities lie around one half."""

    model_effect: tuple[float, ...]  # average effect of each model
    visible_sd: float  # over contexts, of the part of a model's effect that its outputs reveal
    hidden_sd: float  # over contexts, of the part that nothing reveals
    draw_sd: float  # between two outputs on one context
    yes_no: bool = True
    log_bias: float = 0.3


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of study."""

    name: str
    mechanism: Mechanism
    rows: int
    family: str
    draws: int = 2


@dataclass(frozen=True, slots=True)
class SimulatedResult:
    """One study's results, with the truth."""

    routing: RoutingGain
    true_gain: float  # of the policy that ``routing`` evaluates
    recommendations: tuple[Recommendation, ...]
    uncalibrated: tuple[Recommendation, ...]
    q: FloatArray  # (n, k) true
    calibration: Calibration


def feature_effects() -> FloatArray:
    """Effect of a context's features on each model's outputs (FEATURES, k); the same in all studies."""
    return np.asarray(np.random.default_rng(3).normal(0.0, 1.0, (FEATURES, len(MODELS))) / np.sqrt(FEATURES))


def true_q(mechanism: Mechanism, x: FloatArray, hidden: FloatArray) -> FloatArray:
    """True q (n, k). Clipping is rare, and part of the truth."""
    visible = mechanism.visible_sd * x @ feature_effects()
    effect = 0.5 + np.array(mechanism.model_effect) + visible + mechanism.hidden_sd * hidden
    return np.asarray(np.clip(effect, 0.02, 0.98))


def output_features(mechanism: Mechanism, x: FloatArray, model: IntArray, rng: np.random.Generator) -> FloatArray:
    """Features of outputs: the context, the model, and the visible effect with noise."""
    visible = (x @ feature_effects())[np.arange(len(x)), model] + mechanism.draw_sd * rng.normal(size=len(x))
    return np.column_stack([0.3 * x, model[:, None] == np.arange(len(MODELS)), visible])


def outcomes(mechanism: Mechanism, mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    if mechanism.yes_no:
        return np.asarray(rng.random(len(mean)) < mean, dtype=np.float64)
    return np.asarray(mean + (2 * rng.random(len(mean)) - 1) * np.minimum(mean, 1 - mean) * 0.8)


def draw_rows(
    mechanism: Mechanism, count: int, rng: np.random.Generator, bias: float
) -> tuple[Rows, FloatArray, FloatArray]:
    """Random contexts with one random model each; ``bias`` is added to the outcomes of the second model."""
    x, hidden = rng.normal(size=(count, FEATURES)), rng.normal(size=(count, len(MODELS)))
    model = rng.integers(0, len(MODELS), count)
    q = true_q(mechanism, x, hidden)
    mean = np.clip(q[np.arange(count), model] + bias * (model == 1), 0, 1)
    features = output_features(mechanism, x, model, rng)
    return Rows(features, outcome=outcomes(mechanism, mean, rng), model=model), x, q


def draw_replay(mechanism: Mechanism, x: FloatArray, draws: int, rng: np.random.Generator) -> ReplayArrays:
    context, model, _ = (axis.ravel() for axis in np.indices((len(x), len(MODELS), draws)))
    features = output_features(mechanism, x[context], model, rng)
    blocks = FeatureBlocks(np.arange(len(features)), None, features / np.sqrt(2.0), None)
    names = tuple(f"{i:05d}" for i in range(len(x)))
    return ReplayArrays(blocks, names, context, model, len(MODELS))


def simulate_study(case: Case, rng: np.random.Generator) -> SimulatedResult:
    mechanism, family = case.mechanism, FAMILIES[case.family]
    log, _, _ = draw_rows(mechanism, LOG_ROWS, rng, mechanism.log_bias)
    experiment, x, q_true = draw_rows(mechanism, case.rows, rng, 0.0)
    replay = draw_replay(mechanism, x, case.draws, rng)
    folds = group_folds(np.arange(case.rows), FOLDS, seed=0)
    data, fold_fits = cross_fit(family, log, experiment, replay, folds)
    final = family.fit(log, experiment)
    bootstrap_rows = (rng.integers(case.rows, size=case.rows) for _ in range(BOOTSTRAP_REFITS))
    refits = tuple(family.fit(log, experiment.take(rows)) for rows in bootstrap_rows)
    values = shrink_toward(tuned_doubly_robust(data), data.q.mean(axis=0))
    calibration = fit_calibration(values, data, replay=replay.rows(SURFACE_SHARE), reward=final, rows=experiment)
    policy = Policy(MODELS, SURFACE_SHARE, final, refits, values.error_covariance, calibration)
    uncalibrated = Policy(MODELS, SURFACE_SHARE, final, refits, values.error_covariance)
    bound = policy.achievable_gain_bound(replay, LEVEL)
    best, crossed = values.ranking()[0], CrossFittedPolicy.fit(data, folds)
    return SimulatedResult(
        routing_gain(
            data,
            crossed,
            best=best,
            contenders=len(values.best_set(LEVEL)),
            achievable_gain_bound=bound,
            level=LEVEL,
        ),
        true_gain(case, [FoldCalibration.fit(data.take(fold.train)) for fold in folds], fold_fits, rng),
        policy.recommend(replay, LEVEL),
        uncalibrated.recommend(replay, LEVEL),
        q_true,
        calibration,
    )


def cross_fit(
    family: Family, log: Rows, experiment: Rows, replay: ReplayArrays, folds: Sequence[Fold]
) -> tuple[ScoredExperiment, list[tuple[RewardFit, int]]]:
    """The experiment with out-of-fold rewards, and the fit of each fold with the number of rows held out."""
    rows, model = len(experiment), experiment.model
    assert model is not None  # noqa: S101  (for the type checker)
    q, prediction = np.empty((rows, len(MODELS))), np.empty(rows)
    fold_fits = []
    for fold in folds:
        fit = family.fit(log, experiment.take(fold.train))
        q[fold.held_out] = fit.mean_by_cell(replay.rows(SURFACE_SHARE))[fold.held_out]
        prediction[fold.held_out] = fit.predict(experiment.take(fold.held_out))
        fold_fits.append((fit, len(fold.held_out)))
    return ScoredExperiment.from_arrays(MODELS, q, prediction, model, experiment.require_outcome()), fold_fits


def true_gain(
    case: Case,
    calibrations: Sequence[FoldCalibration],
    fold_fits: Sequence[tuple[RewardFit, int]],
    rng: np.random.Generator,
) -> float:
    """Value of the folds' policies on new contexts, minus that of the single model that each fold prefers."""
    x, hidden = rng.normal(size=(POPULATION, FEATURES)), rng.normal(size=(POPULATION, len(MODELS)))
    q = true_q(case.mechanism, x, hidden)
    size = POPULATION // len(fold_fits)
    total = 0.0
    for number, (calibration, (fit, rows)) in enumerate(zip(calibrations, fold_fits, strict=True)):
        part = np.arange(number * size, (number + 1) * size)
        replay = draw_replay(case.mechanism, x[part], case.draws, np.random.default_rng([77, number]))
        fold_q = fit.mean_by_cell(replay.rows(SURFACE_SHARE))
        chosen, reference = np.argmax(calibration.calibrate(fold_q), axis=1), int(np.argmax(calibration.value))
        # Compared on the same contexts, so that their sampling noise cancels.
        total += rows / case.rows * float((q[part, chosen] - q[part, reference]).mean())
    return total


@dataclass(frozen=True, slots=True)
class Tally:
    """Results of the studies of one case, as shares."""

    covered: float
    above: float  # intervals entirely above the truth: where "route" may be wrong
    gain: float
    width: float
    route: float
    one_model: float
    clear: float
    wrong: float  # of clear contexts
    wrong_standard_error: float  # over studies
    stated_error: float  # mean error probability of clear contexts
    uncalibrated_clear: float
    uncalibrated_wrong: float
    slope: float
    regret: float
    regret_bound: float


def simulate(case: Case, studies: int, seed: int = 0) -> Tally:
    results = [simulate_study(case, np.random.default_rng([seed, number])) for number in range(studies)]
    gain = np.array([result.true_gain for result in results])
    low = np.array([result.routing.gain_low for result in results])
    high = np.array([result.routing.gain_high for result in results])
    verdicts = [result.routing.verdict for result in results]
    counts = np.array([count(result.recommendations, result.q) for result in results])
    uncalibrated = np.array([count(result.uncalibrated, result.q) for result in results])
    clear, wrong = counts[:, 0].sum(), counts[:, 1].sum()
    share = wrong / max(clear, 1)
    return Tally(
        covered=float(((low <= gain) & (gain <= high)).mean()),
        above=float((low > gain).mean()),
        gain=float(gain.mean()),
        width=float(np.median(high - low)),
        route=float(np.mean([verdict == "route" for verdict in verdicts])),
        one_model=float(np.mean([verdict == "one model" for verdict in verdicts])),
        clear=float(counts[:, 0].mean() / case.rows),
        wrong=float(share),
        wrong_standard_error=float(np.sqrt(((counts[:, 1] - share * counts[:, 0]) ** 2).sum()) / max(clear, 1)),
        stated_error=float(counts[:, 2].sum() / max(clear, 1)),
        uncalibrated_clear=float(uncalibrated[:, 0].mean() / case.rows),
        uncalibrated_wrong=float(uncalibrated[:, 1].sum() / max(uncalibrated[:, 0].sum(), 1)),
        slope=float(np.mean([result.calibration.slope for result in results])),
        regret=float(counts[:, 3].mean() / case.rows),
        regret_bound=float(counts[:, 4].mean() / case.rows),
    )


def count(rows: Sequence[Recommendation], q_true: FloatArray) -> tuple[float, float, float, float, float]:
    """Sums over contexts: clear, clear and wrong, stated error where clear, true regret, its bound."""
    chosen = np.array([MODELS.index(row.model) for row in rows])
    clear = np.array([row.verdict == "clear" for row in rows])
    error = np.array([row.error_probability_bound for row in rows])
    wrong = chosen != q_true.argmax(axis=1)
    regret = q_true.max(axis=1) - q_true[np.arange(len(q_true)), chosen]
    bound = sum(row.expected_regret_bound for row in rows)
    return float(clear.sum()), float((clear & wrong).sum()), float(error[clear].sum()), float(regret.sum()), bound


def cases() -> list[Case]:
    apart, near, tied = (0.2, 0.05, -0.05, -0.2), (0.03, 0.01, 0.0, -0.03), (0.0, 0.0, 0.0, 0.0)
    return [
        Case("routing helps", Mechanism(near, 0.2, 0.0, 0.3), 200, "exp-only"),
        Case("routing helps, few rows", Mechanism(near, 0.2, 0.0, 0.3), 40, "exp-only"),
        Case("routing helps, log pooled", Mechanism(near, 0.2, 0.0, 0.3), 200, "cvci"),
        Case("context irrelevant", Mechanism(apart, 0.0, 0.0, 0.3), 200, "exp-only"),
        Case("context irrelevant, tied", Mechanism(tied, 0.0, 0.0, 0.3), 200, "exp-only"),
        Case("context irrelevant, few", Mechanism(apart, 0.0, 0.0, 0.3), 40, "exp-only"),
        Case("nearly tied", Mechanism(near, 0.03, 0.0, 0.3), 200, "exp-only"),
        Case("noisy outputs", Mechanism(near, 0.1, 0.0, 1.5), 200, "exp-only"),
        Case("noisy outputs, one draw", Mechanism(near, 0.1, 0.0, 1.5, yes_no=False), 200, "cvci", 1),
        Case("some hidden effects", Mechanism(apart, 0.1, 0.1, 0.3, yes_no=False), 400, "exp-only"),
        Case("large hidden effects", Mechanism(apart, 0.1, 0.2, 0.3, yes_no=False), 400, "exp-only"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Coverage of the gain from routing, and errors of clear contexts.")
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, action="append", help="number of a case, from 0; may be repeated")
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies per row, level {LEVEL}")
    print("                                     | gain over the best single model     | contexts with a clear verdict")
    print(
        "case                       rows slope | true   cover above width route one | share wrong  ± se  stated  |",
        end="",
    )
    print(" uncalibrated | regret bound")
    with one_blas_thread():
        for case in cases() if given.case is None else [cases()[n] for n in given.case]:
            t = simulate(case, given.studies, given.seed)
            print(
                f"{case.name:26s} {case.rows:4d} {t.slope:5.2f} | "
                f"{t.gain:+.3f} {t.covered:6.3f} {t.above:5.3f} {t.width:5.3f} {t.route:5.2f} {t.one_model:4.2f} | "
                f"{t.clear:5.3f} {t.wrong:5.3f} {t.wrong_standard_error:6.3f} {t.stated_error:6.3f} | "
                f"{t.uncalibrated_clear:5.3f} {t.uncalibrated_wrong:5.3f} | {t.regret:.3f} {t.regret_bound:.3f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

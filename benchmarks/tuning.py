"""How much faster tuning `Cvci` is than the plain loop of scikit-learn `Ridge` fits.

Tuning means 21 pooling weights, 5 folds by model, 200 experiment rows, penalty 1e-2, and a final fit at the chosen
pooling weight: 106 ridge fits for the plain loop. Both sides run in one process on the same arrays, so that only the
ratio matters. README.md beside this file explains the output.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from deconfound.design import CsrMatrix, FeatureMatrix, FloatArray, IntArray, RawMatrix, Rows, group_folds
from deconfound.reward import Cvci, RewardFit, TrainingData
from deconfound.threads import one_blas_thread
from deconfound.tune import tune

PENALTY = 1e-2
POOLINGS = tuple(float(p) for p in np.linspace(0.0, 1.0, 21))
FOLDS = 5
FITS = len(POOLINGS) * FOLDS + 1
EXPERIMENT_ROWS = 200
MODELS = 10
AGREEMENT = 1e-6
DEFAULT = 1e-4  # scikit-learn's own tolerance
ACCURATE = 1e-6  # the tolerance its iterative solver needs for predictions right to AGREEMENT
REFERENCE = 1e-9  # the tolerance at which it is compared with
ZIPF = 1.05  # exponent of word frequencies
PHRASES = 1_000_000  # distinct words and word pairs before hashing


@dataclass(frozen=True, slots=True)
class Case:
    """One size of problem, the ratio it must reach, and which of scikit-learn's fits are timed."""

    title: str
    rows: int
    unique: int
    features: int
    dense: bool
    goal: float | None
    sampled: tuple[float, ...]  # pooling weights whose first-fold fit is timed
    rounds: int = 1  # both sides are timed this often and the best time counts
    sizes: tuple[int, ...] = ()  # log rows at which scikit-learn is timed, where its copies of all would not fit


CASES = {
    "a": Case("hashed text, repeated", 20_000, 800, 2**18, False, 50.0, POOLINGS[::2], rounds=3),
    "b": Case("dense embedding", 200_000, 200_000, 4096, True, 30.0, (0.5,), sizes=(16_384, 32_768)),
    "b-sparse": Case("hashed text, few buckets", 200_000, 200_000, 4096, False, None, POOLINGS[::10]),
    "c": Case("hashed text, all unique", 20_000, 20_000, 2**18, False, None, POOLINGS[::5], rounds=2),
}
QUICK = {
    "a": Case("hashed text, repeated", 4_000, 160, 2**14, False, 50.0, POOLINGS[::10]),
    "b": Case("dense embedding", 16_384, 16_384, 512, True, 30.0, (0.5,), rounds=3, sizes=(4_096, 8_192)),
    "b-sparse": Case("hashed text, few buckets", 8_000, 8_000, 512, False, None, (0.5,)),
    "c": Case("hashed text, all unique", 2_000, 2_000, 2**16, False, None, POOLINGS[::10]),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A log, an experiment, and rows that neither of them holds."""

    log: Rows
    experiment: Rows
    fresh: Rows
    train: IntArray  # experiment rows of the first fold's training part


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tuning Cvci against the plain loop of scikit-learn Ridge fits.")
    parser.add_argument("--case", choices=tuple(CASES), action="append", help="may be repeated; default a, b and c")
    parser.add_argument("--quick", action="store_true", help="small versions that judge agreement but no ratio")
    options = parser.parse_args(arguments)
    names = options.case or ["a", "b", "c"]
    Ridge().fit(np.eye(3), np.arange(3.0))  # scikit-learn loads much at its first fit, and that is not its speed
    passed = [measure(name, (QUICK if options.quick else CASES)[name], not options.quick) for name in names]
    return 0 if all(passed) else 1


def measure(name: str, case: Case, judge_ratio: bool) -> bool:
    print(f"\n({name}) {case.title}: {case.rows:,} log rows, {case.unique:,} unique, {case.features:,} features")
    problem = make(case, np.random.default_rng(0))
    print(f"    data made; peak memory {peak():.2f} GB")
    ours = time_ours(case, problem)
    loose = time_loop(case, problem, DEFAULT)
    tight = loose if case.dense else time_loop(case, problem, ACCURATE)
    off = disagreement(case, problem)
    print(f"    predictions differ from scikit-learn's at {REFERENCE:g} by at most {off:.1e} over the sampled fits")
    print(f"    ratio: {loose / ours:.1f} at scikit-learn's default tolerance, {tight / ours:.1f} where it is accurate")
    reached = case.goal is None or not judge_ratio or loose / ours >= case.goal
    if case.goal is not None and judge_ratio:
        print(f"    goal {case.goal:g}: {'reached' if reached else 'MISSED'}")
    return reached and off < AGREEMENT


def time_ours(case: Case, problem: Problem) -> float:
    """``tune`` from the bare rows; it ends with the winner fitted to all of them."""
    candidates = [Cvci(pooling=pooling, penalty=PENALTY) for pooling in POOLINGS]
    best = np.inf
    for _ in range(case.rounds):
        start = time.perf_counter()
        tuned = tune(Cvci(penalty=PENALTY), problem.log, problem.experiment, FOLDS, by="model", candidates=candidates)
        took = time.perf_counter() - start
        best = min(best, took)
        print(f"    deconfound: {took:.2f} s; peak memory {peak():.2f} GB")
    exact = slack(problem, tuned.estimator, tuned.fit)
    print(f"    final fit at pooling {tuned.estimator.pooling:g}: coefficients within {exact:.1e} of the exact ones")
    return best


def time_loop(case: Case, problem: Problem, tolerance: float) -> float:
    """Seconds of all of scikit-learn's fits, scaled up from the declared sample."""
    sizes = case.sizes or (case.rows,)
    each = [min(time_sample(case, problem, size, tolerance) for _ in range(case.rounds)) for size in sizes]
    if len(sizes) == 2:
        slope = (each[1] - each[0]) / (sizes[1] - sizes[0])
        each.append(each[0] + slope * (case.rows - sizes[0]))
        print(f"      extrapolated along the line through both to {case.rows:,} log rows: {each[-1]:.3f} s each")
    print(f"      scaled to {FITS} fits: {FITS * each[-1]:.1f} s")
    return FITS * each[-1]


def time_sample(case: Case, problem: Problem, size: int, tolerance: float) -> float:
    """Mean seconds of the sampled fits on the first ``size`` log rows."""
    log, count = first(problem.log, size), len(case.sampled)
    start = time.perf_counter()
    for pooling in case.sampled:
        plain_fit(log, problem, pooling, tolerance)
    each = (time.perf_counter() - start) / count
    print(f"    scikit-learn, tolerance {tolerance:g}: {count} fits on {size:,} log rows, {each:.3f} s each")
    return each


def plain_fit(log: Rows, problem: Problem, pooling: float, tolerance: float) -> Ridge:
    """One turn of the plain loop: stack the rows, weight them, fit."""
    experiment, train = problem.experiment, problem.train
    stack = sparse.vstack if isinstance(log.phi, CsrMatrix) else np.vstack
    weight = np.full(len(log) + len(train), pooling / len(log))
    weight[len(log) :] = (1.0 - pooling) / len(train)
    outcome = np.concatenate([log.require_outcome(), experiment.require_outcome()[train]])
    phi = stack([raw(log.phi), raw(experiment.phi.take(train))])
    return Ridge(alpha=PENALTY, tol=tolerance).fit(phi, outcome, weight)


def raw(phi: FeatureMatrix) -> RawMatrix:
    """The rows as scikit-learn takes them."""
    return phi.csr if isinstance(phi, CsrMatrix) else phi.toarray()


def disagreement(case: Case, problem: Problem) -> float:
    """Largest difference of predictions on the experiment and on fresh rows, over the sampled fits."""
    log = first(problem.log, case.sizes[0] if case.sizes else case.rows)
    worst = 0.0
    candidates = [Cvci(pooling=pooling, penalty=PENALTY) for pooling in case.sampled]
    prepared = Cvci.prepare(TrainingData(log, problem.experiment), candidates)
    for candidate in candidates:
        theirs = plain_fit(log, problem, candidate.pooling, REFERENCE)
        with one_blas_thread():
            inside = prepared.predict(candidate, [problem.train])[0]
            outside = prepared.fit(candidate, problem.train).predict(problem.fresh)
        for ours, rows in ((inside, problem.experiment), (outside, problem.fresh)):
            worst = max(worst, float(np.abs(ours - np.clip(theirs.predict(raw(rows.phi)), 0.0, 1.0)).max()))
    return worst


def slack(problem: Problem, chosen: Cvci, fit: RewardFit | None) -> float:
    """Bound on the length of the coefficients' error, from the gradient: the penalty bounds the curvature below."""
    if fit is None or fit.phi_coef is None:
        raise ValueError("tune gives the fit of the chosen candidate, and cvci has coefficients over phi")
    coef = fit.phi_coef
    gradient, offset = PENALTY * coef, 0.0
    parts = ((problem.log, chosen.pooling), (problem.experiment, 1.0 - chosen.pooling))
    errors = [rows.require_outcome() - rows.phi @ coef - fit.intercept for rows, _ in parts]
    for (_, share), error in zip(parts, errors, strict=True):
        offset += share * float(error.mean())
    for (rows, share), error in zip(parts, errors, strict=True):
        gradient -= rows.phi.transposed_product(error - offset) * (share / len(rows))
    return float(np.linalg.norm(gradient)) / PENALTY + abs(offset)


def make(case: Case, rng: np.random.Generator) -> Problem:
    """Outcomes linear in phi with noise; in the log a hidden cause moves them too."""
    draw = dense_rows if case.dense else hashed_rows
    experiment, fresh, phi = (draw(n, case.features, rng) for n in (EXPERIMENT_ROWS, EXPERIMENT_ROWS, case.unique))
    coef = np.asarray(phi[:50].T @ rng.standard_normal(50))
    if case.unique < case.rows:
        phi = phi[rng.integers(case.unique, size=case.rows)]
    model = np.arange(EXPERIMENT_ROWS) % MODELS
    log = Rows(phi, outcome=outcomes(phi, coef, 0.05, rng))
    randomized = Rows(experiment, outcome=outcomes(experiment, coef, 0.0, rng), model=model)
    return Problem(log, randomized, Rows(fresh), group_folds(model, FOLDS, seed=0)[0].train)


def outcomes(phi: RawMatrix, coef: FloatArray, hidden: float, rng: np.random.Generator) -> FloatArray:
    signal = np.asarray(phi @ coef)
    signal = (signal - signal.mean()) / signal.std()
    noise = 0.1 * rng.standard_normal(len(signal)) + hidden * np.tanh(signal**2 - 1.0)
    return np.asarray(np.clip(0.5 + 0.15 * signal + noise, 0.0, 1.0))


def dense_rows(count: int, features: int, rng: np.random.Generator) -> FloatArray:
    """Unit-length rows with a falling spectrum, as an embedding's; made in place, for they fill gigabytes."""
    phi = np.empty((count, features))
    for at in range(0, count, 4096):
        tile = phi[at : at + 4096]
        rng.standard_normal(out=tile)
        tile *= np.arange(1, features + 1) ** -0.5
        tile /= np.linalg.norm(tile, axis=1, keepdims=True)
    return phi


def hashed_rows(count: int, features: int, rng: np.random.Generator) -> sparse.csr_matrix:
    """Two namespaces of 60 to 240 phrases drawn by Zipf's law, hashed with signs, each of unit length."""
    frequency = np.cumsum(np.arange(1, PHRASES + 1) ** -ZIPF)
    blocks = []
    for namespace in range(2):
        length = rng.integers(60, 241, size=count)
        phrase = np.searchsorted(frequency, rng.random(length.sum()) * frequency[-1])
        bucket = np.random.default_rng(namespace).integers(2 * features, size=PHRASES + 1)[phrase]
        start = np.concatenate([[0], np.cumsum(length)])
        block = sparse.csr_matrix((1.0 - 2.0 * (bucket % 2), bucket // 2, start), shape=(count, features))
        block.sum_duplicates()
        norm = np.sqrt(np.asarray(block.multiply(block).sum(axis=1)).ravel())
        blocks.append(sparse.diags(1.0 / np.maximum(norm, 1.0)) @ block)
    return sparse.csr_matrix(blocks[0] + blocks[1])


def first(rows: Rows, size: int) -> Rows:
    return rows if size == len(rows) else Rows(rows.phi.take(slice(size)), outcome=rows.require_outcome()[:size])


def peak() -> float:
    """Largest resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    raise SystemExit(main())

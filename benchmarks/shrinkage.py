"""What leaning on a biased log costs and saves: total error of shrunken values over that of the experiment alone.

Eight models, a log whose bias is 0 to 10 standard errors of the experiment. Errors are normal with a known covariance,
or come from real small experiments with yes/no outcomes. The promise: at most 1.05 anywhere, at most 0.75 at bias 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.linalg import one_blas_thread
from deconfound.value import Values, experiment_only, shrink_toward

MODELS = tuple("abcdefgh")
CHANCE = np.array([0.9, 0.75, 0.7, 0.65, 0.5, 0.4, 0.3, 0.12])
BIASES = (0, 1, 2, 4, 10)  # standard errors
PATTERNS = ("random signs", "only the best", "only one", "same sign")
KNOWN = 0  # rows a model that stand for normal errors with a known covariance


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study: how many rows a model (``KNOWN`` for normal errors) and how the log is wrong."""

    rows: int
    pattern: str
    shared: float = 0.0  # correlation of normal errors between models
    uneven: bool = False  # models' errors differ by a factor of three


def errors(cell: Cell) -> FloatArray:
    """True standard errors of the experiment's values."""
    if cell.rows != KNOWN:
        return np.asarray(np.sqrt(CHANCE * (1 - CHANCE) / cell.rows))
    return 0.05 * (np.geomspace(0.6, 1.8, len(MODELS)) if cell.uneven else np.ones(len(MODELS)))


def bias(cell: Cell, size: float, rng: np.random.Generator) -> FloatArray:
    sign = rng.choice([-1.0, 1.0], len(MODELS))
    if cell.pattern == "same sign":
        sign[:] = 1.0
    elif cell.pattern != "random signs":
        only = 0 if cell.pattern == "only the best" else int(rng.integers(len(MODELS)))
        sign[np.arange(len(MODELS)) != only] = 0.0
    return np.asarray(size * sign * errors(cell))


def experiment(cell: Cell, rng: np.random.Generator) -> Values:
    if cell.rows == KNOWN:
        error = errors(cell)
        correlation = (1 - cell.shared) * np.eye(len(MODELS)) + cell.shared
        covariance = correlation * np.outer(error, error)
        return Values(MODELS, rng.multivariate_normal(CHANCE, covariance, method="cholesky"), covariance, "known")
    model = np.repeat(np.arange(len(MODELS)), cell.rows)
    outcome = (rng.random(len(model)) < CHANCE[model]).astype(np.float64)
    return experiment_only(MODELS, model, outcome, np.full(len(model), 1 / len(MODELS)))


def ratio(cell: Cell, size: float, studies: int, seed: int = 0) -> float:
    """Root mean squared error over all models and studies, shrunken over the experiment alone."""
    before = after = 0.0
    for number in range(studies):
        rng = np.random.default_rng([seed, number])
        alone = experiment(cell, rng)
        found = shrink_toward(alone, CHANCE + bias(cell, size, rng))
        before += float(((alone.estimate - CHANCE) ** 2).sum())
        after += float(((found.estimate - CHANCE) ** 2).sum())
    return float(np.sqrt(after / before))


def cells() -> list[Cell]:
    normal = [Cell(KNOWN, p) for p in PATTERNS]
    odd = [Cell(KNOWN, p, shared=0.5) for p in PATTERNS] + [Cell(KNOWN, p, uneven=True) for p in PATTERNS]
    return normal + odd + [Cell(rows, p) for rows in (5, 20, 100) for p in PATTERNS]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Total error of shrunken values over the experiment alone.")
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies a number; bias in standard errors of the experiment")
    print(f"{'errors':26s}{'biased':16s}" + "".join(f"{size:8d}" for size in BIASES))
    with one_blas_thread():
        for cell in cells():
            name = f"{cell.rows} rows a model, yes/no" if cell.rows != KNOWN else "normal, known"
            name += ", shared" if cell.shared else ", uneven" if cell.uneven else ""
            found = [ratio(cell, size, given.studies, given.seed) for size in BIASES]
            print(f"{name:26s}{cell.pattern:16s}" + "".join(f"{r:8.3f}" for r in found), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

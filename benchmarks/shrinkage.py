"""Gain and loss from shrinking toward a biased log: RMSE of shrunken values relative to the experiment alone.

    python -m benchmarks.shrinkage --studies 1000

Eight models and a log with a bias of 0 to 10 standard errors of the experiment. Errors are normal with a given
covariance, or come from small simulated experiments with yes/no outcomes. Targets: a ratio of at most 1.05 at any bias
and at most 0.75 at bias 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.simulation import EIGHT_MODELS, SUCCESS_RATES
from deconfound.design import FloatArray
from deconfound.threads import one_blas_thread
from deconfound.value import Values, experiment_only, shrink_toward

COUNT = len(EIGHT_MODELS)
BIASES = (0, 1, 2, 4, 10)  # standard errors
PATTERNS = ("random signs", "only the best", "only one", "same sign")
NORMAL_ERRORS = 0  # as a number of rows: normal errors with a given covariance


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study: rows per model (or ``NORMAL_ERRORS``) and the pattern of the log's bias."""

    rows: int
    pattern: str
    correlation: float = 0.0  # of normal errors between models
    uneven: bool = False  # standard errors of the models differ by a factor of three


def standard_errors(cell: Cell) -> FloatArray:
    """True standard errors of the experiment's values (k,)."""
    if cell.rows != NORMAL_ERRORS:
        return np.asarray(np.sqrt(SUCCESS_RATES * (1 - SUCCESS_RATES) / cell.rows))
    return 0.05 * (np.geomspace(0.6, 1.8, COUNT) if cell.uneven else np.ones(COUNT))


def log_bias(cell: Cell, size: float, rng: np.random.Generator) -> FloatArray:
    sign = rng.choice([-1.0, 1.0], COUNT)
    if cell.pattern == "same sign":
        sign[:] = 1.0
    elif cell.pattern != "random signs":
        only = 0 if cell.pattern == "only the best" else int(rng.integers(COUNT))
        sign[np.arange(COUNT) != only] = 0.0
    return np.asarray(size * sign * standard_errors(cell))


def simulate_values(cell: Cell, rng: np.random.Generator) -> Values:
    """Values from one experiment."""
    if cell.rows == NORMAL_ERRORS:
        error = standard_errors(cell)
        correlation = (1 - cell.correlation) * np.eye(COUNT) + cell.correlation
        covariance = correlation * np.outer(error, error)
        estimate = rng.multivariate_normal(SUCCESS_RATES, covariance, method="cholesky")
        return Values(EIGHT_MODELS, estimate, covariance, "simulated")
    model = np.repeat(np.arange(COUNT), cell.rows)
    outcome = (rng.random(len(model)) < SUCCESS_RATES[model]).astype(np.float64)
    return experiment_only(EIGHT_MODELS, model, outcome, np.full(len(model), 1 / COUNT))


def rmse_ratio(cell: Cell, bias: float, studies: int, seed: int = 0) -> float:
    """Root mean squared error over all models and studies, shrunken relative to the experiment alone."""
    before = after = 0.0
    for number in range(studies):
        rng = np.random.default_rng([seed, number])
        values = simulate_values(cell, rng)
        shrunk = shrink_toward(values, SUCCESS_RATES + log_bias(cell, bias, rng))
        before += float(((values.estimate - SUCCESS_RATES) ** 2).sum())
        after += float(((shrunk.estimate - SUCCESS_RATES) ** 2).sum())
    return float(np.sqrt(after / before))


def cells() -> list[Cell]:
    independent = [Cell(NORMAL_ERRORS, p) for p in PATTERNS]
    correlated = [Cell(NORMAL_ERRORS, p, correlation=0.5) for p in PATTERNS]
    uneven = [Cell(NORMAL_ERRORS, p, uneven=True) for p in PATTERNS]
    return [*independent, *correlated, *uneven, *(Cell(rows, p) for rows in (5, 20, 100) for p in PATTERNS)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="RMSE of shrunken values relative to the experiment alone.")
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies per number; columns: bias of the log in standard errors of the experiment")
    print(f"{'errors':26s}{'biased':16s}" + "".join(f"{size:8d}" for size in BIASES))
    with one_blas_thread():
        for cell in cells():
            name = f"yes/no, {cell.rows} rows per model" if cell.rows != NORMAL_ERRORS else "normal"
            name += ", correlated" if cell.correlation else ", uneven" if cell.uneven else ""
            ratios = [rmse_ratio(cell, size, given.studies, given.seed) for size in BIASES]
            print(f"{name:26s}{cell.pattern:16s}" + "".join(f"{r:8.3f}" for r in ratios), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

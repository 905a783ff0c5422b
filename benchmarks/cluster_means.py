"""Intervals of a mean over users of uneven size: coverage, and width relative to that with a known variance.

    python -m benchmarks.cluster_means --means 4000

"deconfound" are the intervals of values without a reward, four models with the same sizes of users in each study. The
others are those of one mean: its standard error clustered by user, times a quantile. That is the quantile of the t
distribution with the degrees of freedom of the exact t ratio (``mean_df``), with Satterthwaite's, or the normal one.
Printed are the lowest coverage and the largest width over the correlations between rows of one user.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from deconfound.design import FloatArray
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.cluster_df import least_favorable_correlations, mean_df

TAIL = 0.025
TRUE_CORRELATIONS = (0.02, 0.1, 0.4, 0.9)
MEAN = 0.5
GRADED_SD = 0.1  # of one outcome that is not yes or no
MODELS = ("ant", "bee", "cat", "dog")
SEED = 4


def power_law(users: int, rows: int) -> tuple[int, ...]:
    """Sizes in proportion to 1, 1/2, 1/3, ..., at least one row each."""
    share = 1 / np.arange(1, users + 1)
    return tuple(np.maximum(np.round(rows * share / share.sum()), 1).astype(int).tolist())


SIZES: dict[str, tuple[int, ...]] = {
    "20 users of equal size": (5,) * 20,
    "60 users, sizes by a power law": power_law(60, 240),
    "300 users, sizes by a power law": power_law(300, 900),
    "100 users, one with 28 % of the rows": (38, *(1,) * 99),
    "20 users, three with 75 % of the rows": (17, 17, 17, *(1,) * 17),
    "22 users, two with 80 % of the rows": (40, 40, *(1,) * 20),
}


@dataclass(frozen=True, slots=True)
class Design:
    """Users of one mean, and outcomes with one correlation between the rows of a user."""

    sizes: FloatArray  # (users,)
    correlation: float
    yes_no: bool

    @property
    def true_sd(self) -> float:
        """Standard deviation of the mean."""
        of_user = self.correlation * self.sizes**2 + (1 - self.correlation) * self.sizes
        row_variance = MEAN * (1 - MEAN) if self.yes_no else GRADED_SD**2
        return float(np.sqrt(row_variance * of_user.sum()) / self.sizes.sum())

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Outcomes of the rows (count, rows), sorted by user."""
        user, shape = np.repeat(np.arange(len(self.sizes)), self.sizes.astype(int)), (count, len(self.sizes))
        if self.yes_no:
            precision = (1 - self.correlation) / self.correlation
            chance = rng.beta(MEAN * precision, (1 - MEAN) * precision, shape)[:, user]
            return (rng.random(chance.shape) < chance).astype(np.float64)
        between = np.sqrt(self.correlation) * rng.standard_normal(shape)[:, user]
        within = np.sqrt(1 - self.correlation) * rng.standard_normal((count, len(user)))
        return np.asarray(np.clip(MEAN + GRADED_SD * (between + within), 0, 1))


@dataclass(frozen=True, slots=True)
class Measured:
    """Share of intervals that cover, and their mean half-width over that with the true standard deviation."""

    coverage: float
    width: float

    @classmethod
    def from_intervals(cls, low: FloatArray, high: FloatArray, design: Design) -> Measured:
        """From both limits (n,) of intervals for the mean."""
        covered = (low <= MEAN) & (high >= MEAN)
        return cls(float(covered.mean()), float((high - low).mean() / (-2 * ndtri(TAIL) * design.true_sd)))


def of_quantile(design: Design, outcome: FloatArray, quantile: float) -> Measured:
    """A clustered standard error times a quantile."""
    sizes, starts = design.sizes, np.append(0, np.cumsum(design.sizes[:-1])).astype(int)
    weight, mean = sizes / sizes.sum(), outcome.mean(axis=1)
    deviation = (np.add.reduceat(outcome, starts, axis=1) - sizes * mean[:, None]) / sizes.sum()
    half = quantile * np.sqrt((deviation**2 / (1 - weight)).sum(axis=1))
    return Measured.from_intervals(mean - half, mean + half, design)


def of_values(design: Design, outcome: FloatArray) -> Measured:
    """The package's intervals: each study has as many of the means as there are models."""
    rows = int(design.sizes.sum())
    model = np.repeat(np.arange(len(MODELS)), rows)
    user = np.tile(np.repeat(np.arange(len(design.sizes)), design.sizes.astype(int)), len(MODELS))
    q, intervals = np.zeros((len(model), len(MODELS))), []
    for study in outcome.reshape(-1, len(model)):
        cluster = user + len(design.sizes) * model
        data = ScoredExperiment.from_arrays(MODELS, q, q[:, 0], model, study, cluster=cluster)
        intervals.append(tuned_doubly_robust(data, reward_weight=0.0).interval())
    low, high = np.concatenate(intervals).T
    return Measured.from_intervals(low, high, design)


def satterthwaite_df(sizes: FloatArray) -> float:
    """trace(R)^2 / trace(R^2) for the covariance R of residuals, smallest over the correlations of ``mean_df``."""
    weight = sizes / sizes.sum()
    residuals = (np.eye(len(sizes)) - weight[:, None]) / np.sqrt(1 - weight)[:, None]
    found = []
    for correlation in least_favorable_correlations(weight.max(), 1 / sizes.sum()):
        covariance = residuals * (correlation * sizes**2 + (1 - correlation) * sizes) @ residuals.T
        found.append(np.trace(covariance) ** 2 / (covariance**2).sum())
    return float(min(found))


def quantiles(sizes: FloatArray) -> dict[str, float]:
    weight = sizes / sizes.sum()
    exact = float(mean_df(weight[:, None], (weight / sizes.sum())[:, None])[0])
    return {
        "exact t ratio": -float(stdtrit(exact, TAIL)),
        "Satterthwaite": -float(stdtrit(satterthwaite_df(sizes), TAIL)),
        "normal": -float(ndtri(TAIL)),
    }


def row(sizes: FloatArray, yes_no: bool, count: int) -> list[str]:
    """Cells of a table: lowest coverage and largest width, first of the package, then of each quantile."""
    measured = []
    for correlation in TRUE_CORRELATIONS:
        design = Design(sizes, correlation, yes_no)
        outcome = design.draw(count, np.random.default_rng(SEED))
        by_quantile = [of_quantile(design, outcome, each) for each in quantiles(sizes).values()]
        measured.append([of_values(design, outcome), *by_quantile])
    worst = ((min(m.coverage for m in kind), max(m.width for m in kind)) for kind in zip(*measured, strict=True))
    return [f"{coverage:.1%}, {width:.2f}" for coverage, width in worst]


def table(count: int) -> list[str]:
    lines = ["| users | outcomes | deconfound | exact t ratio | Satterthwaite | normal |", "|---|---|---|---|---|---|"]
    for name, each in SIZES.items():
        for outcomes in ("graded", "yes/no"):
            cells = row(np.array(each, dtype=np.float64), outcomes == "yes/no", count)
            lines.append(f"| {name} | {outcomes} | {' | '.join(cells)} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--means", type=int, default=4000, help="per kind of users, correlation and outcome")
    count = parser.parse_args(arguments).means
    with one_blas_thread():
        print(*table(count - count % len(MODELS)), sep="\n")


if __name__ == "__main__":
    main()

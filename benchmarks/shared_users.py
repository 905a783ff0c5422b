"""Intervals where every user rates every model, yes or no, and most are satisfied.

    python -m benchmarks.shared_users --studies 1000

Each user has one chance of a good outcome per model. Chances are beta distributed, so that rows of one user are
correlated. With "own" users a user's chances for different models are independent; with "common" ones they have the
same rank among users. Intervals are those without a reward. Widths of values are means, relative to a known variance.
Those of differences are medians, relative to a paired t interval over users. The log has as many rows of other users,
and chances that are 0.01 nearer to one half.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtrit

from benchmarks.simulation import covers
from deconfound.design import FloatArray, IntArray
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, Values, estimate_log_bias, raw_log, tuned_doubly_robust
from deconfound.value.multiple_comparisons import two_sided_z

LEVEL = 0.95
LOG_BIAS = 0.01
SEED = 12
ATOL = 1e-12


@dataclass(frozen=True)
class Design:
    """Who rates what."""

    sizes: tuple[int, ...]  # rows of each user for each model
    value: tuple[float, ...]  # (k,) chances of a good outcome
    correlation: float  # between rows of one user and model
    common: bool

    @property
    def name(self) -> str:
        """The first cells of a table."""
        rows = str(self.sizes[0]) if len(set(self.sizes)) == 1 else f"{min(self.sizes)} to {max(self.sizes)}"
        values = f"{min(self.value):g} to {max(self.value):g}" if len(set(self.value)) > 1 else f"{self.value[0]:g}"
        kind = "common" if self.common else "own"
        return f"{len(self.sizes)} x {rows} | {len(self.value)} x {values} | {self.correlation:g}, {kind}"

    @cached_property
    def rows(self) -> tuple[IntArray, IntArray]:
        """User and model of each row (n,)."""
        users = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.tile(users, len(self.value)), np.repeat(np.arange(len(self.value)), len(users))

    @property
    def true_sd(self) -> FloatArray:
        """Standard deviation of each mean (k,)."""
        value, sizes = np.array(self.value), np.array(self.sizes)
        squares = (self.correlation * sizes**2 + (1 - self.correlation) * sizes).sum() / sizes.sum() ** 2
        return np.asarray(np.sqrt(value * (1 - value) * squares))

    def outcomes(self, value: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Outcomes of the rows (n,), whose chances have the mean ``value`` (k,)."""
        user, model = self.rows
        rank = rng.random((len(self.sizes), 1 if self.common else len(value)))
        precision = (1 - self.correlation) / self.correlation
        chance = betaincinv(value * precision, (1 - value) * precision, rank)
        return np.asarray(rng.random(len(user)) < chance[user, model], dtype=np.float64)


DESIGNS = (
    Design((20,) * 30, (0.97,) * 2, 0.5, common=True),
    Design((20,) * 30, (0.97,) * 2, 0.5, common=False),
    Design((20,) * 30, (0.97, 0.95), 0.3, common=True),
    Design((20,) * 30, (0.97,) * 2, 0.1, common=True),
    Design((20,) * 30, (0.97,) * 2, 0.001, common=True),
    Design((20,) * 30, (0.9,) * 2, 0.3, common=True),
    Design((20,) * 30, (0.9,) * 2, 0.001, common=True),
    Design((20,) * 30, (0.5,) * 2, 0.3, common=True),
    Design((20,) * 30, (0.5,) * 2, 0.001, common=True),
    Design((10,) * 12, (0.97, 0.95, 0.9), 0.3, common=True),
    Design((5,) * 40, (0.98, 0.96, 0.94, 0.92), 0.8, common=True),
    Design((5,) * 60, (0.03, 0.05, 0.02, 0.01), 0.3, common=True),
    Design((10,) * 100, (0.99,) * 2, 0.3, common=True),
    Design((3,) * 100, (0.97, 0.95, 0.96, 0.98), 0.3, common=True),
    Design((2,) * 200, (0.95, 0.96, 0.97, 0.98, 0.99, 0.97), 0.2, common=False),
    Design((20,) * 4, (0.8,) * 2, 0.3, common=True),
    Design((20,) * 5, (0.5,) * 2, 0.9, common=True),
    Design((10,) * 8, (0.9,) * 2, 0.2, common=True),
    Design((17, 17, 17, *(1,) * 17), (0.5,) * 4, 0.9, common=True),
    Design((17, 17, 17, *(1,) * 17), (0.9,) * 2, 0.3, common=True),
    Design((38, *(1,) * 99), (0.97,) * 2, 0.3, common=True),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one study shows."""

    values: NDArray[np.bool_]  # (k,) covered or not
    width: FloatArray  # (k,) relative to a known variance
    together: bool
    differences: float  # share covered
    difference_width: float  # relative to a paired t interval; NaN where that has no width
    all_differences: bool
    log_bias: bool  # all together


def measure(design: Design, rng: np.random.Generator) -> Measured:
    value = np.array(design.value)
    names = tuple(f"model {number}" for number in range(len(value)))
    user, model = design.rows
    outcome = design.outcomes(value, rng)
    q = np.zeros((len(user), len(value)))
    data = ScoredExperiment.from_arrays(names, q, q[:, 0], model, outcome, cluster=user)
    values = tuned_doubly_robust(data, reward_weight=0.0)
    bias = np.where(value > 0.5, -LOG_BIAS, LOG_BIAS)
    log = raw_log(names, model, design.outcomes(value + bias, rng), user)
    limits = np.array([(one.low, one.high) for one in estimate_log_bias(log, values, LEVEL).biases])
    interval = values.interval(LEVEL)
    differences, widths = paired(design, values, outcome)
    return Measured(
        values=covers(interval, value),
        width=np.ptp(interval, axis=1) / (2 * two_sided_z(LEVEL) * design.true_sd),
        together=bool(covers(values.interval(LEVEL, simultaneous=True), value).all()),
        differences=float(np.mean(differences)),
        difference_width=float(np.median(widths)),
        all_differences=all_hold(values, dict(zip(names, design.value, strict=True))),
        log_bias=bool(covers(limits, bias).all()),
    )


def paired(design: Design, values: Values, outcome: FloatArray) -> tuple[list[bool], list[float]]:
    """Whether the interval of each difference covers, and its width over that of a paired t interval over users."""
    user, model = design.rows
    sizes, value = np.array(design.sizes), design.value
    sums = np.zeros((len(sizes), len(value)))
    np.add.at(sums, (user, model), outcome)
    limits, covered, widths = values.differences_at_z(two_sided_z(LEVEL)), [], []
    for i, j in combinations(range(len(value)), 2):
        low, high = limits[i, j]
        covered.append(bool(low - ATOL <= value[i] - value[j] <= high + ATOL))
        difference = sums[:, i] - sums[:, j]
        deviation = difference - sizes * difference.sum() / sizes.sum()
        squared = (deviation**2).sum() / sizes.sum() ** 2 * len(sizes) / (len(sizes) - 1)
        half_width = -stdtrit(len(sizes) - 1, (1 - LEVEL) / 2) * np.sqrt(squared)
        widths.append(float((high - low) / (2 * half_width)) if half_width > ATOL else np.nan)
    return covered, widths


def all_hold(values: Values, truth: dict[str, float]) -> bool:
    """Whether all simultaneous intervals of differences cover."""
    return all(c.low - ATOL <= truth[c.model] - truth[c.reference] <= c.high + ATOL for c in values.contrasts(LEVEL))


def row(design: Design, studies: int) -> str:
    """Cells of a table."""
    rng = np.random.default_rng([SEED, DESIGNS.index(design)])
    measured = [measure(design, rng) for _ in range(studies)]
    by_model = np.mean([one.values for one in measured], axis=0)
    shares = (
        by_model.mean(),
        by_model.min(),
        np.mean([one.together for one in measured]),
        np.mean([one.differences for one in measured]),
        np.mean([one.all_differences for one in measured]),
        np.mean([one.log_bias for one in measured]),
    )
    values, worst, together, differences, all_differences, log_bias = (f"{100 * share:.1f}" for share in shares)
    width = f"{np.mean([one.width for one in measured]):.2f}"
    of_differences = f"{np.nanmedian([one.difference_width for one in measured]):.2f}"
    cells = (design.name, values, worst, width, together, differences, of_differences, all_differences, log_bias)
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000, help="per design")
    studies = parser.parse_args(arguments).studies
    share = 0.95
    error = 100 * float(-ndtri(0.16)) * np.sqrt(share * (1 - share) / studies)
    print(f"Shares in percent; at 95 % they have a standard error of {error:.1f}.\n")
    print("| users x rows | models | correlation | values | worst model | width | all values | differences", end=" ")
    print("| width | all differences | all biases of the log |\n|---|---|---|---|---|---|---|---|---|---|---|")
    with one_blas_thread():
        for design in DESIGNS:
            print(row(design, studies), flush=True)


if __name__ == "__main__":
    main()

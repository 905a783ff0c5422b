"""Are plans realized? Planned interval widths and selection probabilities compared with simulated studies.

    python -m benchmarks.plan --studies 400

A cell is one kind of study. It is planned twice: from its true variances and values, so that only the formulas can be
wrong, and from small pilots, as a user would. Then studies of the planned size are simulated, estimated with
``tuned_doubly_robust``, and compared with the plans.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deconfound.design import FloatArray
from deconfound.planning import PlanInputs, ValuePrior, inputs_from_pilot, plan
from deconfound.planning.forecast import root_mean_square
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, Values, tuned_doubly_robust

QUALITY = np.array([0.75, 0.6, 0.85, 0.5, 0.7, 0.4, 0.65, 0.25])  # approximate values of the first k models
FEATURES = 4
TILT = np.array([2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 3.0, 1.0])  # uneven propensities are proportional to it
POPULATION = 12_000  # rows per model behind the true variances, which then have an error of 2 %
PILOT_ROWS = 30  # per model
PILOTS = 20
TOLERANCE = 0.15  # relative difference between planned and realized width


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study."""

    rows: int  # per model, on average
    models: int
    reward: str
    yes_no: bool
    uneven: bool
    extra_contexts: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """One letter per model."""
        return tuple("abcdefgh"[: self.models])

    @property
    def propensity(self) -> FloatArray:
        """Propensity of each model (k,)."""
        weight = TILT[: self.models] if self.uneven else np.ones(self.models)
        return np.asarray(weight / weight.sum())


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one cell; widths (k,) are medians over studies."""

    planned: FloatArray
    realized: FloatArray
    pilot_ratio: float  # median over pilots of planned / realized, root mean square over models
    pilots_within: float  # share of pilots whose plan was within the tolerance
    best_planned: float
    best_realized: float

    @property
    def rms_ratio(self) -> float:
        """Planned over realized, root mean square over models."""
        return float(np.sqrt((self.planned**2).mean() / (self.realized**2).mean()))

    @property
    def worst_ratio(self) -> float:
        """Planned over realized of the model that differs most."""
        ratio = self.planned / self.realized
        return float(ratio[np.abs(np.log(ratio)).argmax()])


def success_probability(x: FloatArray, cell: Cell) -> FloatArray:
    """Expected outcome of each model in each context (n, k)."""
    slopes = np.random.default_rng(5).normal(0.0, 0.6, (FEATURES, len(QUALITY)))[:, : cell.models]
    quality = QUALITY[: cell.models]
    return np.asarray(1 / (1 + np.exp(-(np.log(quality / (1 - quality)) + x @ slopes))))


def simulate(cell: Cell, rng: np.random.Generator) -> tuple[ScoredExperiment, FloatArray]:
    """An experiment with a simulated reward, and that reward on the extra contexts."""
    rows = cell.rows * cell.models
    x = rng.normal(size=(rows + cell.extra_contexts, FEATURES))
    mean = success_probability(x, cell)
    model = rng.choice(cell.models, size=rows, p=cell.propensity)
    index = np.arange(rows)
    expected = mean[index, model]
    noise = (2 * rng.random(rows) - 1) * np.minimum(expected, 1 - expected)
    outcome = (rng.random(rows) < expected).astype(np.float64) if cell.yes_no else expected + noise
    reward_noise = rng.normal(size=mean.shape)
    q = reward_noise if cell.reward == "useless" else 0.2 + 0.6 * mean + 0.05 * reward_noise
    own, propensity = q[index, model], cell.propensity[model]
    data = ScoredExperiment.from_arrays(cell.names, q[:rows], own, model, outcome, propensity=propensity)
    return data, q[rows:]


def estimate(cell: Cell, rng: np.random.Generator) -> Values:
    data, extra_q = simulate(cell, rng)
    return tuned_doubly_robust(data, extra_q=extra_q)


def estimated_inputs(cell: Cell, rows: int, seed: Sequence[int]) -> PlanInputs:
    """Inputs from a simulated pilot with equal propensities."""
    pilot, _ = simulate(replace(cell, rows=rows, uneven=False, extra_contexts=0), np.random.default_rng(seed))
    return inputs_from_pilot(pilot)


def true_inputs(cell: Cell, seed: int) -> PlanInputs:
    """Variances of a very large pilot, and the true values without uncertainty."""
    inputs = estimated_inputs(cell, POPULATION, [seed, 99])
    x = np.random.default_rng(6).normal(size=(200_000, FEATURES))
    value = success_probability(x, cell).mean(axis=0)
    return replace(inputs, prior=ValuePrior(value, np.zeros((cell.models, cell.models))))


def compare(cell: Cell, studies: int, seed: int = 0) -> Row:
    """Plan one cell, simulate studies of that size, and compare."""
    inputs = true_inputs(cell, seed)
    planned = plan(inputs, extra_contexts=cell.extra_contexts)
    best = cell.names[int(inputs.prior.mean.argmax())]
    widths, hits = [], []
    for number in range(studies):
        values = estimate(cell, np.random.default_rng([seed, number]))
        interval = values.interval(planned.level)
        widths.append(interval[:, 1] - interval[:, 0])
        hits.append(values.ranking()[0] == best)
    realized = np.median(widths, axis=0)
    rows = cell.rows * cell.models * cell.propensity
    ratios = []
    for number in range(PILOTS):
        pilot = estimated_inputs(cell, PILOT_ROWS, [seed, 7, number])
        projection = plan(pilot, extra_contexts=cell.extra_contexts).at(rows)
        ratios.append(projection.rms_width / root_mean_square(realized))
    projection = planned.at(rows)
    return Row(
        planned=projection.widths,
        realized=realized,
        pilot_ratio=float(np.median(ratios)),
        pilots_within=float(np.mean(np.abs(np.array(ratios) - 1) <= TOLERANCE)),
        best_planned=projection.probability_best,
        best_realized=float(np.mean(hits)),
    )


def cells() -> list[Cell]:
    """Every combination, and three cells with extra contexts."""
    grid = [
        Cell(rows, models, reward, yes_no=yes_no, uneven=uneven)
        for rows in (5, 20, 100)
        for models in (2, 4, 8)
        for reward in ("useless", "good")
        for yes_no in (True, False)
        for uneven in (False, True)
    ]
    extra = [Cell(rows, 4, "good", yes_no=False, uneven=False, extra_contexts=2_000) for rows in (5, 20, 100)]
    return [*grid, *extra]


def print_row(cell: Cell, row: Row) -> None:
    outcome, propensity = "yes/no" if cell.yes_no else "[0, 1]", "uneven" if cell.uneven else "even"
    reward = cell.reward + (" +ctx" if cell.extra_contexts else "")
    print(
        f"{cell.rows:4d} {cell.models:6d} {outcome:7s} {propensity:10s} {reward:10s} {row.rms_ratio:7.3f} "
        f"{row.worst_ratio:5.3f} {row.pilot_ratio:6.3f} {row.pilots_within:6.2f} "
        f"{row.best_planned:13.3f} {row.best_realized:8.3f}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row per cell; the exit code is 1 if a width is off by more than the tolerance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args(arguments)
    print(f"{parsed.studies} studies per row. Planned / realized width: all models, the worst model, from pilots;")
    print(f"then the share of {PILOTS} pilots of {PILOT_ROWS} rows per model whose plan was within {TOLERANCE:.0%}.")
    print("rows models outcome propensity reward         all worst pilots within   P(best): planned realized")
    width_errors, probability_errors = [], []
    with one_blas_thread():
        for number, cell in enumerate(cells()):
            row = compare(cell, parsed.studies, 1000 * parsed.seed + number)
            width_errors.append(abs(row.rms_ratio - 1))
            probability_errors.append(row.best_planned - row.best_realized)
            print_row(cell, row)
    print(f"widths: largest error {max(width_errors):.3f} (tolerance {TOLERANCE})")
    print(
        f"P(best): mean error {np.mean(probability_errors):+.3f}, largest {np.abs(probability_errors).max():.3f}; "
        f"standard error of a row up to {0.5 / np.sqrt(parsed.studies):.3f}"
    )
    return int(max(width_errors) > TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main())

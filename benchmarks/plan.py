"""Does a plan come true? Planned against realised widths, and planned against realised chances to pick the best.

A cell is one kind of study. Its plan is made twice: from the law of the studies (so that only the formulas can be
wrong) and from one pilot of a few rows after another, as a user would. Then studies of the planned size are drawn,
evaluated with ``tuned_doubly_robust``, and compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deconfound.design import FloatArray
from deconfound.linalg import one_blas_thread
from deconfound.plan import Evidence, from_pilot, plan
from deconfound.value import ScoredExperiment, Values, tuned_doubly_robust

QUALITY = np.array([0.75, 0.6, 0.85, 0.5, 0.7, 0.4, 0.65, 0.25])  # about the models' values, the first k of them
FEATURES = 4
TILT = np.array([2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 3.0, 1.0])  # uneven allocations are proportional to it
POPULATION = 12_000  # rows a model behind the law: variances are then known to 2 %
PILOT = 30  # rows a model
PILOTS = 20
GOAL = 0.15  # planned and realised width may differ by so much


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study."""

    rows: int  # per model, on average
    models: int
    reward: str
    yes_no: bool
    uneven: bool
    elsewhere: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """One letter a model."""
        return tuple("abcdefgh"[: self.models])

    @property
    def share(self) -> FloatArray:
        """Propensity of each model."""
        found = TILT[: self.models] if self.uneven else np.ones(self.models)
        return np.asarray(found / found.sum())


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one cell; widths are medians over studies, one a model."""

    planned: FloatArray
    realised: FloatArray
    from_pilots: float  # median over pilots of planned / realised, all models together
    pilots_right: float  # share of pilots whose plan was within the goal
    best_planned: float
    best_realised: float

    @property
    def typical(self) -> float:
        """Planned over realised, root mean square over models."""
        return float(np.sqrt((self.planned**2).mean() / (self.realised**2).mean()))

    @property
    def worst(self) -> float:
        """The ratio of the model that is furthest off."""
        ratio = self.planned / self.realised
        return float(ratio[np.abs(np.log(ratio)).argmax()])


def worth(x: FloatArray, cell: Cell) -> FloatArray:
    """Chance of a good outcome of each model on each context."""
    law = np.random.default_rng(5).normal(0.0, 0.6, (FEATURES, len(QUALITY)))[:, : cell.models]
    quality = QUALITY[: cell.models]
    return np.asarray(1 / (1 + np.exp(-(np.log(quality / (1 - quality)) + x @ law))))


def draw(cell: Cell, rng: np.random.Generator) -> tuple[ScoredExperiment, FloatArray]:
    """An experiment with a reward that is a table of numbers, and that reward on contexts elsewhere."""
    rows = cell.rows * cell.models
    x = rng.normal(size=(rows + cell.elsewhere, FEATURES))
    mean = worth(x, cell)
    model = rng.choice(cell.models, size=rows, p=cell.share)
    at = np.arange(rows)
    mine = mean[at, model]
    noise = (2 * rng.random(rows) - 1) * np.minimum(mine, 1 - mine)
    outcome = (rng.random(rows) < mine).astype(np.float64) if cell.yes_no else mine + noise
    luck = rng.normal(size=mean.shape)
    q = luck if cell.reward == "useless" else 0.2 + 0.6 * mean + 0.05 * luck
    own, propensity = q[at, model], cell.share[model]
    return ScoredExperiment.from_arrays(cell.names, q[:rows], own, model, outcome, propensity=propensity), q[rows:]


def realise(cell: Cell, rng: np.random.Generator) -> Values:
    experiment, elsewhere = draw(cell, rng)
    return tuned_doubly_robust(experiment, extra_q=elsewhere)


def evidence(cell: Cell, rows: int, seed: Sequence[int]) -> Evidence:
    pilot, _ = draw(replace(cell, rows=rows, uneven=False, elsewhere=0), np.random.default_rng(seed))
    return from_pilot(pilot)


def law(cell: Cell, seed: int) -> Evidence:
    """Evidence without doubt: variances of a huge pilot, and the true values."""
    found = evidence(cell, POPULATION, [seed, 99])
    true = worth(np.random.default_rng(6).normal(size=(200_000, FEATURES)), cell).mean(axis=0)
    return replace(found, mean=true, doubt=np.zeros((cell.models, cell.models)))


def compare(cell: Cell, studies: int, seed: int = 0) -> Row:
    known = law(cell, seed)
    made = plan(known, elsewhere=cell.elsewhere)
    rows = cell.rows * cell.models * cell.share
    realised, hits = [], []
    for number in range(studies):
        values = realise(cell, np.random.default_rng([seed, number]))
        interval = values.interval(made.level)
        realised.append(interval[:, 1] - interval[:, 0])
        hits.append(values.ranking()[0] == cell.names[int(known.mean.argmax())])
    middle = np.median(realised, axis=0)
    guesses = []
    for number in range(PILOTS):
        guess = plan(evidence(cell, PILOT, [seed, 7, number]), elsewhere=cell.elsewhere)
        guesses.append(np.sqrt((guess.at(rows).width ** 2).mean() / (middle**2).mean()))
    step = made.at(rows)
    right = np.mean(np.abs(np.array(guesses) - 1) <= GOAL)
    return Row(step.width, middle, float(np.median(guesses)), float(right), step.best, float(np.mean(hits)))


def cells() -> list[Cell]:
    found = [
        Cell(rows, models, reward, yes_no=yes_no, uneven=uneven)
        for rows in (5, 20, 100)
        for models in (2, 4, 8)
        for reward in ("useless", "good")
        for yes_no in (True, False)
        for uneven in (False, True)
    ]
    return [*found, *(Cell(rows, 4, "good", yes_no=False, uneven=False, elsewhere=2_000) for rows in (5, 20, 100))]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Planned against realised interval widths and choices.")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies a row; width is planned / realised: all models, the worst model, from pilots,")
    print(f"and the share of {PILOTS} pilots of {PILOT} rows a model that were within {GOAL:.0%}")
    print("rows models outcome share   reward         all worst pilot right   best planned realised")
    off, apart = [], []
    with one_blas_thread():
        for number, cell in enumerate(cells()):
            row = compare(cell, given.studies, 1000 * given.seed + number)
            off.append(abs(row.typical - 1))
            apart.append(row.best_planned - row.best_realised)
            outcome, share = "yes/no" if cell.yes_no else "[0, 1]", "uneven" if cell.uneven else "even"
            reward = cell.reward + (" +ctx" if cell.elsewhere else "")
            print(
                f"{cell.rows:4d} {cell.models:6d} {outcome:7s} {share:7s} {reward:10s} {row.typical:7.3f} "
                f"{row.worst:5.3f} {row.from_pilots:5.3f} {row.pilots_right:5.2f} "
                f"{row.best_planned:14.3f} {row.best_realised:8.3f}",
                flush=True,
            )
    print(f"widths: furthest off {max(off):.3f} (goal {GOAL})")
    luck = 0.5 / np.sqrt(given.studies)
    print(
        f"best: off by {np.mean(apart):+.3f} on average, {np.abs(apart).max():.3f} at most; luck alone {luck:.3f} a row"
    )
    return int(max(off) > GOAL)


if __name__ == "__main__":
    raise SystemExit(main())

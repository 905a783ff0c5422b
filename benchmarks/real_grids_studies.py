"""Studies drawn from the real grids as text tables, stored as Parquet, and how far an answer is from their truth.

The laboratory draws them: its users, reward maps, router and noise. It is imported only to draw, so that stored studies
can be evaluated with a version of the package that the laboratory does not fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

if TYPE_CHECKING:
    from deconfound_bench.cached.draws import SampledRows
    from deconfound_bench.cached.environment import Environment
    from deconfound_bench.grid import Grid

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Measures = dict[str, float | list[float]]

LOG_ROWS = 2_000
ROWS_PER_MODEL = (5, 20)  # of the experiment, on average
CONFOUNDING = 0.99  # the strongest of the laboratory
CONTEXT_SEED = 0  # all seeds use the same contexts of a grid
TABLES = ("log", "experiment", "replay", "fresh")
TRUTH = "truth.json"


@dataclass(frozen=True, slots=True)
class GridPlan:
    """Which part of a grid is used, with which reward map, and which of its columns are labels of the log.

    Labels are columns that do not enter the outcome. Models are evenly spaced in alphabetical order, so that nobody
    chooses them.
    """

    task: str
    reward: str
    models: int
    contexts: int | None  # None for all
    labels: tuple[str, ...]


PLANS = {
    "summeval": GridPlan(
        task="summarization",
        reward="smooth",
        models=8,
        contexts=None,
        labels=("judge_coherence", "judge_consistency", "judge_fluency", "judge_relevance"),
    ),
    "polytope": GridPlan("summarization", "smooth", models=8, contexts=None, labels=("unsupported_claims",)),
    "swebench_verified": GridPlan(
        task="coding",
        reward="fix1-weakest0",
        models=6,
        contexts=200,
        labels=("n_files", "n_hunks", "lines_added", "lines_removed"),
    ),
    "alpacaeval": GridPlan("instructions", "liking", models=6, contexts=200, labels=()),
}


@dataclass(frozen=True, slots=True, eq=False)
class GridStudy:
    """The tables of one seed and their truth; a smaller experiment is the start of the largest one.

    ``value`` is the truth of the values: the expected outcome of each model, averaged over user types and over all
    contexts of the grid that are used. Log and experiment are drawn from a random part of these contexts, ``fresh`` is
    the replay of the others.
    """

    models: tuple[str, ...]
    log: pa.Table
    experiment: pa.Table
    replay: pa.Table  # of every context of the log and the experiment
    fresh: pa.Table
    value: FloatArray  # (k,)
    fresh_ids: tuple[str, ...]
    fresh_q: FloatArray  # (n, k) expected outcome on the fresh contexts, averaged over user types

    def first_rows(self, rows_per_model: int) -> pa.Table:
        """An experiment of this average size."""
        return self.experiment.slice(0, rows_per_model * len(self.models))


@dataclass(frozen=True, slots=True)
class PreparedGrid:
    """A grid with its simulated users and router."""

    plan: GridPlan
    grid: Grid
    environment: Environment

    def draw(self, seed: int) -> GridStudy:
        """One study of the laboratory, as tables."""
        from deconfound_bench.cached.draws import HELD_OUT_SHARE, draw_experiment, draw_log, split_contexts
        from deconfound_bench.results import Cell

        models, environment = self.grid.models, self.environment
        split = split_contexts(environment.n_contexts, HELD_OUT_SHARE, seed)
        rows = max(ROWS_PER_MODEL) * len(models)
        cell = Cell(CONFOUNDING, LOG_ROWS, rows, self.plan.reward)
        target = environment.target(self.plan.reward)
        return GridStudy(
            models,
            self._used(draw_log(environment, cell, split.train, LOG_ROWS, seed), self.plan.labels),
            self._used(draw_experiment(environment, self.plan.reward, split.train, rows, seed), ()),
            self._replayed(split.train),
            self._replayed(split.test),
            target.mean(axis=0),
            tuple(self.grid.context_ids[context] for context in split.test),
            target[split.test],
        )

    def _used(self, rows: SampledRows, labels: Sequence[str]) -> pa.Table:
        label = {f"label_{name}": self.grid.components[name][rows.context, rows.model] for name in labels}
        return pa.table({**self._texts(rows.context, rows.model), "outcome": rows.outcome, **label})

    def _replayed(self, contexts: IntArray) -> pa.Table:
        count = len(self.grid.models)
        return pa.table(self._texts(np.repeat(contexts, count), np.tile(np.arange(count), len(contexts))))

    def _texts(self, context: IntArray, model: IntArray) -> dict[str, list[str]]:
        grid, cells = self.grid, list(zip(context.tolist(), model.tolist(), strict=True))
        return {
            "context_id": [grid.context_ids[c] for c, _ in cells],
            "context": [grid.contexts[c] for c, _ in cells],
            "model": [grid.models[m] for _, m in cells],
            "output": [grid.outputs[c][m] for c, m in cells],
        }


def prepare_grid(folder: Path) -> PreparedGrid:
    """Read the part of a grid that its plan uses, and simulate users and router around it."""
    from deconfound_bench.tasks import instructions, summarization
    from deconfound_bench.tasks.coding import spec as coding

    read, environment = {
        "summarization": (summarization.read_judged_grid, summarization.summarization_environment),
        "coding": (coding.read_coding_grid, coding.coding_environment),
        "instructions": (instructions.read_instructions_grid, instructions.instructions_environment),
    }[PLANS[folder.name].task]
    plan = PLANS[folder.name]
    whole = read(folder)
    rng = np.random.default_rng(CONTEXT_SEED)
    contexts = np.sort(rng.permutation(len(whole.contexts))[: plan.contexts])
    grid = select_part(whole, contexts, evenly_spaced(len(whole.models), plan.models))
    return PreparedGrid(plan, grid, environment(grid))


def evenly_spaced(available: int, count: int) -> IntArray:
    """Positions of ``count`` of the available models, with the first and the last; all if there are not more."""
    return np.round(np.linspace(0, available - 1, min(count, available))).astype(np.int64)


def select_part(grid: Grid, contexts: IntArray, models: IntArray) -> Grid:
    """The grid with these contexts and models only."""
    return replace(
        grid,
        context_ids=tuple(grid.context_ids[c] for c in contexts),
        contexts=tuple(grid.contexts[c] for c in contexts),
        models=tuple(grid.models[m] for m in models),
        outputs=tuple(tuple(grid.outputs[c][m] for m in models) for c in contexts),
        components={name: values[np.ix_(contexts, models)] for name, values in grid.components.items()},
        context_columns={name: tuple(texts[c] for c in contexts) for name, texts in grid.context_columns.items()},
        digest="",
    )


def write_study(study: GridStudy, folder: Path) -> None:
    """Store a study; the truth is written last, so that a folder with a truth is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        pq.write_table(getattr(study, name), folder / f"{name}.parquet", compression="zstd")
    truth = {
        "models": study.models,
        "value": study.value.tolist(),
        "fresh_ids": study.fresh_ids,
        "fresh_q": study.fresh_q.tolist(),
    }
    (folder / TRUTH).write_text(json.dumps(truth), encoding="utf-8")


def read_study(folder: Path) -> GridStudy:
    """The study that ``write_study`` stored."""
    truth: dict[str, Any] = json.loads((folder / TRUTH).read_text(encoding="utf-8"))
    log, experiment, replay, fresh = (pq.read_table(folder / f"{name}.parquet") for name in TABLES)
    value, q = np.array(truth["value"]), np.array(truth["fresh_q"])
    return GridStudy(tuple(truth["models"]), log, experiment, replay, fresh, value, tuple(truth["fresh_ids"]), q)


def study_source(data: Path, stored: Path | None) -> Callable[[str, int], GridStudy]:
    """A study by grid and seed: stored, or else drawn by the laboratory."""
    if stored is not None:
        return lambda grid, seed: read_study(study_folder(stored, grid, seed))
    prepared = cache(lambda grid: prepare_grid(data / grid))
    return lambda grid, seed: prepared(grid).draw(seed)


def study_folder(stored: Path, grid: str, seed: int) -> Path:
    """The folder of one stored study."""
    return stored / grid / str(seed)


def absent_source(data: Path, stored: Path | None, grids: Sequence[str], seeds: Sequence[int]) -> Path | None:
    """The first file or folder that ``study_source`` needs and that does not exist."""
    needed = [data / grid for grid in grids if seeds]
    if stored is not None:
        needed = [study_folder(stored, grid, seed) / TRUTH for seed in seeds for grid in grids]
    return next((path for path in needed if not path.exists()), None)


def covered(interval: FloatArray, truth: FloatArray) -> list[float]:
    """Per model 1 if the interval contains the truth, else 0."""
    return [float(low <= value <= high) for (low, high), value in zip(interval, truth, strict=True)]


def value_measures(name: str, estimate: FloatArray, interval: FloatArray, truth: FloatArray) -> Measures:
    """Squared error, coverage and width; a model without rows in the source has no error."""
    return {
        f"mse_{name}": float(np.nanmean((estimate - truth) ** 2)),
        f"covered_{name}": covered(interval, truth),
        f"width_{name}": float((interval[:, 1] - interval[:, 0]).mean()),
    }


def context_measures(study: GridStudy, recommended: Mapping[str, Any]) -> Measures:
    """Recommendations on the fresh contexts: coverage of the intervals of q and of margins, and clear verdicts.

    ``recommended`` has a ``Recommendation`` by context. A tie for the best is no reason for a clear verdict.
    """
    code, row = {name: at for at, name in enumerate(study.models)}, np.arange(len(study.fresh_ids))
    rows = [recommended[name] for name in study.fresh_ids]
    own, other = (np.array([code[name] for name in names]) for names in _pairs(rows))
    rivals = study.fresh_q.copy()
    rivals[row, own] = -np.inf
    q, rival = study.fresh_q[row, own], study.fresh_q[row, other]
    clear = np.array([one.verdict == "clear" for one in rows])
    return {
        "covered_q": float(np.mean(covered(np.array([(one.low, one.high) for one in rows]), q))),
        "covered_margin": float(
            np.mean(covered(np.array([(one.margin_low, one.margin_high) for one in rows]), q - rival))
        ),
        "clear": float(clear.mean()),
        "clear_wrong": float((clear & (q <= rivals.max(axis=1))).mean()),
    }


def _pairs(rows: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The recommended models and their runners-up."""
    return [one.model for one in rows], [one.runner_up for one in rows]


def regrets(study: GridStudy, chosen: Mapping[str, Sequence[str]]) -> Measures:
    """Mean loss on the fresh contexts against the best model of each, and against the model with the highest value."""
    code = {name: at for at, name in enumerate(study.models)}
    q, rows = study.fresh_q, np.arange(len(study.fresh_ids))
    best, single = q.max(axis=1), q[:, int(study.value.argmax())]
    measures: Measures = {"regret_best_single": float((best - single).mean())}
    for name, models in chosen.items():
        reached = q[rows, [code[model] for model in models]]
        measures[f"regret_{name}"] = float((best - reached).mean())
        measures[f"net_{name}"] = float((single - reached).mean())
    return measures

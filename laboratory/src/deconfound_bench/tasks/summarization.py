"""Summarization: judged summaries of news articles under two reward maps.

    smooth     g_u = sum_k w_uk s_k
    sharpened  g_u = sigmoid( (clip(sum_k wbar_uk s_k - penalty * claims / 20) - center) / scale )
               wbar_uk = w_uk^exponent / sum_l w_ul^exponent

s_k are the judged components. If a grid lacks a component, it is omitted and the other weights are rescaled to sum to
one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from scipy.special import expit

from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem
from deconfound_bench.cached.benchmark import BenchmarkSpec
from deconfound_bench.cached.environment import Environment
from deconfound_bench.cached.observables import context_features, relative_cost, surface_statistics
from deconfound_bench.cached.router import RouterConstants, make_router
from deconfound_bench.grid import Grid, read_grid, with_digest
from deconfound_bench.results import Cell

T = TypeVar("T")
SMOOTH, SHARPENED = "smooth", "sharpened"
COMPONENTS = ("faithfulness", "coverage", "clarity", "conciseness")
CLAIMS_SCALE = 20  # the reward divides the number of unsupported claims by this; grids may count more
CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)
LOG_ROWS = (2_000, 20_000)
MAX_EXPERIMENT_ROWS = 800
HARD_CONTEXTS = 48  # contexts of the paper's benchmark
PROXIES = 16
ROUTER_SEED = 0  # all replications share one router
PROXY_COMPONENTS = {"conciseness": "conciseness_proxy"}  # columns that may replace a judged component
CLAIMS = "unsupported_claims"
MIN_COMPONENTS = 2  # with fewer components users cannot differ


@dataclass(frozen=True, slots=True)
class Segment:
    """A type of user and the weights of the components, in the order of ``COMPONENTS``."""

    name: str
    weights: tuple[float, ...]


SEGMENTS = (
    Segment("editor", (0.55, 0.20, 0.15, 0.10)),
    Segment("researcher", (0.20, 0.55, 0.15, 0.10)),
    Segment("reader", (0.15, 0.20, 0.50, 0.15)),
    Segment("commuter", (0.15, 0.15, 0.15, 0.55)),
)


@dataclass(frozen=True, slots=True)
class Sharpening:
    """The paper's constants of the sharpened map; the field names are stored with the results."""

    exponent: float = 16.0
    claims_penalty: float = 0.1
    center: float = 0.9
    scale: float = 0.02


PAPER_SHARPENING = Sharpening()


def main_cells() -> tuple[Cell, ...]:
    """The paper's 48 settings."""
    return _cells((20, 200), (SMOOTH, SHARPENED))


def winner_map_cells() -> tuple[Cell, ...]:
    """The 24 settings of the winner map and of the grounded variants."""
    return _cells((20, 100), (SMOOTH,))


def value_cells() -> tuple[Cell, ...]:
    """The settings in which direct and doubly robust values are compared."""
    return tuple(cell for cell in _cells((100, 200, 800), (SMOOTH,)) if cell.n_log == LOG_ROWS[-1])


def _cells(experiment_rows: tuple[int, ...], rewards: tuple[str, ...]) -> tuple[Cell, ...]:
    return tuple(
        Cell(confounding, log, experiment, reward)
        for confounding in CONFOUNDINGS
        for log in LOG_ROWS
        for experiment in experiment_rows
        for reward in rewards
    )


def summarization_spec(grid: Grid, contexts: int | None) -> BenchmarkSpec:
    """The benchmark on this grid, on its ``contexts`` hardest contexts or on all (None)."""
    present = available_components(grid)
    constants = {
        "components": [_column(grid, name) for name in present],
        "left_out": [name for name in COMPONENTS if name not in present],
        "claims": CLAIMS in grid.components,
        "contexts": contexts,
        "segments": {segment.name: segment.weights for segment in SEGMENTS},
        "sharpening": asdict(PAPER_SHARPENING),
        "routing": asdict(RouterConstants()),
        "router_seed": ROUTER_SEED,
    }
    return BenchmarkSpec(
        name=f"summarization-{grid.name}",
        read=partial(read_hardest_contexts, contexts=contexts),
        environment=summarization_environment,
        constants=json.dumps(constants),
        proxies=PROXIES,
        max_log_rows=LOG_ROWS[-1],
        max_experiment_rows=MAX_EXPERIMENT_ROWS,
    )


def available_components(grid: Grid) -> tuple[str, ...]:
    """The components of the rubric that the grid has, judged or as a proxy."""
    present = tuple(name for name in COMPONENTS if _column(grid, name) in grid.components)
    if len(present) < MIN_COMPONENTS:
        what = f"the components are {', '.join(grid.components) or 'none'}"
        fix = f"The summarization benchmark needs at least {MIN_COMPONENTS} of {', '.join(COMPONENTS)}, each in [0, 1]."
        raise DataError([Problem(grid.name, what, fix)])
    return present


def grid_notes(grid: Grid) -> tuple[str, ...]:
    """How this grid's components differ from the rubric, one sentence each."""
    present = available_components(grid)
    notes = [f"{PROXY_COMPONENTS[name]} is used in place of {name}." for name in present if _column(grid, name) != name]
    notes += [
        f"{name} is not judged; the other weights are rescaled to sum to one."
        for name in COMPONENTS
        if name not in present
    ]
    if CLAIMS not in grid.components:
        notes.append(f"{CLAIMS} is missing, so the sharpened map does not penalize unsupported claims.")
    return tuple(notes)


def component_scores(grid: Grid) -> FloatArray:
    """Scores (contexts, models, components) of the available components."""
    return np.stack([grid.components[_column(grid, name)] for name in available_components(grid)], axis=2)


def _column(grid: Grid, name: str) -> str:
    return name if name in grid.components else PROXY_COMPONENTS.get(name, name)


def read_judged_grid(path: Path) -> Grid:
    """Read a grid whose components are complete and in [0, 1], and whose claims, if counted, are not negative."""
    grid = read_grid(path)
    bounds = dict.fromkeys((_column(grid, name) for name in available_components(grid)), (0.0, 1.0))
    if CLAIMS in grid.components:
        bounds[CLAIMS] = (0.0, np.inf)
    return read_grid(path, required=tuple(bounds), bounds=bounds)


def read_hardest_contexts(path: Path, contexts: int | None) -> Grid:
    """Read the grid and select its hardest contexts: those whose summaries have the lowest mean scores."""
    grid = read_judged_grid(path)
    if contexts is None or contexts >= len(grid.contexts):
        return grid
    mean_score = component_scores(grid).mean(axis=(1, 2))
    return _select_contexts(grid, np.sort(np.argsort(mean_score, kind="stable")[:contexts]))


def _select_contexts(grid: Grid, contexts: IntArray) -> Grid:
    def select(values: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(values[context] for context in contexts)

    return with_digest(
        replace(
            grid,
            context_ids=select(grid.context_ids),
            contexts=select(grid.contexts),
            outputs=select(grid.outputs),
            components={name: values[contexts] for name, values in grid.components.items()},
            context_columns={name: select(texts) for name, texts in grid.context_columns.items()},
            omissions=(*grid.omissions, f"The {len(contexts)} hardest of {len(grid.contexts)} contexts are used."),
        )
    )


def summarization_environment(grid: Grid) -> Environment:
    """Users, expected outcomes and router."""
    scores, weights = component_scores(grid), segment_weights(available_components(grid))
    claims = grid.components.get(CLAIMS, np.zeros(scores.shape[:2]))
    expected = {SMOOTH: smooth_reward(scores, weights), SHARPENED: sharpened_reward(scores, claims, weights)}
    router = make_router(
        context_features(grid.contexts), relative_cost(grid), len(SEGMENTS), RouterConstants(), ROUTER_SEED
    )
    return Environment(grid.models, expected, scores, surface_statistics(grid), router)


def segment_weights(present: tuple[str, ...]) -> FloatArray:
    """Weights (segments, components) of the available components, rescaled to sum to one."""
    columns = [COMPONENTS.index(name) for name in present]
    table = np.array([segment.weights for segment in SEGMENTS])[:, columns]
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def smooth_reward(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Expected outcome (..., segments) of component scores (..., components): their weighted mean."""
    return np.asarray(scores @ weights.T)


def sharpened_reward(
    scores: FloatArray, claims: FloatArray, weights: FloatArray, constants: Sharpening = PAPER_SHARPENING
) -> FloatArray:
    """Expected outcome that is high only if the components a segment values most are nearly perfect."""
    sharpened = weights**constants.exponent
    level = scores @ (sharpened / sharpened.sum(axis=1, keepdims=True)).T
    level = level - constants.claims_penalty * claims[..., None] / CLAIMS_SCALE
    return np.asarray(expit((np.clip(level, 0.0, 1.0) - constants.center) / constants.scale))

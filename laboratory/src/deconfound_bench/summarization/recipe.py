"""A summarization grid as a benchmark: its users, its hard articles, its router, its cells."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem
from deconfound_bench.cached.benchmark import Recipe
from deconfound_bench.cached.router import Routing, make_router
from deconfound_bench.cached.seen import context_features, lengths, surface_statistics
from deconfound_bench.cached.world import World
from deconfound_bench.grid import Grid, read_grid, signed
from deconfound_bench.results import Cell
from deconfound_bench.summarization.rewards import (
    COMPONENTS,
    SEGMENTS,
    SHARPENED,
    SMOOTH,
    Sharpening,
    sharpened,
    smooth,
    weights,
)

T = TypeVar("T")
CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)
LOG_ROWS = (2_000, 20_000)
HARD = 48  # contexts of the paper's benchmark
PROXIES = 16
SEED = 0  # of the router, which all replicates share
STAND_INS = {"conciseness": "conciseness_proxy"}  # what a grid may have in place of a judged component
CLAIMS = "unsupported_claims"
LEAST = 2  # components without which there is nothing to trade off


def main_cells() -> tuple[Cell, ...]:
    """The paper's 48 settings."""
    return _cells((20, 200), (SMOOTH, SHARPENED))


def map_cells() -> tuple[Cell, ...]:
    """The 24 settings of the winner map and of the grounded variants."""
    return _cells((20, 100), (SMOOTH,))


def value_cells() -> tuple[Cell, ...]:
    """The settings in which direct and doubly robust values are compared."""
    return tuple(cell for cell in _cells((100, 200, 800), (SMOOTH,)) if cell.n_log == LOG_ROWS[-1])


def _cells(sizes: tuple[int, ...], rewards: tuple[str, ...]) -> tuple[Cell, ...]:
    return tuple(
        Cell(confounding, log, experiment, reward)
        for confounding in CONFOUNDINGS
        for log in LOG_ROWS
        for experiment in sizes
        for reward in rewards
    )


def summarization(grid: Grid, contexts: int | None) -> Recipe:
    """The benchmark on this grid, on so many of its hardest contexts or on all."""
    present = components(grid)
    numbers = {
        "components": [_column(grid, name) for name in present],
        "left_out": [name for name in COMPONENTS if name not in present],
        "claims": CLAIMS in grid.components,
        "contexts": contexts,
        "segments": {segment.name: segment.weights for segment in SEGMENTS},
        "sharpening": asdict(Sharpening()),
        "routing": asdict(Routing()),
        "router_seed": SEED,
    }
    return Recipe(
        name=f"summarization-{grid.name}",
        read=partial(read_hard, contexts=contexts),
        world=make_world,
        numbers=json.dumps(numbers),
        proxies=PROXIES,
        longest_log=LOG_ROWS[-1],
        longest_experiment=800,
    )


def components(grid: Grid) -> tuple[str, ...]:
    """Components of the rubric that the grid has, judged or by a stand-in."""
    present = tuple(name for name in COMPONENTS if _column(grid, name) in grid.components)
    if len(present) < LEAST:
        what = f"the components are {', '.join(grid.components) or 'none'}"
        fix = f"The summarization benchmark needs at least {LEAST} of {', '.join(COMPONENTS)}, each in [0, 1]."
        raise DataError([Problem(grid.name, what, fix)])
    return present


def about(grid: Grid) -> tuple[str, ...]:
    """What a reader must know of this grid's components."""
    present = components(grid)
    told = [f"{STAND_INS[name]} stands in for {name}." for name in present if _column(grid, name) != name]
    told += [
        f"{name} is not judged; the other weights are scaled up to sum to one."
        for name in COMPONENTS
        if name not in present
    ]
    if CLAIMS not in grid.components:
        told.append(f"{CLAIMS} is not counted, so the sharpened map has no penalty for them.")
    return tuple(told)


def scores(grid: Grid) -> FloatArray:
    """Judged components (contexts, models, components) in the order of ``components``."""
    return np.stack([grid.components[_column(grid, name)] for name in components(grid)], axis=2)


def read_judged(path: Path) -> Grid:
    """A grid that knows its judged components everywhere, in [0, 1], and its claims if it counts any."""
    found = read_grid(path)
    within = dict.fromkeys((_column(found, name) for name in components(found)), (0.0, 1.0))
    if CLAIMS in found.components:
        within[CLAIMS] = (0.0, np.inf)
    return read_grid(path, needed=tuple(within), within=within)


def read_hard(path: Path, contexts: int | None) -> Grid:
    """The grid, cut to its hardest contexts: those whose summaries are judged worst on average."""
    grid = read_judged(path)
    if contexts is None or contexts >= len(grid.contexts):
        return grid
    judged = scores(grid).mean(axis=(1, 2))
    return _only(grid, np.sort(np.argsort(judged, kind="stable")[:contexts]))


def _only(grid: Grid, contexts: IntArray) -> Grid:
    def kept(texts: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(texts[at] for at in contexts)

    return signed(
        replace(
            grid,
            context_ids=kept(grid.context_ids),
            contexts=kept(grid.contexts),
            outputs=kept(grid.outputs),
            components={name: values[contexts] for name, values in grid.components.items()},
            extras={name: kept(texts) for name, texts in grid.extras.items()},
            dropped=(*grid.dropped, f"The {len(contexts)} hardest of {len(grid.contexts)} contexts are used."),
        )
    )


def make_world(grid: Grid) -> World:
    """Users, liking and router."""
    judged, weight = scores(grid), weights(components(grid))
    claims = grid.components.get(CLAIMS, np.zeros(judged.shape[:2]))
    liking = {SMOOTH: smooth(judged, weight), SHARPENED: sharpened(judged, claims, weight)}
    router = make_router(context_features(grid.contexts), lengths(grid), len(SEGMENTS), Routing(), SEED)
    return World(grid.models, liking, judged, surface_statistics(grid), router)


def _column(grid: Grid, name: str) -> str:
    return name if name in grid.components else STAND_INS.get(name, name)

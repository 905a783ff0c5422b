"""A grid of patches as a benchmark: reward definitions, users, router, cells."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.cached.benchmark import Recipe
from deconfound_bench.cached.router import Routing, make_router
from deconfound_bench.cached.seen import context_features, lengths
from deconfound_bench.cached.world import World
from deconfound_bench.coding.components import BLOCKS, GAPS, STATISTICS, TYPICAL_LINES
from deconfound_bench.coding.components import components as judge
from deconfound_bench.coding.components import statistics as describe
from deconfound_bench.coding.utility import REWARDS, USERS, utility
from deconfound_bench.grid import Grid, read_grid
from deconfound_bench.results import Cell

CONFOUNDING = 0.5
LOG_ROWS, EXPERIMENT_ROWS = 2_000, 100
PRECISION = 64.0
PROXIES = 16
SEED = 0  # of the router, which all replicates share
SUCCESS = "resolved"


def coding_cells() -> tuple[Cell, ...]:
    """The 5 x 5 definitions of the reward at one budget."""
    return tuple(Cell(CONFOUNDING, LOG_ROWS, EXPERIMENT_ROWS, reward.name) for reward in REWARDS)


def coding(grid: Grid) -> Recipe:
    """The benchmark on this grid."""
    numbers = {
        "users": {user.name: user.weights for user in USERS},
        "precision": PRECISION,
        "statistics": STATISTICS,
        "typical_lines": TYPICAL_LINES,
        "blocks": BLOCKS,
        "gaps": GAPS,
        "router_seed": SEED,
        "routing": asdict(Routing()),
    }
    return Recipe(
        name=f"coding-{grid.name}",
        read=read_patches,
        world=make_world,
        numbers=json.dumps(numbers),
        proxies=PROXIES,
        longest_log=LOG_ROWS,
        longest_experiment=EXPERIMENT_ROWS,
    )


def read_patches(path: Path) -> Grid:
    """A grid that knows which patches resolve their issue."""
    return read_grid(path, needed=[SUCCESS], within={SUCCESS: (0.0, 1.0)})


def components(grid: Grid) -> FloatArray:
    """c1 to c4 (contexts, models, 4) of every patch."""
    quality = [[judge(issue, patch) for patch in row] for issue, row in zip(grid.contexts, grid.outputs, strict=True)]
    return np.concatenate([grid.components[SUCCESS][..., None], np.array(quality)], axis=2)


def statistics(grid: Grid) -> FloatArray:
    """Auxiliary statistics (contexts, models, s) of every patch."""
    return np.array(
        [[describe(issue, patch) for patch in row] for issue, row in zip(grid.contexts, grid.outputs, strict=True)]
    )


def make_world(grid: Grid) -> World:
    """Users, liking under every definition, and router."""
    judged = components(grid)
    liking = {reward.name: utility(judged, reward) for reward in REWARDS}
    router = make_router(context_features(grid.contexts), lengths(grid), len(USERS), Routing(), SEED)
    return World(grid.models, liking, judged, statistics(grid), router, PRECISION)

"""A grid of patches as a benchmark: components, users, router and cells."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.cached.benchmark import BenchmarkSpec
from deconfound_bench.cached.environment import Environment
from deconfound_bench.cached.observables import context_features, relative_cost
from deconfound_bench.cached.router import RouterConstants, make_router
from deconfound_bench.grid import Grid, read_grid
from deconfound_bench.results import Cell
from deconfound_bench.tasks.coding.components import (
    BLOCK_SCALE,
    GAP_SCALE,
    STATISTICS,
    TYPICAL_LINES,
    describe_patch,
    judge_patch,
)
from deconfound_bench.tasks.coding.utility import REWARDS, USERS, utility

CONFOUNDING = 0.5
LOG_ROWS, EXPERIMENT_ROWS = 2_000, 100
PRECISION = 64.0  # of the beta distribution of outcomes
PROXIES = 16
ROUTER_SEED = 0  # all replications share one router
SUCCESS = "resolved"  # the component of fix success


def coding_cells() -> tuple[Cell, ...]:
    """The 5 x 5 reward definitions at one budget."""
    return tuple(Cell(CONFOUNDING, LOG_ROWS, EXPERIMENT_ROWS, reward.name) for reward in REWARDS)


def coding_spec(grid: Grid) -> BenchmarkSpec:
    """The benchmark on this grid."""
    constants = {
        "users": {user.name: user.weights for user in USERS},
        "precision": PRECISION,
        "statistics": STATISTICS,
        "typical_lines": TYPICAL_LINES,
        "blocks": BLOCK_SCALE,
        "gaps": GAP_SCALE,
        "router_seed": ROUTER_SEED,
        "routing": asdict(RouterConstants()),
    }
    return BenchmarkSpec(
        name=f"coding-{grid.name}",
        read=read_coding_grid,
        environment=coding_environment,
        constants=json.dumps(constants),
        proxies=PROXIES,
        max_log_rows=LOG_ROWS,
        max_experiment_rows=EXPERIMENT_ROWS,
    )


def read_coding_grid(path: Path) -> Grid:
    """Read a grid that records which patches resolve their issue."""
    return read_grid(path, required=[SUCCESS], bounds={SUCCESS: (0.0, 1.0)})


def coding_environment(grid: Grid) -> Environment:
    """Users, expected outcomes under every reward definition, and router."""
    components = patch_components(grid)
    expected = {reward.name: utility(components, reward) for reward in REWARDS}
    router = make_router(
        context_features(grid.contexts), relative_cost(grid), len(USERS), RouterConstants(), ROUTER_SEED
    )
    return Environment(grid.models, expected, components, patch_statistics(grid), router, PRECISION)


def patch_components(grid: Grid) -> FloatArray:
    """c1 to c4 (contexts, models, 4) of every patch."""
    quality = [
        [judge_patch(issue, patch) for patch in row] for issue, row in zip(grid.contexts, grid.outputs, strict=True)
    ]
    return np.concatenate([grid.components[SUCCESS][..., None], np.array(quality)], axis=2)


def patch_statistics(grid: Grid) -> FloatArray:
    """Auxiliary statistics (contexts, models, s) of every patch."""
    return np.array(
        [
            [describe_patch(issue, patch) for patch in row]
            for issue, row in zip(grid.contexts, grid.outputs, strict=True)
        ]
    )

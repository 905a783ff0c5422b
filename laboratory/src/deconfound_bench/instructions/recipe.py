"""A grid of instructions and answers as a benchmark."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from deconfound_bench.cached.benchmark import Recipe
from deconfound_bench.cached.router import Routing, make_router
from deconfound_bench.cached.seen import context_features, lengths, surface_statistics
from deconfound_bench.cached.world import World
from deconfound_bench.grid import Grid, read_grid
from deconfound_bench.instructions.rewards import HALF_MARKS, HALF_WORDS, USERS, components, liking
from deconfound_bench.results import Cell

CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)
LOG_ROWS, EXPERIMENT_ROWS = (2_000, 20_000), (20, 100)
PROXIES = 16
SEED = 0  # of the router, which all replicates share
REWARD = "liking"


def instruction_cells() -> tuple[Cell, ...]:
    """The budgets and confoundings of the controlled validation."""
    return tuple(
        Cell(confounding, log, experiment, REWARD)
        for confounding in CONFOUNDINGS
        for log in LOG_ROWS
        for experiment in EXPERIMENT_ROWS
    )


def instructions(grid: Grid) -> Recipe:
    """The benchmark on this grid."""
    numbers = {
        "users": {user.name: user.weights for user in USERS},
        "half_words": HALF_WORDS,
        "half_marks": HALF_MARKS,
        "routing": asdict(Routing()),
        "router_seed": SEED,
    }
    return Recipe(
        name=f"instructions-{grid.name}",
        read=read_answers,
        world=make_world,
        numbers=json.dumps(numbers),
        proxies=PROXIES,
        longest_log=LOG_ROWS[-1],
        longest_experiment=EXPERIMENT_ROWS[-1],
    )


def read_answers(path: Path) -> Grid:
    """A grid whose answers were compared with a reference."""
    return read_grid(path, needed=["preference"], within={"preference": (0.0, 1.0)})


def make_world(grid: Grid) -> World:
    """Users, liking and router."""
    router = make_router(context_features(grid.contexts), lengths(grid), len(USERS), Routing(), SEED)
    judged = components(grid)
    return World(grid.models, {REWARD: liking(judged)}, judged, surface_statistics(grid), router)

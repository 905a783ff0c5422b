"""Instructions: answers of chat models, valued for judged quality, brevity and structure.

brevity    HALF_WORDS / (HALF_WORDS + words)
structure  marks / (marks + HALF_MARKS), marks: list items, headings, table rows, code fences
outcome    w_u1 preference + w_u2 brevity + w_u3 structure
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray
from deconfound.words.word_splitting import tokenize
from deconfound_bench.cached.benchmark import BenchmarkSpec
from deconfound_bench.cached.environment import Environment
from deconfound_bench.cached.observables import context_features, relative_cost, surface_statistics
from deconfound_bench.cached.router import RouterConstants, make_router
from deconfound_bench.grid import Grid, read_grid
from deconfound_bench.results import Cell

CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)
LOG_ROWS, EXPERIMENT_ROWS = (2_000, 20_000), (20, 100)
PROXIES = 16
ROUTER_SEED = 0  # all replications share one router
REWARD = "liking"  # value of the reward column

HALF_WORDS = 200  # words at which brevity is one half: about one screen of text
HALF_MARKS = 6  # marks at which structure is one half: a list of ordinary length
MARK = re.compile(r"^[^\S\n]*(?:[-*\u2022+]\s+|\d{1,3}[.)]\s+|#{1,6}\s+|\||```)", re.MULTILINE)
COMPONENTS = ("preference", "brevity", "structure")


@dataclass(frozen=True, slots=True)
class ChatUser:
    """A type of user and the weights of the components, in the order of ``COMPONENTS``."""

    name: str
    weights: tuple[float, ...]


USERS = (
    ChatUser("judge", (0.8, 0.1, 0.1)),
    ChatUser("hurried", (0.4, 0.5, 0.1)),
    ChatUser("organiser", (0.4, 0.1, 0.5)),
    ChatUser("everybody", (0.5, 0.25, 0.25)),
)


def instruction_cells() -> tuple[Cell, ...]:
    """The budgets and confoundings of the controlled validation."""
    return tuple(
        Cell(confounding, log, experiment, REWARD)
        for confounding in CONFOUNDINGS
        for log in LOG_ROWS
        for experiment in EXPERIMENT_ROWS
    )


def instructions_spec(grid: Grid) -> BenchmarkSpec:
    """The benchmark on this grid."""
    constants = {
        "users": {user.name: user.weights for user in USERS},
        "half_words": HALF_WORDS,
        "half_marks": HALF_MARKS,
        "routing": asdict(RouterConstants()),
        "router_seed": ROUTER_SEED,
    }
    return BenchmarkSpec(
        name=f"instructions-{grid.name}",
        read=read_instructions_grid,
        environment=instructions_environment,
        constants=json.dumps(constants),
        proxies=PROXIES,
        max_log_rows=LOG_ROWS[-1],
        max_experiment_rows=EXPERIMENT_ROWS[-1],
    )


def read_instructions_grid(path: Path) -> Grid:
    """Read a grid whose answers were compared with a reference answer."""
    return read_grid(path, required=["preference"], bounds={"preference": (0.0, 1.0)})


def instructions_environment(grid: Grid) -> Environment:
    """Users, expected outcomes and router."""
    router = make_router(
        context_features(grid.contexts), relative_cost(grid), len(USERS), RouterConstants(), ROUTER_SEED
    )
    components = answer_components(grid)
    expected = {REWARD: expected_outcome(components)}
    return Environment(grid.models, expected, components, surface_statistics(grid), router)


def answer_components(grid: Grid) -> FloatArray:
    """Components (contexts, models, 3) of every answer."""
    brief = np.array([[brevity(output) for output in row] for row in grid.outputs])
    structured = np.array([[structure(output) for output in row] for row in grid.outputs])
    return np.stack([grid.components["preference"], brief, structured], axis=2)


def brevity(output: str) -> float:
    """One for an empty output, one half at ``HALF_WORDS`` words."""
    return HALF_WORDS / (HALF_WORDS + len(tokenize(output)))


def structure(output: str) -> float:
    """Zero for plain prose, one half at ``HALF_MARKS`` structural marks."""
    marks = len(MARK.findall(output))
    return marks / (marks + HALF_MARKS)


def expected_outcome(components: FloatArray) -> FloatArray:
    """Expected outcome (..., users) of components (..., 3)."""
    return np.asarray(components @ np.array([user.weights for user in USERS]).T)

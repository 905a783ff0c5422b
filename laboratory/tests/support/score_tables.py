"""Worlds in which all that the paper says is so, one for each benchmark, as scores and fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from deconfound_bench.cached.alignment import Aligned
from deconfound_bench.coding.recipe import coding_cells
from deconfound_bench.coding.utility import REWARDS
from deconfound_bench.instructions.recipe import instruction_cells
from deconfound_bench.results import Cell, Choice, Score
from deconfound_bench.summarization.recipe import main_cells, map_cells, value_cells

from deconfound.evaluation import PAPER_FAMILY_NAMES

Figure = Callable[[Cell, str], float]
"""A number for a family in a cell."""

SEEDS = range(8)
FEW_SEEDS = range(4)
EIGHT = (*PAPER_FAMILY_NAMES, "grounded-linear", "grounded-anchor")
MAIN, MAP, VALUE = set(main_cells()), set(map_cells()), set(value_cells())
SUMMARIES = tuple(sorted(MAIN | MAP | VALUE))
CODING = {reward.name: reward for reward in REWARDS}


def regret_of(cell: Cell, family: str) -> float:
    """A world in which all that the paper says is so."""
    if family == "exp-only":
        return 0.2 - 0.0008 * cell.n_experiment
    if family == "obs-only":
        return 0.13 + 0.03 * cell.confounding
    if family == "cvci":
        return 0.125 if cell.n_experiment == 20 else 0.13
    return 0.16


def make(
    cells: Iterable[Cell],
    families: Sequence[str],
    name: str,
    regret: Figure = regret_of,
    dr: float = 0.05,
    seeds: Sequence[int] = SEEDS,
) -> tuple[Score, ...]:
    """Scores with that regret and a little noise; doubly robust values are off by ``dr`` more than direct ones."""
    rng = np.random.default_rng(0)
    noise = {seed: rng.normal(0, 0.01) for seed in seeds}
    return tuple(
        Score(
            name,
            cell,
            seed,
            family,
            regret=regret(cell, family) + noise[seed] + rng.normal(0, 0.0005),
            rmse_context=0.2,
            rmse_model_direct=0.05 + rng.normal(0, 0.001),
            rmse_model_dr=0.05 + dr + rng.normal(0, 0.001),
            top1=0.0,
            top3=1 / 3,
            seconds=1.0,
            choice=Choice(penalty=1.0, mode="fixed"),
        )
        for cell in cells
        for seed in seeds
        for family in families
    )


def summary_regret(cell: Cell, family: str) -> float:
    """A world in which all that the paper says of summaries is so."""
    few, long, sharp = cell.n_experiment == 20, cell.n_log == 20_000, 0.03 * (cell.reward == "sharpened")
    if family == "cvci":
        return 0.05 + sharp
    if family == "exp-only":
        return (0.06 if few else 0.045 if cell.n_experiment == 100 else 0.049) + sharp
    if family == "obs-only":
        return 0.051 - 0.0005 * long + sharp
    if family == "representation-exp":
        return (0.09 if few else 0.06) + sharp
    return {"grounded": 0.055, "grounded-anchor": 0.056, "grounded-linear": 0.06}.get(family, 0.07) + sharp


def value_gap(cell: Cell, family: str) -> float:
    """DR minus direct, as the paper says."""
    if family == "cvci":
        return 0.02 if cell.n_experiment < 800 else -0.02
    return -0.01 if family == "obs-only" else 0.03


def with_values(scores: Iterable[Score], gap: Figure) -> tuple[Score, ...]:
    """The same scores with doubly robust values that are off by that much more than direct ones."""
    return tuple(replace(one, rmse_model_dr=one.rmse_model_direct + gap(one.cell, one.family)) for one in scores)


@cache
def summaries(
    regret: Figure = summary_regret,
    gap: Figure = value_gap,
    best: str = "grounded",
    name: str = "summarization-summeval",
) -> tuple[Score, ...]:
    scores = with_values(make(SUMMARIES, EIGHT, name, regret, seeds=FEW_SEEDS), gap)
    return tuple(replace(one, top1=float(one.family == best), top3=float(one.family == best)) for one in scores)


def fits(table: Mapping[tuple[str, str], float], seeds: range = range(12)) -> tuple[Aligned, ...]:
    """Fits by reward and features, with a little noise unless they are perfect."""
    rng = np.random.default_rng(3)
    return tuple(
        Aligned(reward, features, tuple(seeds), tuple(np.minimum(value + rng.normal(0, 0.001, len(seeds)), 1.0)))
        if value < 1
        else Aligned(reward, features, tuple(seeds), (1.0,) * len(seeds))
        for (reward, features), value in table.items()
    )


def summary_fits(proxies: float = 0.16, sharpened: float = 0.78, smooth: float = 1.0) -> tuple[Aligned, ...]:
    names = {"proxies": (proxies, proxies), "judged": (smooth, sharpened), "first judged": (0.5, 0.4)}
    return fits(
        {(reward, name): names[name][at] for at, reward in enumerate(("smooth", "sharpened")) for name in names}
    )


def flat(_cell: Cell, _family: str) -> float:
    return 0.1


def coding_regret(cell: Cell, family: str) -> float:
    """A world in which all that the paper says of patches is so."""
    reward = CODING[cell.reward]
    table = {
        "representation-exp": 0.046 + 0.045 * reward.fix,
        "obs-only": 0.05,
        "cvci": 0.0505,
        "grounded": 0.05 + 0.0495 - 0.037 * reward.weakest,
    }
    return table.get(family, 0.2)


def patches(regret: Figure = coding_regret) -> tuple[Score, ...]:
    return make(coding_cells(), PAPER_FAMILY_NAMES, "coding-swe", regret)


def coding_fits(rise: float = 0.9) -> tuple[Aligned, ...]:
    table = {
        (reward.name, name): {
            "proxies": 0.35 - 0.26 * reward.fix,
            "judged": 1.0,
            "first judged": 0.01 + rise * reward.fix,
        }[name]
        for reward in REWARDS
        for name in ("proxies", "judged", "first judged")
    }
    return fits(table)


def answers(
    regret: Figure = regret_of,
    gap: Figure = lambda _cell, family: -0.02 if family == "obs-only" else 0.05,
) -> tuple[Score, ...]:
    return with_values(make(instruction_cells(), PAPER_FAMILY_NAMES, "instructions-alpacaeval", regret), gap)


def chat_regret(cell: Cell, family: str) -> float:
    """All that is asked of the instructions is so."""
    return 0.12 - 0.0002 * (cell.n_experiment == 20) if family == "cvci" else _chat(cell, family)


def _chat(cell: Cell, family: str) -> float:
    few = cell.n_experiment == 20
    if family in ("exp-only", "representation-exp"):
        return 0.2 if few else 0.11 if family == "exp-only" else 0.15
    return 0.122 + 0.03 * cell.confounding if family == "obs-only" else 0.16

"""Draw logs and experiments from a cached grid; everything that may be paired is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from deconfound.design import FloatArray, IntArray
from deconfound_bench.cached.world import World
from deconfound_bench.results import Cell


@dataclass(frozen=True, slots=True)
class Split:
    """Contexts of one seed: outcomes are drawn on some and the reward is judged on the others."""

    train: IntArray
    test: IntArray


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rows of a log or an experiment."""

    context: IntArray
    model: IntArray
    outcome: FloatArray


def split(contexts: int, share: float, seed: int) -> Split:
    """Hold out a share of the contexts."""
    # Not [seed, 0]: numpy takes it for plain ``seed``, from which the folds are cut.
    order = np.random.default_rng([seed, 3]).permutation(contexts)
    held = max(1, round(share * contexts))
    return Split(np.sort(order[held:]), np.sort(order[:held]))


def draw_log(world: World, cell: Cell, train: IntArray, longest: int, seed: int) -> Drawn:
    """Routed use under the cell's reward and confounding; a shorter log is the start of a longer one."""
    rows, reward = cell.n_log, cell.reward
    rng = np.random.default_rng([seed, 1])
    context = rng.choice(train, size=longest)
    user = rng.integers(world.liking[reward].shape[2], size=longest)
    policy = world.router.probabilities(cell.confounding)[context, user]
    model = world.router.choose(policy, rng)
    outcome = _outcomes(world, reward, context, model, user, rng)
    return Drawn(context[:rows], model[:rows], outcome[:rows])


def draw_experiment(world: World, reward: str, train: IntArray, rows: int, seed: int) -> Drawn:
    """``rows`` of uniform randomization."""
    rng = np.random.default_rng([seed, 2])
    context = rng.choice(train, size=rows)
    user = rng.integers(world.liking[reward].shape[2], size=rows)
    model = rng.integers(len(world.models), size=rows)
    return Drawn(context, model, _outcomes(world, reward, context, model, user, rng))


def _outcomes(
    world: World, reward: str, context: IntArray, model: IntArray, user: IntArray, rng: np.random.Generator
) -> FloatArray:
    liking = world.liking[reward][context, model, user]
    if world.precision is None:
        return liking
    # A beta distribution has no mass to place at the very ends; its mean is kept a hair inside.
    inside = np.clip(liking, 1e-6, 1.0 - 1e-6)
    # By inversion, so that rewards share their luck row by row.
    luck = rng.random(len(liking))
    return np.asarray(betaincinv(inside * world.precision, (1.0 - inside) * world.precision, luck))

"""Experiment plus replay identify the causal value; the log does not. Every probability is enumerated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from deconfound.design import FloatArray, Rows
from deconfound.reward import ExpOnly, ObsOnly
from deconfound.value import direct

SCALE = 1e3  # observations that a whole population represents
FREE = 1e-6  # a penalty that only makes the system solvable


@dataclass(frozen=True)
class World:
    """A discrete causal model over X, U, A, M, Y, every probability written out."""

    x: FloatArray  # (x,)
    u: FloatArray  # (x, u)
    chosen: FloatArray  # (x, u, a) in the log
    drawn: FloatArray  # (x, a) in the experiment
    writes: FloatArray  # (x, u, a, m)
    outcome: FloatArray  # (x, m, u) mean of Y

    def log(self) -> FloatArray:
        """Mass (x, u, a, m) of the log."""
        return np.asarray(np.einsum("x,xu,xua,xuam->xuam", self.x, self.u, self.chosen, self.writes))

    def experiment(self) -> FloatArray:
        """Mass (x, u, a, m) of the experiment."""
        return np.asarray(np.einsum("x,xu,xa,xuam->xuam", self.x, self.u, self.drawn, self.writes))

    def replay(self) -> FloatArray:
        """P(m | x, do(a)) as (x, a, m)."""
        return np.asarray(np.einsum("xu,xuam->xam", self.u, self.writes))

    def truth(self) -> FloatArray:
        """E[Y | x, do(a)] as (x, a)."""
        return np.asarray(np.einsum("xu,xuam,xmu->xa", self.u, self.writes, self.outcome))

    def regression(self, mass: FloatArray) -> FloatArray:
        """E[Y | x, m] as (x, m) under a mass (x, u, a, m)."""
        joint = mass.sum(axis=2)
        return np.asarray(np.einsum("xum,xmu->xm", joint, self.outcome) / joint.sum(axis=1))


def world(seed: int = 0, *, confounded: bool = True, stateless: bool = True) -> World:
    """Users of state u choose the models that suit them; ``stateless`` models do not depend on u (A4)."""
    rng = np.random.default_rng(seed)
    xs, us, models, outputs = 3, 2, 3, 4
    writes = rng.dirichlet(np.full(outputs, 0.5), (xs, us, models))
    if stateless:
        writes = np.repeat(writes[:, :1], us, axis=1)
    outcome = rng.uniform(0.1, 0.6, (xs, outputs, us)) + np.array([0.0, 0.35])
    chosen = rng.dirichlet(np.full(models, 0.3), (xs, us))
    if not confounded:
        chosen = np.repeat(chosen[:, :1], us, axis=1)
    drawn = rng.dirichlet(np.full(models, 3.0), xs)
    return World(rng.dirichlet(np.ones(xs) * 3), rng.dirichlet(np.ones(us) * 3, xs), chosen, drawn, writes, outcome)


@pytest.mark.parametrize("seed", range(5))
def test_the_experiments_regression_averaged_over_replay_is_the_causal_value(seed: int) -> None:
    """E_{M ~ replay(x, a)} r*(x, M) = E[Y | x, do(a)], with declared, context-dependent randomization."""
    it = world(seed)
    q = np.einsum("xam,xm->xa", it.replay(), it.regression(it.experiment()))
    np.testing.assert_allclose(q, it.truth(), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_logs_regression_is_not_causal_when_users_choose_by_their_state(seed: int) -> None:
    it = world(seed)
    q = np.einsum("xam,xm->xa", it.replay(), it.regression(it.log()))
    assert np.abs(q - it.truth()).max() > 0.01
    fair = world(seed, confounded=False)
    q = np.einsum("xam,xm->xa", fair.replay(), fair.regression(fair.log()))
    np.testing.assert_allclose(q, fair.truth(), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_identification_fails_when_the_models_see_the_users_state(seed: int) -> None:
    """Without A4 the output depends on u, and r* mixes the output's effect with that of u."""
    it = world(seed, stateless=False)
    q = np.einsum("xam,xm->xa", it.replay(), it.regression(it.experiment()))
    assert np.abs(q - it.truth()).max() > 0.01


def test_exp_only_and_direct_recover_the_causal_values_of_a_whole_population() -> None:
    """The same theorem through the package: one-hot phi of (x, m), rows weighted by mass, direct over contexts."""
    it = world()
    exact = values_of(ExpOnly(FREE), it)
    np.testing.assert_allclose(exact, it.x @ it.truth(), atol=1e-6)
    assert np.abs(values_of(ObsOnly(FREE), it) - it.x @ it.truth()).max() > 0.01


def values_of(family: Any, it: World) -> FloatArray:
    outputs = it.outcome.shape[1]
    cells = len(it.x) * outputs
    sources = []
    for mass in (it.log(), it.experiment()):
        weight, outcome = mass.sum(axis=(1, 2)).ravel(), it.regression(mass).ravel()
        sources.append(Rows(np.eye(cells), outcome=outcome, weight=SCALE * weight))
    reward = family.fit(*sources).predict(Rows(np.eye(cells))).reshape(len(it.x), outputs)
    q = np.einsum("xam,xm->xa", it.replay(), reward)
    contexts = np.repeat(np.arange(len(it.x)), np.round(it.x * 1e6).astype(int))
    values = direct(["a", "b", "c"], q[contexts]).estimate
    np.testing.assert_allclose(values, it.x @ q, atol=1e-5)
    return np.asarray(it.x @ q)

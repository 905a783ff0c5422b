"""How the log of a cached benchmark chooses its models.

    logit_a(x, u) = <context_a, f(x)> - cost_weight * cost_a + confounding * <affinity_a, u>
    p(a | x, u)   = (1 - mixing) * softmax_a + mixing / models

A decision first draws a slate of a few models, uniformly, and then chooses from it with probabilities proportional to
p: not every model is on offer to everyone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Routing:
    """Constants of the choice."""

    strength: float = 1.0  # standard deviation of the logits that come from the context
    affinity: float = 2.0  # and of those that come from the user, at confounding 1
    cost_weight: float = 0.5
    mixing: float = 0.05
    slate: int = 5


@dataclass(frozen=True, slots=True)
class Router:
    """The fixed part of the choice; confounding says how much of the user's affinity enters."""

    features: FloatArray  # (contexts, f) of the contexts, standardised
    context: FloatArray  # (models, f)
    affinity: FloatArray  # (models, user types)
    cost: FloatArray  # (models,) in [0, 1]
    routing: Routing

    def probabilities(self, confounding: float) -> FloatArray:
        """p(a | x, u) as (contexts, user types, models), before the slate."""
        article = self.features @ self.context.T - self.routing.cost_weight * self.cost
        logits = article[:, None, :] + confounding * self.affinity.T[None, :, :]
        odds = np.exp(logits - logits.max(axis=2, keepdims=True))
        softmax = odds / odds.sum(axis=2, keepdims=True)
        return np.asarray((1.0 - self.routing.mixing) * softmax + self.routing.mixing / softmax.shape[2])

    def choose(self, policy: FloatArray, rng: np.random.Generator) -> IntArray:
        """One model a row of probabilities (n, models): by slate, then from it.

        Luck is drawn for every model whatever the policy, so that two policies on the same generator differ only where
        they would choose differently.
        """
        rows, models = policy.shape
        offered = np.argsort(rng.random((rows, models)), axis=1)[:, : self.routing.slate]
        weight = np.take_along_axis(policy, offered, axis=1)
        running = np.cumsum(weight, axis=1)
        luck = np.asarray(rng.random(rows))[:, None]
        at = np.minimum((running < luck * running[:, -1:]).sum(axis=1), offered.shape[1] - 1)
        return np.asarray(offered[np.arange(rows), at], dtype=np.int64)


def make_router(features: FloatArray, cost: FloatArray, users: int, routing: Routing, seed: int) -> Router:
    """Draw the router's directions for contexts with these features and models with these costs."""
    rng = np.random.default_rng([seed, 11])
    shape = (len(cost), features.shape[1])
    context = routing.strength * rng.standard_normal(shape) / np.sqrt(features.shape[1])
    affinity = routing.affinity * rng.standard_normal((len(cost), users))
    return Router(features, context, affinity, cost, routing)

"""The router that chooses the models of a simulated log.

    logit_a(x, u) = <context_weights_a, f(x)> - cost_weight * cost_a + confounding * <affinity_a, u>
    p(a | x, u)   = (1 - mixing) * softmax_a + mixing / models

Each decision first draws a slate of a few models uniformly, and then chooses among them with probabilities
proportional to p, so that not every model is available in every decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class RouterConstants:
    """Constants of the router; the field names are stored with the results."""

    strength: float = 1.0  # standard deviation of the logits due to the context
    affinity: float = 2.0  # standard deviation of the logits due to the user, at confounding 1
    cost_weight: float = 0.5
    mixing: float = 0.05
    slate: int = 5


@dataclass(frozen=True, slots=True)
class Router:
    """The fixed part of the router; ``confounding`` scales the effect of the user."""

    features: FloatArray  # (contexts, f), standardized
    context_weights: FloatArray  # (models, f)
    affinity: FloatArray  # (models, user types)
    cost: FloatArray  # (models,), in [0, 1]
    constants: RouterConstants

    def probabilities(self, confounding: float) -> FloatArray:
        """p(a | x, u) as (contexts, user types, models), before the slate."""
        by_context = self.features @ self.context_weights.T - self.constants.cost_weight * self.cost
        logits = by_context[:, None, :] + confounding * self.affinity.T[None, :, :]
        odds = np.exp(logits - logits.max(axis=2, keepdims=True))
        softmax = odds / odds.sum(axis=2, keepdims=True)
        return np.asarray((1.0 - self.constants.mixing) * softmax + self.constants.mixing / softmax.shape[2])

    def choose(self, policy: FloatArray, rng: np.random.Generator) -> IntArray:
        """One model per row of probabilities (n, models): draw the slate, then choose from it.

        The number of random draws does not depend on the policy, so two policies with the same generator differ only
        where they lead to different choices.
        """
        rows, models = policy.shape
        slate = np.argsort(rng.random((rows, models)), axis=1)[:, : self.constants.slate]
        weight = np.take_along_axis(policy, slate, axis=1)
        cumulative = np.cumsum(weight, axis=1)
        uniform = np.asarray(rng.random(rows))[:, None]
        position = np.minimum((cumulative < uniform * cumulative[:, -1:]).sum(axis=1), slate.shape[1] - 1)
        return np.asarray(slate[np.arange(rows), position], dtype=np.int64)


def make_router(
    features: FloatArray, cost: FloatArray, user_types: int, constants: RouterConstants, seed: int
) -> Router:
    """Draw the weights of a router for contexts with these features and models with these costs."""
    rng = np.random.default_rng([seed, 11])
    shape = (len(cost), features.shape[1])
    context_weights = constants.strength * rng.standard_normal(shape) / np.sqrt(features.shape[1])
    affinity = constants.affinity * rng.standard_normal((len(cost), user_types))
    return Router(features, context_weights, affinity, cost, constants)

"""How much each kind of user likes a patch.

g_u = (1 - weakest) * sum_k wbar_uk c_k + weakest * min(c2, c3, c4)     k = 2, 3, 4; wbar sums to one
Y_u = w_u1 * fix * c1 + (1 - w_u1) * g_u
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray


@dataclass(frozen=True, slots=True)
class User:
    """A kind of user and what counts for them: fix success, patch size, locality, issue focus."""

    name: str
    weights: tuple[float, float, float, float]


USERS = (
    User("release manager", (0.70, 0.10, 0.10, 0.10)),
    User("reviewer", (0.40, 0.30, 0.20, 0.10)),
    User("maintainer", (0.40, 0.10, 0.30, 0.20)),
    User("reporter", (0.50, 0.10, 0.10, 0.30)),
)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Reward:
    """One definition of the reward: the weight of fix success and that of the weakest link."""

    fix: float
    weakest: float

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"fix{self.fix:g}-weakest{self.weakest:g}"


REWARDS = tuple(Reward(fix, weakest) for fix in WEIGHTS for weakest in WEIGHTS)


def utility(components: FloatArray, reward: Reward) -> FloatArray:
    """Liking (..., users) of components (..., 4)."""
    success, quality = components[..., 0], components[..., 1:]
    weight = np.array([user.weights for user in USERS])
    share = weight[:, 1:] / weight[:, 1:].sum(axis=1, keepdims=True)
    weakest = quality.min(axis=-1)[..., None]
    other = (1.0 - reward.weakest) * (quality @ share.T) + reward.weakest * weakest
    return np.asarray(weight[:, 0] * reward.fix * success[..., None] + (1.0 - weight[:, 0]) * other)

"""The utility of a patch for each type of user.

g_u = (1 - weakest_weight) * sum_k wbar_uk c_k + weakest_weight * min(c2, c3, c4)     k = 2, 3, 4; wbar sums to one
Y_u = w_u1 * fix_weight * c1 + (1 - w_u1) * g_u
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray


@dataclass(frozen=True, slots=True)
class CodingUser:
    """A type of user and the weights of fix success, patch size, locality and issue focus."""

    name: str
    weights: tuple[float, float, float, float]


USERS = (
    CodingUser("release manager", (0.70, 0.10, 0.10, 0.10)),
    CodingUser("reviewer", (0.40, 0.30, 0.20, 0.10)),
    CodingUser("maintainer", (0.40, 0.10, 0.30, 0.20)),
    CodingUser("reporter", (0.50, 0.10, 0.10, 0.30)),
)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class CodingReward:
    """One reward definition: the weight of fix success, and that of the weakest of the other components."""

    fix_weight: float
    weakest_weight: float

    @property
    def name(self) -> str:
        """The value of the reward column."""
        return f"fix{self.fix_weight:g}-weakest{self.weakest_weight:g}"


REWARDS = tuple(CodingReward(fix, weakest) for fix in WEIGHTS for weakest in WEIGHTS)


def utility(components: FloatArray, reward: CodingReward) -> FloatArray:
    """Expected outcome (..., users) of components (..., 4)."""
    success, quality = components[..., 0], components[..., 1:]
    weight = np.array([user.weights for user in USERS])
    quality_weight = weight[:, 1:] / weight[:, 1:].sum(axis=1, keepdims=True)
    weakest = quality.min(axis=-1)[..., None]
    other = (1.0 - reward.weakest_weight) * (quality @ quality_weight.T) + reward.weakest_weight * weakest
    return np.asarray(weight[:, 0] * reward.fix_weight * success[..., None] + (1.0 - weight[:, 0]) * other)

"""Replays whose only feature is the reward itself."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray
from deconfound.features import FeatureBlocks
from deconfound.features.study_arrays import ReplayArrays
from deconfound.reward import RewardFit

SURFACE_SHARE = 1.0  # dense features only
IDENTITY_REWARD = RewardFit(0.0, phi_coef=np.array([1.0]))  # predicts the feature


def replay_of(q: FloatArray, draws: int = 2) -> ReplayArrays:
    """Contexts with rewards q (n, k): one draw of each cell, or two of them 0.01 below and above."""
    contexts, models = q.shape
    rewards = np.stack([q - 0.01, q + 0.01] if draws == 2 else [q]).reshape(-1, 1)
    blocks = FeatureBlocks(np.arange(len(rewards)), None, rewards / np.sqrt(2.0), None)
    context = np.tile(np.repeat(np.arange(contexts), models), draws)
    names = tuple(f"c{i}" for i in range(contexts))
    return ReplayArrays(blocks, names, context, np.tile(np.arange(models), draws * contexts), models)

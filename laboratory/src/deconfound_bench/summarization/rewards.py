"""From judged components to how much each kind of user likes a summary.

    smooth     g_u = sum_k w_uk s_k
    sharpened  g_u = sigmoid( (clip(sum_k wbar_uk s_k - penalty * claims / 20) - centre) / scale )
               wbar_uk = w_uk^exponent / sum_l w_ul^exponent

Components that a grid lacks are left out and the weights scaled up to sum to one again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from deconfound.design import FloatArray
from deconfound_bench.rubric import MOST_CLAIMS, RUBRIC

SMOOTH, SHARPENED = "smooth", "sharpened"
COMPONENTS = tuple(scale.name for scale in RUBRIC)


@dataclass(frozen=True, slots=True)
class Segment:
    """A kind of user and what counts for them, in the order of ``COMPONENTS``."""

    name: str
    weights: tuple[float, ...]


SEGMENTS = (
    Segment("editor", (0.55, 0.20, 0.15, 0.10)),
    Segment("researcher", (0.20, 0.55, 0.15, 0.10)),
    Segment("reader", (0.15, 0.20, 0.50, 0.15)),
    Segment("commuter", (0.15, 0.15, 0.15, 0.55)),
)


@dataclass(frozen=True, slots=True)
class Sharpening:
    """The paper's constants of the sharpened map."""

    exponent: float = 16.0
    claims_penalty: float = 0.1
    centre: float = 0.9
    scale: float = 0.02


PAPER = Sharpening()


def weights(present: tuple[str, ...]) -> FloatArray:
    """Weights (segments, components) over the components that are there."""
    kept = [COMPONENTS.index(name) for name in present]
    table = np.array([segment.weights for segment in SEGMENTS])[:, kept]
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def smooth(scores: FloatArray, weight: FloatArray) -> FloatArray:
    """Liking (..., segments) of judged components (..., components): their weighted mean."""
    return np.asarray(scores @ weight.T)


def sharpened(scores: FloatArray, claims: FloatArray, weight: FloatArray, by: Sharpening = PAPER) -> FloatArray:
    """Liking that asks for near perfection in what matters most to a segment."""
    powered = weight**by.exponent
    level = scores @ (powered / powered.sum(axis=1, keepdims=True)).T
    level = level - by.claims_penalty * claims[..., None] / MOST_CLAIMS
    return np.asarray(expit((np.clip(level, 0.0, 1.0) - by.centre) / by.scale))

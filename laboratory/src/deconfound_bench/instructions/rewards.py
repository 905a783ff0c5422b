"""What users of chat models like: an answer that was judged good, a short one, a well-ordered one.

brevity    HALF_WORDS / (HALF_WORDS + words)
structure  marks / (marks + HALF_MARKS), marks: list items, headings, table rows, code fences
liking     w_u1 preference + w_u2 brevity + w_u3 structure
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.features.tokenize import tokenize
from deconfound_bench.grid import Grid

HALF_WORDS = 200  # words at which brevity is one half: about a screen of text
HALF_MARKS = 6  # marks at which structure is one half: a list of ordinary length
MARKS = re.compile(r"^[^\S\n]*(?:[-*\u2022+]\s+|\d{1,3}[.)]\s+|#{1,6}\s+|\||```)", re.MULTILINE)
COMPONENTS = ("preference", "brevity", "structure")


@dataclass(frozen=True, slots=True)
class User:
    """A kind of user and what counts for them, in the order of ``COMPONENTS``."""

    name: str
    weights: tuple[float, ...]


USERS = (
    User("judge", (0.8, 0.1, 0.1)),
    User("hurried", (0.4, 0.5, 0.1)),
    User("organiser", (0.4, 0.1, 0.5)),
    User("everybody", (0.5, 0.25, 0.25)),
)


def brevity(output: str) -> float:
    """One for silence, one half at ``HALF_WORDS`` words."""
    return HALF_WORDS / (HALF_WORDS + len(tokenize(output)))


def structure(output: str) -> float:
    """Zero for plain prose, one half at ``HALF_MARKS`` list items and the like."""
    marks = len(MARKS.findall(output))
    return marks / (marks + HALF_MARKS)


def components(grid: Grid) -> FloatArray:
    """Components (contexts, models, 3) of every answer."""
    short = np.array([[brevity(output) for output in row] for row in grid.outputs])
    ordered = np.array([[structure(output) for output in row] for row in grid.outputs])
    return np.stack([grid.components["preference"], short, ordered], axis=2)


def liking(scores: FloatArray) -> FloatArray:
    """Liking (..., users) of components (..., 3)."""
    return np.asarray(scores @ np.array([user.weights for user in USERS]).T)

"""The shapes of articles: how each begins, what it goes on with, how it ends."""

from __future__ import annotations

from dataclasses import dataclass

Weights = dict[str, float]


@dataclass(frozen=True, slots=True)
class Structure:
    """One shape: its opening moves, the moves of each third with their weights, and its closing moves.

    ``share`` is how often it occurs, ``length`` the factor on the usual number of words.
    """

    name: str
    share: float
    length: float
    opening: tuple[str, ...]
    phases: tuple[Weights, ...]
    closing: tuple[str, ...]


PYRAMID = Structure(
    "pyramid",
    share=0.30,
    length=1.1,
    opening=("lead",),
    phases=(
        {"fact": 4, "quote": 2, "remark": 0.7, "figure": 1.5},
        {
            "fact": 3,
            "quote": 2.6,
            "remark": 0.9,
            "figure": 1.5,
            "past": 1.2,
            "restate": 0.3,
            "scene": 0.5,
            "aside": 0.5,
        },
        {"past": 2, "fact": 2, "quote": 1.5, "aside": 0.8, "restate": 0.5, "comparison": 0.8},
    ),
    closing=("ahead",),
)
BRIEF = Structure(
    "brief",
    share=0.07,
    length=0.3,
    opening=("lead", "fact"),
    phases=({"fact": 3, "quote": 1.5, "figure": 1.5, "past": 0.7, "restate": 0.4},),
    closing=("ahead",),
)
CHRONICLE = Structure(
    "chronicle",
    share=0.12,
    length=1.1,
    opening=("lead", "past"),
    phases=(
        {"moment": 5, "scene": 1.5, "remark": 0.8, "figure": 0.5},
        {"moment": 5, "quote": 1.5, "scene": 1, "figure": 0.8},
        {"moment": 4, "quote": 1.5, "past": 0.7, "aside": 0.6, "restate": 0.4},
    ),
    closing=("ahead",),
)
INTERVIEW = Structure(
    "interview",
    share=0.13,
    length=1.25,
    opening=("meeting", "life", "lead"),
    phases=(
        {"life": 3, "question": 3, "quote": 1},
        {"question": 4, "life": 1.6, "past": 1, "fact": 1, "scene": 0.6},
        {"question": 3, "quote": 2, "life": 1, "fact": 1, "aside": 0.7},
    ),
    closing=("question",),
)
RESULTS = Structure(
    "results",
    share=0.12,
    length=0.6,
    opening=("lead", "figure"),
    phases=(
        {"figure": 4, "comparison": 2.5, "fact": 1.5, "quote": 0.6},
        {"figure": 2, "comparison": 3, "table": 2, "fact": 2, "quote": 1},
        {"comparison": 2, "table": 1, "past": 1, "remark": 1, "restate": 0.5, "aside": 0.5},
    ),
    closing=("ahead",),
)
ANALYSIS = Structure(
    "analysis",
    share=0.14,
    length=1.35,
    opening=("opening", "lead"),
    phases=(
        {"weighing": 3, "past": 2, "fact": 2, "figure": 1},
        {"weighing": 4, "past": 1, "fact": 2, "comparison": 1, "remark": 1, "quote": 1},
        {"weighing": 3, "fact": 1, "quote": 1.2, "aside": 0.8, "restate": 0.4},
    ),
    closing=("ahead", "verdict"),
)
ROUNDUP = Structure(
    "roundup",
    share=0.09,
    length=1.1,
    opening=("lead",),
    phases=({"fact": 3, "quote": 1, "figure": 1, "remark": 0.6},),
    closing=(),
)
CORRECTION = Structure(
    "correction",
    share=0.03,
    length=0.27,
    opening=("correction",),
    phases=({"amends": 5, "restate": 0.5, "fact": 1},),
    closing=(),
)
STRUCTURES = (PYRAMID, BRIEF, CHRONICLE, INTERVIEW, RESULTS, ANALYSIS, ROUNDUP, CORRECTION)

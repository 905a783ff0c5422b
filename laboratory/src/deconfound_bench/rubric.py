"""The rubric for judging summaries: four scales from 0 to 5, and a count of unsupported claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem

MAX_SCORE = 5
CLAIMS_SCALE = 20  # reward maps divide the number of unsupported claims by this; grids may count more


@dataclass(frozen=True, slots=True)
class Scale:
    """One aspect of a summary, and the meaning of each whole score."""

    name: str
    question: str
    anchors: tuple[str, ...]  # worst (0) first


UNSUPPORTED = (
    "A claim is unsupported if the article neither states nor implies it: a person, place, figure or event that the "
    "article does not mention, a cause it does not give, or an invented quotation. A claim that the article "
    "contradicts also counts. Count each such claim once, even if the summary repeats it."
)

FAITHFULNESS = Scale(
    "faithfulness",
    "Does the article support everything that the summary states?",
    (
        "Most of it is invented, or contradicts the article.",
        "A large part is invented or contradicts the article.",
        "An invented statement changes something important: who acted, what they did, the outcome or an amount.",
        "Several statements have little or no support, but the story is still recognizable.",
        "A small detail is unsupported; the main facts are correct.",
        "Nothing is invented: every important statement can be traced to the article.",
    ),
)
COVERAGE = Scale(
    "coverage",
    "Are the main points included: the news itself, who is involved, what happened, the outcome and its conditions?",
    (
        "It is about something else, or includes hardly any main point.",
        "It mentions the subject but omits nearly everything the article is about.",
        "It covers one part of the story and omits the rest.",
        "It includes some of the main points; more than one is missing.",
        "At most one main point is missing.",
        "No main point is missing; only side details are.",
    ),
)
CLARITY = Scale(
    "clarity",
    "Is it easy to read: correct grammar, a logical order, and clear who or what is meant?",
    (
        "It cannot be understood.",
        "Most of it is incoherent.",
        "Faulty grammar or poor order repeatedly gets in the way.",
        "It takes effort: clumsy or repeated wording, or unclear references.",
        "It reads well apart from a clumsy phrase or one unclear reference.",
        "It reads smoothly, is well ordered, and is always clear about who or what is meant.",
    ),
)
CONCISENESS = Scale(
    "conciseness",
    "Is the length right for the content? Padding, repetition and side issues lower the score, and so does brevity "
    "that omits needed content.",
    (
        "Its length is absurd, or it repeats itself throughout; it is not usable as a summary.",
        "It is far too long, or only a fragment.",
        "It is clearly too long or too short: much is redundant, or it breaks off.",
        "Noticeable repetition or an unsuitable length; still usable.",
        "Slightly repetitive, or slightly too long or too short.",
        "Every sentence is needed, and nothing is repeated.",
    ),
)

RUBRIC: tuple[Scale, ...] = (FAITHFULNESS, COVERAGE, CLARITY, CONCISENESS)


def to_unit_interval(score: FloatArray) -> FloatArray:
    """Rescale scores from 0..5 to 0..1; scores between two anchors are allowed, scores outside the scale are not."""
    values = np.asarray(score, dtype=np.float64)
    outside = ~((values >= 0) & (values <= MAX_SCORE))
    if outside.any():
        first = values[outside].flat[0]
        what = f"{np.count_nonzero(outside):,} of {values.size:,} are outside 0 to {MAX_SCORE}, the first is {first:g}"
        raise DataError([Problem("rubric scores", what, "Judge these outputs again.")])
    return values / MAX_SCORE

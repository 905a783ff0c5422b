"""How summaries are judged: four scales from 0 to 5, and a count of unsupported claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem

TOP = 5
MOST_CLAIMS = 20  # reward maps divide the count by this; an error log of humans may count more


@dataclass(frozen=True, slots=True)
class Scale:
    """One thing to judge about a summary, and what each whole score means."""

    name: str
    question: str
    anchors: tuple[str, ...]  # worst (0) first


UNSUPPORTED = (
    "A claim is unsupported if the article neither states nor implies it: a person, place, figure or event that the "
    "article does not have, a cause it does not give, or words put into somebody's mouth. A claim that the article "
    "contradicts counts too. Count each such claim once, however often the summary repeats it."
)

FAITHFULNESS = Scale(
    "faithfulness",
    "Does the article bear out everything that the summary says?",
    (
        "Most of it is made up, or says the opposite of the article.",
        "A large part is made up or contradicts the article.",
        "What is made up changes something that matters: who acted, what they did, how it ended, how much.",
        "More than one statement has little or nothing behind it, yet the story can still be recognized.",
        "A small detail has no basis; the main facts are right.",
        "Nothing is made up: each statement of weight can be traced to the article.",
    ),
)
COVERAGE = Scale(
    "coverage",
    "Are the main points in: the news itself, who is involved, what happened, how it ended, and on what conditions?",
    (
        "It is about something else, or hardly any main point is in.",
        "It touches on the subject and leaves out nearly all that the article is about.",
        "One corner of the story is told and the rest is absent.",
        "Part of the main points are in; more than one is absent.",
        "One main point is absent at most.",
        "No main point is absent; only side details are.",
    ),
)
CLARITY = Scale(
    "clarity",
    "Can it be read with ease: sound grammar, one thought leading to the next, no doubt who or what is meant?",
    (
        "It cannot be read, or makes no sense.",
        "Most of it does not hang together.",
        "Faulty grammar or lack of order gets in the way again and again.",
        "It takes effort: clumsy or repeated wording, or some doubt who is meant.",
        "It reads well apart from a clumsy phrase or a small doubt.",
        "It reads smoothly, is in good order, and leaves no doubt who or what is meant.",
    ),
)
CONCISENESS = Scale(
    "conciseness",
    "Is the length right for what it tells? Padding, repetition and side issues count against it, and so does "
    "brevity that costs needed content.",
    (
        "Its length is absurd or it repeats itself throughout; it cannot serve as a summary.",
        "It is far too long or no more than a scrap.",
        "It is plainly too long or too short: much is wasted, or it breaks off.",
        "Repetition shows, or the length does not fit; it can still serve.",
        "A little repetition, or a little too long or too short, without harm.",
        "Every sentence is needed, and nothing is said twice.",
    ),
)

RUBRIC: tuple[Scale, ...] = (FAITHFULNESS, COVERAGE, CLARITY, CONCISENESS)


def unit(score: FloatArray) -> FloatArray:
    """Bring scores from 0..5 to 0..1; scores between two anchors are fine, scores outside the scale are not."""
    values = np.asarray(score, dtype=np.float64)
    wrong = ~((values >= 0) & (values <= TOP))
    if wrong.any():
        first = values[wrong].flat[0]
        what = f"{np.count_nonzero(wrong):,} of {values.size:,} are not from 0 to {TOP}, the first is {first:g}"
        raise DataError([Problem("rubric scores", what, "Judge these outputs again.")])
    return values / TOP

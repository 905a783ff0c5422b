"""Score a hand-over note from the two texts alone: the message and the note."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from deconfound.demo.messages import AMOUNT, DATE, REFERENCE, Message, parse_message
from deconfound.demo.phrases import CLAIMS, COURTESIES

# Weights of facts: a support desk can work without the price, but not without the request.
PROBLEM, ASK, MAJOR, MINOR = 1.5, 1.5, 1.0, 0.5
MEAN_LENGTH, SD_OF_LENGTH = 6.16, 0.36  # of the binary logarithm of the number of words in a message
# The look-ahead only makes the search faster.
SPECIFICS = re.compile(rf"(?=[A-Z£\d])(?:{REFERENCE.pattern}|{AMOUNT.pattern}|{DATE.pattern})")


class QualityScores(NamedTuple):
    """The properties of a note that decide how it is rated.

    ``coverage``    weighted share of the customer's facts that the note repeats, in [0, 1]
    ``invented``    numbers, dates and claims in the note that are not in the message, up to 3
    ``bloat``       length of the note in doublings of half the message, at least 0
    ``padding``     number of polite phrases as a share of four, at most 1
    ``repetition``  share of the facts that the note gives more than once, in [0, 1]
    ``load``        standardized length of the message: long ones are harder to summarize
    """

    coverage: float
    invented: float
    bloat: float
    padding: float
    repetition: float
    load: float


class Fact(NamedTuple):
    """A fact that a note should repeat: its wording in lower case and its weight."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Case:
    """A customer's message, parsed once so that many notes can be scored against it."""

    context: str
    message: Message
    facts: tuple[Fact, ...]
    length: float  # binary logarithm of the number of words

    @property
    def load(self) -> float:
        """Standardized length of the message."""
        return (self.length - MEAN_LENGTH) / SD_OF_LENGTH


def parse_case(context: str) -> Case:
    """Parse a message and weigh its facts."""
    message = parse_message(context)
    weighted = (
        *((problem, PROBLEM) for problem in message.problems),
        *((ask, ASK) for ask in message.asks),
        *((tried, MAJOR) for tried in message.tried),
        (message.product, MAJOR),
        (message.reference, MAJOR),
        (message.impact, MAJOR),
        (message.deadline, MAJOR),
        (message.date, MINOR),
        (message.amount, MINOR),
        (message.history, MINOR),
        (message.contact, MINOR),
    )
    facts = tuple(Fact(text.lower(), weight) for text, weight in weighted if text)
    return Case(context, message, facts, math.log2(len(context.split())))


def score_note(case: Case, output: str) -> QualityScores:
    """Score a note against the message it summarizes."""
    note = output.lower()
    covered = [fact for fact in case.facts if fact.text in note]
    repeated = sum(note.count(fact.text) > 1 for fact in covered)
    return QualityScores(
        coverage=sum(fact.weight for fact in covered) / sum(fact.weight for fact in case.facts),
        invented=min(3.0, _count_invented(case.context, output)),
        bloat=max(0.0, math.log2(len(output.split())) - (case.length - 1)),
        padding=min(1.0, sum(phrase in output for phrase in COURTESIES) / 4),
        repetition=repeated / len(case.facts),
        load=case.load,
    )


def _count_invented(context: str, output: str) -> int:
    specifics = {*SPECIFICS.findall(output), *(claim for claim in CLAIMS if claim in output)}
    return sum(specific not in context for specific in specifics)

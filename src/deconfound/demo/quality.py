"""How good a hand-over note is, judged from the two texts alone."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from deconfound.demo.messages import AMOUNT, DATE, REFERENCE, Message, read
from deconfound.demo.phrases import CLAIMS, COURTESIES

# A desk can work without the price; without the wish it cannot.
PROBLEM, ASK, MAJOR, MINOR = 1.5, 1.5, 1.0, 0.5
# Mean and standard deviation of the binary logarithm of the number of words in a message.
USUAL_LENGTH, SPREAD_OF_LENGTH = 6.16, 0.36
# The look-ahead changes nothing but the speed: it halves the search.
SPECIFICS = re.compile(rf"(?=[A-Z£\d])(?:{REFERENCE.pattern}|{AMOUNT.pattern}|{DATE.pattern})")


class Marks(NamedTuple):
    """What a reader of the note notices.

    ``coverage``    weighted share of the customer's facts that the note repeats, in [0, 1]
    ``invented``    numbers, dates and claims in the note that the customer never gave, up to 3
    ``bloat``       how many doublings the note is longer than half the message, from 0
    ``padding``     warm words that say nothing, as a share of the most that anyone bears, in [0, 1]
    ``repetition``  share of the facts that the note gives more than once, in [0, 1]
    ``load``        how long the message is: more to get wrong; about 0 on average, standard deviation about 1
    """

    coverage: float
    invented: float
    bloat: float
    padding: float
    repetition: float
    load: float


class Fact(NamedTuple):
    """Something a note should repeat: its wording in lower case and how much it matters."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Case:
    """A customer's message with what it holds, read once and then judged against many notes.

    ``length`` is the binary logarithm of its number of words.
    """

    context: str
    message: Message
    facts: tuple[Fact, ...]
    length: float

    @property
    def load(self) -> float:
        """Say how much there is to work through."""
        return (self.length - USUAL_LENGTH) / SPREAD_OF_LENGTH


def open_case(context: str) -> Case:
    """Read a message."""
    message = read(context)
    wording = (
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
    facts = tuple(Fact(text.lower(), weight) for text, weight in wording if text)
    return Case(context, message, facts, math.log2(len(context.split())))


def mark(case: Case, output: str) -> Marks:
    """Mark a note against the message it stands for."""
    note = output.lower()
    said = [fact for fact in case.facts if fact.text in note]
    repeated = sum(note.count(fact.text) > 1 for fact in said)
    return Marks(
        coverage=sum(fact.weight for fact in said) / sum(fact.weight for fact in case.facts),
        invented=min(3.0, _invented(case.context, output)),
        bloat=max(0.0, math.log2(len(output.split())) - (case.length - 1)),
        padding=min(1.0, sum(phrase in output for phrase in COURTESIES) / 4),
        repetition=repeated / len(case.facts),
        load=case.load,
    )


def _invented(context: str, output: str) -> int:
    specifics = {*SPECIFICS.findall(output), *(claim for claim in CLAIMS if claim in output)}
    return sum(specific not in context for specific in specifics)

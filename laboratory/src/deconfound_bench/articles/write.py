"""Write one article: choose its subject, shape and voice, then make move after move until it is long enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TypeVar

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.cast import cast_article
from deconfound_bench.articles.deck import Deck
from deconfound_bench.articles.forms import FORMS
from deconfound_bench.articles.frames import ASIDES, COMMON, DUTIES, FRAMES
from deconfound_bench.articles.moves import MOVES
from deconfound_bench.articles.names import region
from deconfound_bench.articles.polish import sentence
from deconfound_bench.articles.structures import ROUNDUP, STRUCTURES, Structure, Weights
from deconfound_bench.articles.teller import Teller
from deconfound_bench.articles.topic import Topic
from deconfound_bench.articles.topics import TOPICS
from deconfound_bench.articles.voice import Voice, make_voice

Item = TypeVar("Item")

MEDIAN_WORDS, SPREAD = 340, 0.52  # of the log-normal length before a structure's factor
SHORTEST, LONGEST = 72, 800
LEAST_SENTENCES = 4
PUBLIC = {"politics", "council", "business", "health", "technology", "education", "transport", "farming", "energy"}
SHAPES = {one.name: one for one in STRUCTURES}
# Where a move takes its sentences from: it is over when that list is.
SOURCE = {
    "figure": "figures",
    "comparison": "comparisons",
    "table": "tables",
    "past": "past",
    "scene": "scenes",
    "life": "life",
    "weighing": "weighing",
    "question": "asked",
    "amends": "amends",
    "restate": "retellings",
    "aside": "asides",
}
SPOKEN = {"quote", "remark", "question"}
VOICED = {"quote": "quotes", "question": "quotes", "remark": "quotes", "figure": "numbers", "comparison": "numbers"}
VOICED |= {"table": "numbers", "scene": "colour", "aside": "colour", "life": "colour"}


class Draft:
    """The sentences of an article so far, in paragraphs."""

    def __init__(self, voice: Voice, dice: TextSampler) -> None:
        self._usual = voice.house.paragraph
        self._dice = dice
        self.paragraphs: list[list[str]] = []
        self.words = 0
        self.sentences = 0

    def add(self, said: Sequence[str], *, apart: bool = False) -> None:
        """Go on in the same paragraph or open a new one."""
        full = not self.paragraphs or len(self.paragraphs[-1]) >= self._usual * (0.5 + self._dice.roll())
        if full or apart:
            self.paragraphs.append([])
        self.paragraphs[-1].extend(said)
        self.words += sum(len(one.split()) for one in said)
        self.sentences += len(said)

    def text(self) -> str:
        """Join sentences by spaces and paragraphs by blank lines."""
        return "\n\n".join(" ".join(paragraph) for paragraph in self.paragraphs)


def write_article(dice: TextSampler) -> str:
    """Write one article from nothing but dice."""
    topic = dice.pick(TOPICS)
    voice = make_voice(dice)
    structure = SHAPES[_weighted(dice, {name: one.share for name, one in SHAPES.items()})]
    length = math.exp(
        NormalDist(math.log(MEDIAN_WORDS * structure.length), SPREAD).inv_cdf(0.001 + 0.998 * dice.roll())
    )
    words = min(max(length, SHORTEST), LONGEST)
    draft = Draft(voice, dice)
    if structure is ROUNDUP:
        _write_roundup(draft, topic, voice, words, dice)
    else:
        _write_story(draft, _teller(topic, voice, region(dice), dice), structure, words)
    return draft.text()


def _teller(topic: Topic, voice: Voice, where: str, dice: TextSampler) -> Teller:
    cast = cast_article(topic, voice, where, dice)
    own = {
        "frames": FRAMES + DUTIES if topic.name in PUBLIC else FRAMES,
        "asides": ASIDES[voice.house.kind],
        "retellings": cast.event[1:],
    }
    return Teller(cast, voice, Deck(dice, {**COMMON, **FORMS, **topic.lists(), **own}), dice)


def _write_story(draft: Draft, teller: Teller, structure: Structure, words: float) -> None:
    for move in structure.opening:
        draft.add(MOVES[move](teller), apart=move == "lead")
    closing = [MOVES[move](teller) for move in structure.closing]
    room = words - sum(len(one.split()) for said in closing for one in said)
    while draft.words < room or draft.sentences < LEAST_SENTENCES:
        third = min(int(draft.words / room * len(structure.phases)), len(structure.phases) - 1)
        _make_move(draft, teller, structure.phases[max(third, 0)])
    for said in closing:
        draft.add(said, apart=teller.dice.chance(0.5))


def _make_move(draft: Draft, teller: Teller, weights: Weights) -> None:
    voice = teller.voice
    voiced = {
        move: weight * float(getattr(voice, VOICED.get(move, ""), 1.0))
        for move, weight in weights.items()
        if not teller.deck.spent(SOURCE.get(move, ""))
    } or {"fact": 1.0}
    move = _weighted(teller.dice, voiced)
    draft.add(MOVES[move](teller), apart=move in SPOKEN and teller.dice.chance(0.85))


def _write_roundup(draft: Draft, topic: Topic, voice: Voice, words: float, dice: TextSampler) -> None:
    """Tell several small stories of one subject, or of several, one after another."""
    mixed = dice.chance(0.35)
    where = region(dice)
    first = _teller(topic, voice, where, dice)
    draft.add(MOVES["roundup"](first))
    while draft.words < words or draft.sentences < LEAST_SENTENCES:
        teller = _teller(dice.pick(TOPICS) if mixed else topic, voice, where, dice)
        teller.known["event"] = teller.tell(teller.cast.event[0])
        draft.add([sentence(teller.tell(first.deck.deal("switches")))], apart=True)
        for _ in range(dice.between(1, 3)):
            _make_move(draft, teller, ROUNDUP.phases[0])


def _weighted(dice: TextSampler, weights: dict[Item, float]) -> Item:
    roll = dice.roll() * sum(weights.values())
    for item, weight in weights.items():
        roll -= weight
        if roll < 0:
            return item
    return item

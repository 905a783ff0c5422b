"""What is known about one subject of the news: its wording, with slots for everything that differs by article."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from deconfound_bench.articles.grammar import lines

SUITS = "for: "


@dataclass(frozen=True, slots=True)
class Event:
    """One piece of news in several wordings; ``suits`` names the matters it can be about, all of them if empty.

    A matter goes by the last word of its short form.
    """

    wordings: tuple[str, ...]
    suits: tuple[str, ...]


def events(text: str) -> tuple[Event, ...]:
    """Read events from a block of text: one wording a line, events parted by empty lines, a ``for:`` line if any."""
    made = []
    for block in re.split(r"\n\s*\n", text.strip()):
        said = lines(block)
        limits = said[0].removeprefix(SUITS).split() if said[0].startswith(SUITS) else []
        made.append(Event(said[bool(limits) :], tuple(limits)))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Topic:
    """The vocabulary of one subject; every field but ``name`` is a list of templates.

    ``heroes``, ``seconds`` and ``thirds`` are roles of the people who speak, ``orgs`` and ``bodies`` names of
    organisations. A ``matter`` is what the article is about, written ``a long form | the short form``. ``facts``,
    ``figures`` and ``acts`` are clauses in the past tense, so that any of them can stand in indirect speech or be
    joined to another; ``acts`` lack their subject, which is one of the ``actors``. ``views`` and ``doubts`` are said
    aloud; ``past``, ``scenes`` and ``ahead`` are sentences. ``terms`` are plural nouns, ``units`` what can be
    counted, ``sites`` where things happen.
    """

    name: str
    heroes: tuple[str, ...]
    seconds: tuple[str, ...]
    thirds: tuple[str, ...]
    orgs: tuple[str, ...]
    bodies: tuple[str, ...]
    matters: tuple[str, ...]
    events: tuple[Event, ...]
    facts: tuple[str, ...]
    figures: tuple[str, ...]
    actors: tuple[str, ...]
    acts: tuple[str, ...]
    views: tuple[str, ...]
    doubts: tuple[str, ...]
    past: tuple[str, ...]
    scenes: tuple[str, ...]
    ahead: tuple[str, ...]
    terms: tuple[str, ...]
    units: tuple[str, ...]
    sites: tuple[str, ...]

    def lists(self) -> dict[str, tuple[str, ...]]:
        """Give every flat list of templates under its name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in {"name", "events"}}

"""Templates and how they are filled: the small language in which all wording of the articles is written.

``{name}`` stands for something drawn or known elsewhere, ``{a|b|c}`` for one of several wordings, ``{|a}`` for a
wording that may be left out. Wordings nest.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

NAME = re.compile(r"[a-z][a-z_0-9]*")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for something that is not known before the article is written."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Several wordings of which one is taken."""

    options: tuple[Parts, ...]


Part = str | Slot | Choice
Parts = tuple[Part, ...]


def lines(text: str) -> tuple[str, ...]:
    """Cut a block of text into its lines, one template each."""
    return tuple(line.strip() for line in text.strip().splitlines() if line.strip())


def listing(text: str) -> tuple[str, ...]:
    """Cut a block of text at its commas, one word or phrase each."""
    return tuple(" ".join(item.split()) for item in text.split(",") if item.strip())


@functools.cache
def parse(template: str) -> Parts:
    """Read a template into its parts; each is read once however often it is filled."""
    parts, end = _sequence(template, 0, "")
    if end != len(template):
        raise ValueError(f"a brace is closed that was never opened: {template}")
    return parts


def _sequence(text: str, at: int, stops: str) -> tuple[Parts, int]:
    parts: list[Part] = []
    start = at
    while at < len(text) and text[at] not in stops + "}":
        if text[at] != "{":
            at += 1
            continue
        parts.append(text[start:at])
        part, at = _braces(text, at + 1)
        parts.append(part)
        start = at
    parts.append(text[start:at])
    return tuple(part for part in parts if part != ""), at


def _braces(text: str, at: int) -> tuple[Part, int]:
    options: list[Parts] = []
    while True:
        option, at = _sequence(text, at, "|")
        options.append(option)
        if at == len(text):
            raise ValueError(f"a brace is never closed: {text}")
        at += 1
        if text[at - 1] == "}":
            break
    if len(options) > 1:
        return Choice(tuple(options)), at
    (name,) = options[0]
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise ValueError(f"{name} is no name of a slot: {text}")
    return Slot(name), at


def slots(template: str) -> Iterator[str]:
    """Name every slot of a template, also those within its choices."""
    waiting = list(parse(template))
    while waiting:
        part = waiting.pop()
        if isinstance(part, Slot):
            yield part.name
        elif isinstance(part, Choice):
            waiting.extend(inner for option in part.options for inner in option)

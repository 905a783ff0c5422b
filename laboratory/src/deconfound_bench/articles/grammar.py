"""The template language in which the articles are written.

``{name}`` is a slot, filled when the article is composed. ``{a|b|c}`` is one of several alternatives, and ``{|a}`` is a
wording that may be absent. Alternatives nest.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

TOKENS = re.compile(r"([{|}])")
SLOT_NAME = r"[a-z][a-z_0-9]*"
SLOT = re.compile(rf"\{{({SLOT_NAME})\}}")


class TemplateError(ValueError):
    """A template that does not follow the template language."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a template, filled when the article is composed."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives, one of which is drawn."""

    options: tuple[Parts, ...]


Part = str | Slot | Choice
Parts = tuple[Part, ...]


@functools.cache
def parse(template: str) -> Parts:
    """Split a template into text, slots and choices."""
    # The alternatives of each brace that is still open. The first entry is the template itself.
    open_braces: list[list[list[Part]]] = [[[]]]
    for piece in TOKENS.split(template):
        if piece == "{":
            open_braces.append([[]])
        elif piece in {"|", "}"} and len(open_braces) == 1:
            raise TemplateError(f'"{piece}" occurs outside braces')
        elif piece == "|":
            open_braces[-1].append([])
        elif piece == "}":
            options = open_braces.pop()
            open_braces[-1][-1].append(_slot_or_choice(options))
        elif piece:
            open_braces[-1][-1].append(piece)
    if len(open_braces) > 1:
        raise TemplateError("a brace is never closed")
    return tuple(open_braces[0][0])


def _slot_or_choice(options: list[list[Part]]) -> Slot | Choice:
    if len(options) > 1:
        return Choice(tuple(tuple(option) for option in options))
    name = options[0][0] if len(options[0]) == 1 else None
    if not (isinstance(name, str) and re.fullmatch(SLOT_NAME, name)):
        raise TemplateError("braces without alternatives must contain the name of a slot, in lower case")
    return Slot(name)


def slots(template: str) -> list[str]:
    """Name every slot of a template, including those inside alternatives."""
    parse(template)  # refuses a template in which braces without alternatives are anything but slots
    return SLOT.findall(template)

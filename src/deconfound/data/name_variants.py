"""Names and texts that differ only in writing: case, spaces, Unicode normalization, a provider's prefix, a date."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from deconfound.formatting import quote

PROVIDER = re.compile(r"^(?:.*/)?(?:[^:]*:)?(?=.)", re.DOTALL)
DATE = re.compile(r"(?<=.)[-_@.:](?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])\s*$", re.DOTALL)
"""At the end of a name, such as cedar-2026-01-01: providers give it to the version that answered."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way in which a name can be written differently, and how to remove it."""

    description: str
    remove: Callable[[str], str]


SPELLINGS: tuple[Spelling, ...] = (
    Spelling("invisible characters", lambda name: "".join(c for c in name if unicodedata.category(c) != "Cf")),
    Spelling("spaces", lambda name: "".join(name.split())),
    Spelling("Unicode normalization", lambda name: unicodedata.normalize("NFKC", name)),
    Spelling("a prefix such as a provider's", lambda name: PROVIDER.sub("", name)),
    Spelling("case", str.casefold),
)


DATED_SPELLINGS: tuple[Spelling, ...] = (Spelling("a date at the end", lambda name: DATE.sub("", name)), *SPELLINGS)
"""For two names of which one has a date: two dates are two versions of a model."""


@dataclass(frozen=True, slots=True)
class Variant:
    """An existing name that differs from another only in these ways."""

    name: str
    differences: tuple[str, ...]

    @property
    def description(self) -> str:
        """The end of a sentence about the other name."""
        return f"differs from {quote(self.name)} only in {' and '.join(self.differences)}"


class NameVariants:
    """Finds the one of some names that another name is a variant of."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._folded = {_fold(name, SPELLINGS): name for name in reversed(self._names)}
        self._undated: dict[str, list[str]] = {}
        for name in self._names:
            self._undated.setdefault(_fold(name, DATED_SPELLINGS), []).append(name)

    def find(self, name: str) -> Variant | None:
        """The first name that is written differently and otherwise the same; None if there is none."""
        spellings, match = SPELLINGS, self._folded.get(_fold(name, SPELLINGS))
        if match == name:
            return None
        if match is None:
            spellings, match = DATED_SPELLINGS, self._with_other_date(name)
        if match is None:
            return None
        subsets = (chosen for size in range(1, len(spellings) + 1) for chosen in combinations(spellings, size))
        smallest = next(chosen for chosen in subsets if _fold(name, chosen) == _fold(match, chosen))
        return Variant(match, tuple(spelling.description for spelling in smallest))

    def _with_other_date(self, name: str) -> str | None:
        """The only name that has a date where this one has none, or the other way round, and is otherwise the same."""
        is_dated = DATE.search(name) is not None
        same = self._undated.get(_fold(name, DATED_SPELLINGS), [])
        found = [other for other in same if (DATE.search(other) is not None) != is_dated]
        return found[0] if len(found) == 1 else None


def _fold(name: str, spellings: Iterable[Spelling]) -> str:
    for spelling in spellings:
        name = spelling.remove(name)
    return name


def fold_text(text: str) -> str:
    """A text without surrounding white space, with one kind of line end and composed Unicode characters."""
    return "\n".join(unicodedata.normalize("NFC", text).strip().splitlines())

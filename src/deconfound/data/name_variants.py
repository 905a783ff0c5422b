"""Names and texts that differ only in writing: case, spaces, Unicode normalization, the prefix of a provider."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from deconfound.formatting import quote

PROVIDER = re.compile(r"^(?:.*/)?(?:[^:]*:)?(?=.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way in which a name can be written differently, and how to remove it."""

    description: str
    remove: Callable[[str], str]


SPELLINGS = (
    Spelling("invisible characters", lambda name: "".join(c for c in name if unicodedata.category(c) != "Cf")),
    Spelling("spaces", lambda name: "".join(name.split())),
    Spelling("Unicode normalization", lambda name: unicodedata.normalize("NFKC", name)),
    Spelling("a prefix such as a provider's", lambda name: PROVIDER.sub("", name)),
    Spelling("case", str.casefold),
)


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

    def find(self, name: str) -> Variant | None:
        """The first name that is written differently and otherwise the same; None if there is none."""
        match = self._folded.get(_fold(name, SPELLINGS))
        if match is None or match == name:
            return None
        subsets = (chosen for size in range(1, len(SPELLINGS) + 1) for chosen in combinations(SPELLINGS, size))
        smallest = next(chosen for chosen in subsets if _fold(name, chosen) == _fold(match, chosen))
        return Variant(match, tuple(spelling.description for spelling in smallest))


def _fold(name: str, spellings: Iterable[Spelling]) -> str:
    for spelling in spellings:
        name = spelling.remove(name)
    return name


def fold_text(text: str) -> str:
    """A text without surrounding white space, with one kind of line end and composed Unicode characters."""
    return "\n".join(unicodedata.normalize("NFC", text).strip().splitlines())

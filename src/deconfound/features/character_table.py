"""What compiled code must know about each code point, taken from the running Python.

Lower case, white space and word characters change between versions of Unicode. The table is therefore filled by asking
``str.lower`` and ``re`` themselves, on one long string, so that compiled code and Python agree in every version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deconfound.words.word_splitting import PUNCTUATION, SINGLE_CHARACTER_TOKEN

CODE_POINTS = 0x110000
LOWER_MASK = 0x1FFFFF  # bits 0 to 20: the lower-case code point
KIND_SHIFT = 21  # bits 21 and 22: how the lower-case code point takes part in words
SEPARATOR, IN_WORD, SINGLE = 0, 1, 2
SPACE_BIT = 1 << 23  # white space of ``str.strip`` and of ``\s``
CASED_BIT = 1 << 24  # a cased letter, for the lower case of a capital sigma next to it
IGNORABLE_BIT = 1 << 25  # skipped in the search for that letter

CAPITAL_SIGMA, SIGMA, FINAL_SIGMA = 0x3A3, 0x3C3, 0x3C2
DOTTED_CAPITAL_I = 0x130  # the only code point whose lower case is two: i and a dot above

_SURROGATES = (0xD800, 0xDFFF)
# Planes 2 to 13 are ideographs and unassigned, 15 and 16 private; only the rest must be asked. A test asks all.
_VARIED = np.concatenate(
    [np.arange(_SURROGATES[0]), np.arange(_SURROGATES[1] + 1, 0x20000), np.arange(0xE0000, 0xE1000)]
)

CodePoints = NDArray[np.uint32]


@lru_cache(maxsize=1)
def character_table() -> CodePoints:
    """One entry per code point, in the bits named above; for two code points the kernels know better.

    The lower case of a capital sigma depends on its neighbours, and that of a dotted capital I is two code points.
    """
    table = np.arange(CODE_POINTS, dtype=np.uint32) | np.uint32(SINGLE << KIND_SHIFT)
    table[_VARIED] = _entries(_VARIED.astype(np.uint32))
    table.flags.writeable = False
    return table


def _entries(points: CodePoints) -> CodePoints:
    plain = np.where(points == DOTTED_CAPITAL_I, ord("I"), points)  # keeps one code point per code point
    text = _decode(plain)
    lower = text.lower()
    kind = np.full(len(points), IN_WORD, dtype=np.uint32)
    kind[_members(f"(?:{SINGLE_CHARACTER_TOKEN.pattern})+", lower)] = SINGLE
    kind[_members(PUNCTUATION.pattern + r"|[^0-9A-Za-z_\x80-\U0010ffff]+", lower)] = SEPARATOR
    entries: CodePoints = _encode(lower) | kind << np.uint32(KIND_SHIFT)
    entries[_members(r"\s+", text)] |= np.uint32(SPACE_BIT)
    # A sigma after a letter is final unless a cased letter follows, ignorable characters between them aside.
    cased = _sigma_is_not_final(plain, "0")
    entries[cased] |= np.uint32(CASED_BIT)
    entries[_sigma_is_not_final(plain, "a") & ~cased] |= np.uint32(IGNORABLE_BIT)
    return entries


def _sigma_is_not_final(points: CodePoints, after: str) -> NDArray[np.bool_]:
    probes = np.empty((len(points), 4), dtype=np.uint32)
    probes[:] = (ord("a"), CAPITAL_SIGMA, 0, ord(after))
    probes[:, 2] = points
    return np.asarray(_encode(_decode(probes.ravel()).lower()).reshape(-1, 4)[:, 1] == SIGMA)


def _members(pattern: str, text: str) -> NDArray[np.bool_]:
    inside = np.zeros(len(text), dtype=np.bool_)
    for start, stop in _spans(pattern, text):
        inside[start:stop] = True
    return inside


def _spans(pattern: str, text: str) -> Iterable[tuple[int, int]]:
    return (found.span() for found in re.finditer(pattern, text))


def _decode(points: CodePoints) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le")


def _encode(text: str) -> CodePoints:
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.uint32)

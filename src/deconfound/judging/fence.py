"""Marks the ends of a text that is data, so that nothing inside it can look like the end of it."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import count

MARK_BYTES = 8


def fence_mark(texts: Iterable[str]) -> str:
    """A mark that occurs in none of the texts, in any case of letters.

    It is a hash of the texts: the same texts have the same mark, so that stored replies are found again, and no author
    of a text can write it in advance.
    """
    folded = [text.lower() for text in texts]
    start = blake2b(digest_size=MARK_BYTES)
    for text in folded:
        content = text.encode("utf-8", "surrogatepass")
        start.update(b"%d\n" % len(content))
        start.update(content)
    for number in count():
        digest = start.copy()
        digest.update(b"%d" % number)
        mark = digest.hexdigest()
        if not any(mark in text for text in folded):
            return mark
    raise AssertionError("unreachable")


def fenced(name: str, text: str, mark: str) -> str:
    """A text between two lines with the mark."""
    return f"<<<{name} {mark}>>>\n{text}\n<<<end of {name} {mark}>>>"

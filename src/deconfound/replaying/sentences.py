"""Sentences of a text, by the signs that end them."""

from __future__ import annotations

import re

END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])|\n\s*\n")


def sentences(text: str) -> list[str]:
    """The sentences of a text without the spaces around them; abbreviations may split one in two."""
    found, start = [], 0
    for end in END.finditer(text):
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]

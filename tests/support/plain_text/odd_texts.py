"""Texts that a tokenizer may get wrong."""

from __future__ import annotations

import random

from hypothesis import strategies as st

SIGMAS = "aΣσςAİIi'.\u0301\u0308\u00ad\u02b00 -"
FORMATS = "ab1 .?\n*#|`-A\t)•"
SENTENCES = ".!?…؟।\"'”’)] 。！？\n\r\x1c\x85\u2003ab"
PHRASES = (
    *(
        "- a\n",
        "12. b\n",
        "1234. c\n",
        "### h\n",
        "####### h\n",
        "```",
        "**bold**",
        "| a |\n",
        " perhaps ",
        " may ",
        " 12 ",
    ),
    *(
        "Sorry",
        "apolog",
        "apologİ",
        "as an AI",
        "I won’t",
        "can’t help",
        "cannot provide",
        "\u212aelvin",
        "a b c d e f g ",
    ),
    *("👩‍👩‍👧", "🇫🇷", "e\u0301", "机器学习", "ไทย", "ﬃ", "ẞ", "ΣΑΣ", "\r", "\r\n", "\U000e0041", "\u0378", "\ufffd"),
)

ANY = st.characters(exclude_categories=("Cs",))
TEXT = st.one_of(
    *(st.text(alphabet, max_size=40) for alphabet in (SIGMAS, FORMATS, SENTENCES)),
    st.text(ANY, max_size=60),
    st.lists(st.sampled_from(PHRASES), max_size=12).map("".join),
    st.lists(st.one_of(st.sampled_from(PHRASES), ANY), max_size=20).map("".join),
)


def random_text(source: random.Random) -> str:
    """A text of any of the kinds above, drawn quickly."""
    kind = source.random()
    size = source.randrange(80)
    if kind < 0.2:
        return "".join(source.choices(PHRASES, k=size // 4))
    if kind < 0.7:
        alphabet = source.choice((SIGMAS, FORMATS, SENTENCES, SIGMAS + FORMATS + SENTENCES))
        return "".join(
            source.choice(alphabet) if source.random() < 0.9 else source.choice(PHRASES) for _ in range(size)
        )
    limit = source.choice((0x80, 0x250, 0x3000, 0x20000, 0x110000))
    points = (source.randrange(limit) for _ in range(size))
    return "".join(chr(point) for point in points if not 0xD800 <= point <= 0xDFFF)

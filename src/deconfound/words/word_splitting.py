"""Split text into words: the one tokenizer behind the hashed text, the surface statistics and the router.

A word is a run of letters, digits and underscores in any script, lower-cased. Scripts written without spaces (Chinese,
Japanese, Thai, Lao, Burmese, Khmer) give one word per character, so that word pairs can represent their words; every
symbol outside ASCII (an emoji, an arrow) is a word of its own. Punctuation and ASCII symbols separate words. A text
with nothing else ("?!", "+++") is split at its spaces, so that only blank text has no words.
"""

from __future__ import annotations

import re

MAX_CHARACTERS = 1_000_000
"""Characters of a text that are read; the rest is ignored."""

_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents that occur inside words, although Python does not count them as word characters.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
PUNCTUATION = re.compile(
    "[\x80-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb-\xbf\u060c\u061b\u061f\u0964\u0965\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f"
    "\ufe0f\ufeff\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
SINGLE_CHARACTER_TOKEN = re.compile(f"[{_SPACELESS}]|[^\\w\x00-\x7f{_MARKS}]")

# Bytes of a multi-byte character pass unchanged: separators outside ASCII were already replaced by a space.
_SEPARATE = bytes(code if code >= 128 or chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))


def tokenize(text: str) -> list[bytes]:
    """The words of a text, in order, as UTF-8."""
    lower = text[:MAX_CHARACTERS].lower()
    if not lower.isascii():
        lower = PUNCTUATION.sub(" ", lower)
    # Tested again: in most English text only curly quotes and dashes are outside ASCII.
    if not lower.isascii():
        lower = SINGLE_CHARACTER_TOKEN.sub(r" \g<0> ", lower)
    return lower.encode().translate(_SEPARATE).split() or [piece.encode() for piece in text[:MAX_CHARACTERS].split()]

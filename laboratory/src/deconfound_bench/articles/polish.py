"""From filled templates to clean sentences: capitals, articles before vowels, punctuation that met by accident."""

from __future__ import annotations

import re

SPACES = re.compile(r"\s+")
# A name brings a comma after its role; whatever punctuation follows makes it superfluous.
MEETING = re.compile(r"\s*,(?=\s*[.,;:!?)])")
DOUBLED = re.compile(r"\.\.+|\.(?=[!?])")
BEFORE = re.compile(r" (?=[.,;:!?)])")
ARTICLE = re.compile(r"\b([Aa])n? (?=([\w£$€-]+))")
LIKE_CONSONANT = re.compile(r"(?:one|uni(?!n)|use|usu|eu|ut[ei]|ubi)", re.IGNORECASE)
LIKE_VOWEL = re.compile(r"(?:[aeiou]|hour|honest|heir|honour|8|11\b|18\b)", re.IGNORECASE)


def smooth(text: str) -> str:
    """Mend what templates leave rough inside a sentence."""
    text = SPACES.sub(" ", text).strip()
    text = MEETING.sub("", text)
    text = DOUBLED.sub(".", text)
    text = BEFORE.sub("", text)
    return ARTICLE.sub(_article, text)


def _article(found: re.Match[str]) -> str:
    word = found.group(2)
    vowel = LIKE_VOWEL.match(word) and not LIKE_CONSONANT.match(word)
    return f"{found.group(1)}{'n' if vowel else ''} "


def capital(text: str) -> str:
    """Begin with a capital letter, also behind an opening quotation mark."""
    for at, letter in enumerate(text):
        if letter.isalpha():
            return text[:at] + letter.upper() + text[at + 1 :]
        if letter.isdigit():
            return text
    return text


def sentence(text: str) -> str:
    """Make a sentence of a clause: smooth, with a capital and a full stop."""
    text = smooth(text).rstrip(" ,;:")
    if text[:1].isdigit():
        text = f"{'some' if ',' in text.split(' ', 1)[0] else 'a total of'} {text}"
    return capital(text if text.endswith((".", "!", "?", '"', "”")) else text + ".")

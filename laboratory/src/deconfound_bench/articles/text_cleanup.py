"""Turn filled templates into clean sentences: capitals, "a" or "an", and punctuation that collided."""

from __future__ import annotations

import re

SPACES = re.compile(r"\s+")
# A person's role ends with a comma, which is superfluous before other punctuation.
COMMA_BEFORE_PUNCTUATION = re.compile(r"\s*,(?=\s*[.,;:!?)])")
DOUBLED_STOP = re.compile(r"\.\.+|\.(?=[!?])")
SPACE_BEFORE_PUNCTUATION = re.compile(r" (?=[.,;:!?)])")
INDEFINITE_ARTICLE = re.compile(r"\b([Aa])n? (?=([\w£$€-]+))")
CONSONANT_SOUND = re.compile(r"(?:one|uni(?!n)|use|usu|eu|ut[ei]|ubi)", re.IGNORECASE)
VOWEL_SOUND = re.compile(r"(?:[aeiou]|hour|honest|heir|honour|8|11\b|18\b)", re.IGNORECASE)


def clean(text: str) -> str:
    """Repair spaces, punctuation and indefinite articles."""
    text = SPACES.sub(" ", text).strip()
    text = COMMA_BEFORE_PUNCTUATION.sub("", text)
    text = DOUBLED_STOP.sub(".", text)
    text = SPACE_BEFORE_PUNCTUATION.sub("", text)
    return INDEFINITE_ARTICLE.sub(_correct_article, text)


def _correct_article(match: re.Match[str]) -> str:
    word = match.group(2)
    is_vowel = VOWEL_SOUND.match(word) and not CONSONANT_SOUND.match(word)
    return f"{match.group(1)}{'n' if is_vowel else ''} "


def capitalize(text: str) -> str:
    """Make the first letter a capital, also after an opening quotation mark, but not after a digit."""
    for position, character in enumerate(text):
        if character.isalpha():
            return text[:position] + character.upper() + text[position + 1 :]
        if character.isdigit():
            return text
    return text


def to_sentence(text: str) -> str:
    """Turn a clause into a sentence: clean, with a capital and a full stop, and not starting with a digit."""
    text = clean(text).rstrip(" ,;:")
    if text[:1].isdigit():
        text = f"{'some' if ',' in text.split(' ', 1)[0] else 'a total of'} {text}"
    return capitalize(text if text.endswith((".", "!", "?", '"', "”")) else text + ".")

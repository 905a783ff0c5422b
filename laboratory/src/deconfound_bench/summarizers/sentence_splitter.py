"""Split text into sentences and words by rule, without downloaded data."""

from __future__ import annotations

import re

# fmt: off
# A full stop after one of these never ends a sentence: a name follows.
TITLES = frozenset((
    "mr", "mrs", "ms", "mx", "dr", "prof", "gen", "sen", "rep", "gov", "lt", "col", "sgt", "capt", "cmdr", "adm",
    "maj", "rev", "hon", "st", "mt", "messrs", "supt", "insp", "pres", "e.g", "i.e", "cf", "vs", "viz", "ca", "approx",
))
# After one of these it does not end a sentence if a number follows.
BEFORE_NUMBERS = frozenset((
    "no", "nos", "p", "pp", "vol", "ch", "sec", "fig", "figs", "art", "jan", "feb", "mar", "apr", "jun", "jul", "aug",
    "sep", "sept", "oct", "nov", "dec",
))
# After one of these it ends a sentence only if a word follows that is rarely capitalized inside a sentence.
AMBIGUOUS = frozenset((
    "inc", "corp", "co", "ltd", "llc", "plc", "bros", "jr", "sr", "etc", "al", "dept", "est", "ave", "blvd", "rd",
    "jan", "feb", "aug", "sept", "oct", "nov", "dec", "ph.d", "phd", "esq",
))
OPENERS = frozenset((
    "the", "a", "an", "this", "that", "these", "those", "he", "she", "it", "they", "we", "i", "you", "his", "her",
    "its", "their", "our", "my", "in", "on", "at", "by", "for", "from", "with", "but", "and", "so", "yet", "however",
    "when", "while", "after", "before", "since", "as", "if", "although", "there", "then", "now", "here", "what", "who",
    "why", "how", "some", "many", "most", "all", "no", "one", "two", "another", "both", "each", "officials", "police",
))
# fmt: on

PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*|\u2029")
END = re.compile(r"""(?P<mark>(?<![.!?…؟।])[.!?…؟।]+)(?P<close>["'”’»)\]]*)\s+|[。！？]+[」』”）]*\s*""")
LAST_TOKEN = re.compile(r"[\w.&’'-]*\Z")
NEXT_WORD = re.compile(r"""["'“‘«(\[¿¡]*([\w’'-]*)""")
SPEAKER = re.compile(r"(?:[A-Z][\w.’'-]*\s+){1,3}(?:said|says|asked|asks|added|cried|replied|wrote|wondered|told)\b")
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
MAX_TOKEN_CHARACTERS = 40  # no abbreviation is longer


def split_sentences(text: str) -> tuple[str, ...]:
    """Split a text into sentences with collapsed white space.

    A blank line always ends a sentence, a single line break never does. No sentence is empty, and a text that is not
    blank has at least one.
    """
    pieces = (piece for paragraph in PARAGRAPH.split(text) for piece in _split_paragraph(paragraph))
    collapsed = (" ".join(piece.split()) for piece in pieces)
    return tuple(sentence for sentence in collapsed if sentence)


def split_words(sentence: str) -> tuple[str, ...]:
    """The words of a sentence in lower case, without numbers and punctuation."""
    return tuple(WORD.findall(sentence.lower()))


def _split_paragraph(paragraph: str) -> list[str]:
    pieces, start = [], 0
    for end in END.finditer(paragraph):
        if _ends_sentence(paragraph, end):
            pieces.append(paragraph[start : end.end()])
            start = end.end()
    return [*pieces, paragraph[start:]]


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    following = NEXT_WORD.match(text, end.end())
    word = following[1] if following else ""
    mark = end["mark"]
    if mark is None:  # Chinese and Japanese full stops are unambiguous
        return True
    if word[:1].islower():
        return False
    if mark == "." and not end["close"]:
        return _full_stop_ends_sentence(_token_before(text, end.start()), word)
    exclaimed = "!" in mark or "?" in mark
    return not (exclaimed and end["close"] and SPEAKER.match(text, end.end()))


def _full_stop_ends_sentence(token: str, word: str) -> bool:
    """Decide about a single full stop from the token before it and the word after it."""
    lower = token.lower()
    if lower in TITLES:
        return False
    if lower in BEFORE_NUMBERS and word[:1].isdigit():
        return False
    initial = len(token) == 1 and token.isupper()
    dotted = "." in token and all(len(part) <= 2 for part in token.split("."))
    if initial or dotted or lower in AMBIGUOUS:
        return word.lower() in OPENERS or not word
    return True


def _token_before(text: str, position: int) -> str:
    match = LAST_TOKEN.search(text, max(0, position - MAX_TOKEN_CHARACTERS), position)
    return match[0].strip(".'’") if match else ""

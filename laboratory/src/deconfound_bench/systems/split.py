"""Where sentences and words begin and end, by rule and without downloaded data."""

from __future__ import annotations

import re

# fmt: off
# A full stop after these never ends a sentence: a name follows.
TITLES = frozenset((
    "mr", "mrs", "ms", "mx", "dr", "prof", "gen", "sen", "rep", "gov", "lt", "col", "sgt", "capt", "cmdr", "adm",
    "maj", "rev", "hon", "st", "mt", "messrs", "supt", "insp", "pres", "e.g", "i.e", "cf", "vs", "viz", "ca", "approx",
))
# After these it does not when a number follows.
BEFORE_NUMBERS = frozenset((
    "no", "nos", "p", "pp", "vol", "ch", "sec", "fig", "figs", "art", "jan", "feb", "mar", "apr", "jun", "jul", "aug",
    "sep", "sept", "oct", "nov", "dec",
))
# After these it does only when a word follows that seldom stands inside a sentence with a capital.
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
LONGEST_TOKEN = 40  # no abbreviation reaches back farther than this


def sentences(text: str) -> tuple[str, ...]:
    """Cut a text into sentences, each with its white space collapsed.

    A blank line always ends a sentence, a single line break never does. No sentence is empty, and a text that is not
    blank has at least one.
    """
    found = (piece for paragraph in PARAGRAPH.split(text) for piece in _pieces(paragraph))
    collapsed = (" ".join(piece.split()) for piece in found)
    return tuple(sentence for sentence in collapsed if sentence)


def words(sentence: str) -> tuple[str, ...]:
    """Give the words of a sentence in lower case, without numbers and signs."""
    return tuple(WORD.findall(sentence.lower()))


def _pieces(paragraph: str) -> list[str]:
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
    if mark is None:  # the full stops of Chinese and Japanese mean nothing else
        return True
    if word[:1].islower():
        return False
    if mark == "." and not end["close"]:
        return _stop_ends_sentence(_token_before(text, end.start()), word)
    spoken = "!" in mark or "?" in mark
    return not (spoken and end["close"] and SPEAKER.match(text, end.end()))


def _stop_ends_sentence(token: str, word: str) -> bool:
    """Judge a single full stop by the token before it and the word after it."""
    known = token.lower()
    if known in TITLES:
        return False
    if known in BEFORE_NUMBERS and word[:1].isdigit():
        return False
    initial = len(token) == 1 and token.isupper()
    dotted = "." in token and all(len(part) <= 2 for part in token.split("."))
    if initial or dotted or known in AMBIGUOUS:
        return word.lower() in OPENERS or not word
    return True


def _token_before(text: str, at: int) -> str:
    found = LAST_TOKEN.search(text, max(0, at - LONGEST_TOKEN), at)
    return found[0].strip(".'’") if found else ""

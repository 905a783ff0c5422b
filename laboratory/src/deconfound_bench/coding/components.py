"""Judge a patch from its own text and the issue's: size, locality, focus, and statistics that go with them.

    c2 size      TYPICAL_LINES / (TYPICAL_LINES + max(changed lines, files))
    c3 locality  1 / (1 + scatter), with scatter =
                 (files - 1) + (directories - 1) + log2(blocks) / BLOCKS + log2(1 + gap) / GAPS
    c4 focus     (share of the words on changed lines that the issue uses, too
                  + share of the words in the files' paths that the issue uses, too) / 2

A patch that changes no file scores 0 in all three: nothing was delivered. Whether the fix works, c1, is for the
benchmark's tests to say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.coding.patches import IDENTIFIER, Patch, read_patch

TYPICAL_LINES = 7  # changed lines at which c2 is one half: the median of the fixes that the projects' own people made
BLOCKS = 2  # four blocks in one file cost what a second file in the same directory does
GAPS = 8  # so do blocks some 250 lines apart: both ends of a file of ordinary length

# A capital starts a word, and so does the last of several before a small letter: HTTPServer is http and server.
PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
ENGLISH = """
    a about after all also an and any are as at be because been but by can could did do does for from get had has have
    how if in into is it its just like may me more my no not now of on only or other our out same should so some such
    than that the their them then there these they this those to up us use used using was we were what when where
    which while who why will with would you your
"""
PYTHON = """
    args assert async await break class cls continue def del elif else except false finally global import kwargs
    lambda none nonlocal pass py raise return self true try with yield
"""
STOP_WORDS = frozenset((ENGLISH + PYTHON).split())
STATISTICS = (
    "delivered",  # 1 if any file is changed, else 0 and all the others but the characters are 0, too
    "log_characters",  # every log is log2(1 + count)
    "log_added",
    "log_removed",
    "added_share",  # of the changed lines
    "log_files",
    "log_directories",  # of files that are not tests
    "log_hunks",
    "log_blocks",
    "log_gap",
    "depth",  # most directories above a file
    "log_created",
    "log_deleted",
    "test_share",  # of the files
    "document_share",
    "log_identifiers",
    "identifier_overlap",  # share of the identifiers on changed lines that the issue writes just so
    "line_overlap",  # share of the words on changed lines that the issue uses
    "path_overlap",
    "issue_coverage",  # share of the issue's words that stand on changed lines
    "cosine",  # of the two sets of words
)
"""What ``statistics`` gives, in its order."""

DOCUMENTS = (".md", ".rst", ".txt")


@dataclass(frozen=True, slots=True)
class _Words:
    """What the issue speaks of and what the patch touches, as distinct words."""

    issue: Set[str]
    lines: Set[str]  # on changed lines
    paths: Set[str]  # in the names of files and of the directories they are in


def components(issue: str, patch: str) -> tuple[float, float, float]:
    """Judge size (c2), locality (c3) and issue focus (c4) of a patch, each in [0, 1] and 1 the best.

    Tests count as lines and files like all else, with two exceptions: the directory they are in is the project's
    choice and costs no locality, and their paths say nothing about focus unless the patch has no other file.
    """
    read = read_patch(patch)
    if not read.files:
        return 0.0, 0.0, 0.0
    return _size(read), _locality(read), _focus(_words(issue, read))


def statistics(issue: str, patch: str) -> FloatArray:
    """Describe a patch by the numbers named in ``STATISTICS``: what a reward may learn from besides the components."""
    read = read_patch(patch)
    numbers = (
        float(bool(read.files)),
        math.log2(1 + len(patch)),
        *_amounts(read),
        *_places(read),
        *_overlaps(issue, read),
    )
    return np.array(numbers, dtype=np.float64)


def _amounts(patch: Patch) -> tuple[float, ...]:
    counts = (patch.added, patch.removed)
    added_share = patch.added / max(1, sum(counts))
    scale = (len(patch.files), len(_directories(patch.files)), patch.hunks, patch.blocks, patch.gap)
    return (*_logs(counts), added_share, *_logs(scale))


def _places(patch: Patch) -> tuple[float, ...]:
    files = patch.files
    depth = max((path.count("/") for path in files), default=0)
    tests = sum(map(is_test, files)) / max(1, len(files))
    documents = sum(path.lower().endswith(DOCUMENTS) for path in files) / max(1, len(files))
    return (depth, *_logs((len(patch.created), len(patch.deleted))), tests, documents)


def _overlaps(issue: str, patch: Patch) -> tuple[float, ...]:
    words = _words(issue, patch)
    names = {name for name in patch.touched if len(name) > 1 and name.lower() not in STOP_WORDS}
    overlap, coverage = _share(words.lines, words.issue), _share(words.issue, words.lines)
    return (
        *_logs([len(patch.touched)]),
        _share(names, set(IDENTIFIER.findall(issue))),
        overlap,
        _share(words.paths, words.issue),
        coverage,
        math.sqrt(overlap * coverage),
    )


def _logs(counts: Iterable[int]) -> tuple[float, ...]:
    return tuple(math.log2(1 + count) for count in counts)


def _size(patch: Patch) -> float:
    """At least a line a file: a thousand changed modes or pictures are not a small patch for having no lines."""
    return TYPICAL_LINES / (TYPICAL_LINES + max(patch.added + patch.removed, len(patch.files)))


def _locality(patch: Patch) -> float:
    scatter = len(patch.files) - 1 + max(1, len(_directories(patch.files))) - 1
    return 1 / (1 + scatter + math.log2(max(1, patch.blocks)) / BLOCKS + math.log2(1 + patch.gap) / GAPS)


def _focus(words: _Words) -> float:
    """A patch that changes no words, such as a renaming or a blank line, is judged by its paths alone."""
    places = _share(words.paths, words.issue)
    return (_share(words.lines, words.issue) + places) / 2 if words.lines else places


def _share(words: Set[str], known: Set[str]) -> float:
    return len(words & known) / len(words) if words else 0.0


def _words(issue: str, patch: Patch) -> _Words:
    places = _sources(patch.files) or patch.files
    return _Words(split_words([issue]), split_words(patch.touched), split_words(places))


def split_words(texts: Iterable[str]) -> Set[str]:
    """Cut prose, identifiers and paths into lower-case words, without stop words, single letters and the plural's s.

    ``QuerySet.bulk_create`` gives query, set, bulk and create.
    """
    pieces = {piece.lower() for text in texts for piece in PIECE.findall(text)}
    return {_singular(piece) for piece in pieces if len(piece) > 1 and piece not in STOP_WORDS}


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def is_test(path: str) -> bool:
    """Whether a file tests others: by its own name, or by being in a directory called ``tests``."""
    *directories, name = path.split("/")
    stem = name.split(".", 1)[0]
    pieces = {piece.lower() for piece in PIECE.findall(stem)}
    return "tests" in directories or not pieces.isdisjoint({"test", "tests", "conftest"})


def _sources(files: Iterable[str]) -> list[str]:
    return [path for path in files if not is_test(path)]


def _directories(files: Iterable[str]) -> Set[str]:
    return {path.rpartition("/")[0] for path in _sources(files)}

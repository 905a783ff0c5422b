"""Judge a patch from its own text and the issue's: size, locality, focus, and auxiliary statistics.

    c2 size      TYPICAL_LINES / (TYPICAL_LINES + max(changed lines, files))
    c3 locality  1 / (1 + scatter), with scatter =
                 (files - 1) + (directories - 1) + log2(blocks) / BLOCK_SCALE + log2(1 + gap) / GAP_SCALE
    c4 focus     (share of the words on changed lines that also occur in the issue
                  + share of the words in the files' paths that also occur in the issue) / 2

A patch that changes no file scores 0 in all three. Fix success, c1, comes from the grid's tests.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound_bench.tasks.coding.patches import IDENTIFIER, Patch, read_patch

TYPICAL_LINES = 7  # changed lines at which c2 is one half: the median of the projects' own fixes
BLOCK_SCALE = 2  # four blocks in one file cost as much as a second file in the same directory
GAP_SCALE = 8  # two blocks about 250 lines apart (the ends of an ordinary file) cost as much, too

# A capital starts a word, and so does the last of several capitals before a small letter: HTTPServer is http, server.
WORD_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
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
    "delivered",  # 1 if any file is changed; otherwise 0, and all others except log_characters are 0 as well
    "log_characters",  # every log is log2(1 + count)
    "log_added",
    "log_removed",
    "added_share",  # of the changed lines
    "log_files",
    "log_directories",  # of files that are not tests
    "log_hunks",
    "log_blocks",
    "log_gap",
    "depth",  # maximum number of directories above a file
    "log_created",
    "log_deleted",
    "test_share",  # of the files
    "document_share",
    "log_identifiers",
    "identifier_overlap",  # share of the identifiers on changed lines that occur literally in the issue
    "line_overlap",  # share of the words on changed lines that occur in the issue
    "path_overlap",
    "issue_coverage",  # share of the issue's words that occur on changed lines
    "cosine",  # of the two sets of words
)
"""The entries of ``describe_patch``, in order. They are stored with the results."""

DOCUMENT_SUFFIXES = (".md", ".rst", ".txt")


@dataclass(frozen=True, slots=True)
class _WordSets:
    """The distinct words of the issue and of the patch."""

    issue: Set[str]
    lines: Set[str]  # on changed lines
    paths: Set[str]  # in the paths of the changed files


def judge_patch(issue: str, patch: str) -> tuple[float, float, float]:
    """Size (c2), locality (c3) and issue focus (c4) of a patch, each in [0, 1], where 1 is best.

    Changes to tests count like all others, with two exceptions: their directory does not reduce locality, because the
    project determines it, and their paths do not count for focus unless the patch has no other file.
    """
    parsed = read_patch(patch)
    if not parsed.files:
        return 0.0, 0.0, 0.0
    return _size(parsed), _locality(parsed), _focus(_word_sets(issue, parsed))


def describe_patch(issue: str, patch: str) -> FloatArray:
    """The numbers named in ``STATISTICS``, from which proxies are built."""
    parsed = read_patch(patch)
    numbers = (
        float(bool(parsed.files)),
        math.log2(1 + len(patch)),
        *_counts(parsed),
        *_locations(parsed),
        *_overlaps(issue, parsed),
    )
    return np.array(numbers, dtype=np.float64)


def _counts(patch: Patch) -> tuple[float, ...]:
    lines = (patch.added, patch.removed)
    added_share = patch.added / max(1, sum(lines))
    scale = (len(patch.files), len(_directories(patch.files)), patch.hunks, patch.blocks, patch.gap)
    return (*_logs(lines), added_share, *_logs(scale))


def _locations(patch: Patch) -> tuple[float, ...]:
    files = patch.files
    depth = max((path.count("/") for path in files), default=0)
    tests = sum(map(is_test, files)) / max(1, len(files))
    documents = sum(path.lower().endswith(DOCUMENT_SUFFIXES) for path in files) / max(1, len(files))
    return (depth, *_logs((len(patch.created), len(patch.deleted))), tests, documents)


def _overlaps(issue: str, patch: Patch) -> tuple[float, ...]:
    words = _word_sets(issue, patch)
    names = {name for name in patch.identifiers if len(name) > 1 and name.lower() not in STOP_WORDS}
    overlap, coverage = _share(words.lines, words.issue), _share(words.issue, words.lines)
    return (
        *_logs([len(patch.identifiers)]),
        _share(names, set(IDENTIFIER.findall(issue))),
        overlap,
        _share(words.paths, words.issue),
        coverage,
        math.sqrt(overlap * coverage),
    )


def _logs(counts: Iterable[int]) -> tuple[float, ...]:
    return tuple(math.log2(1 + count) for count in counts)


def _size(patch: Patch) -> float:
    """A changed file counts as at least one line, so that a patch of many binary files is not small."""
    return TYPICAL_LINES / (TYPICAL_LINES + max(patch.added + patch.removed, len(patch.files)))


def _locality(patch: Patch) -> float:
    scatter = len(patch.files) - 1 + max(1, len(_directories(patch.files))) - 1
    return 1 / (1 + scatter + math.log2(max(1, patch.blocks)) / BLOCK_SCALE + math.log2(1 + patch.gap) / GAP_SCALE)


def _focus(words: _WordSets) -> float:
    """A patch that changes no words, such as a renaming or a blank line, is judged by its paths only."""
    paths = _share(words.paths, words.issue)
    return (_share(words.lines, words.issue) + paths) / 2 if words.lines else paths


def _share(words: Set[str], other: Set[str]) -> float:
    return len(words & other) / len(words) if words else 0.0


def _word_sets(issue: str, patch: Patch) -> _WordSets:
    paths = _non_tests(patch.files) or patch.files
    return _WordSets(split_words([issue]), split_words(patch.identifiers), split_words(paths))


def split_words(texts: Iterable[str]) -> Set[str]:
    """Split prose, identifiers and paths into lower-case singular words, without stop words and single letters.

    ``QuerySet.bulk_create`` gives query, set, bulk and create.
    """
    pieces = {piece.lower() for text in texts for piece in WORD_PART.findall(text)}
    return {_singular(piece) for piece in pieces if len(piece) > 1 and piece not in STOP_WORDS}


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def is_test(path: str) -> bool:
    """Whether a path belongs to a test: by the file's name, or by a directory called ``tests``."""
    *directories, name = path.split("/")
    stem = name.split(".", 1)[0]
    pieces = {piece.lower() for piece in WORD_PART.findall(stem)}
    return "tests" in directories or not pieces.isdisjoint({"test", "tests", "conftest"})


def _non_tests(files: Iterable[str]) -> list[str]:
    return [path for path in files if not is_test(path)]


def _directories(files: Iterable[str]) -> Set[str]:
    return {path.rpartition("/")[0] for path in _non_tests(files)}

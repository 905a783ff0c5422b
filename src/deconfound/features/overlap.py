"""What an output's words share with its context and with each other, for many pairs at once.

Words are integers here and sets are sorted arrays: one sort serves all pairs, where a set a pair would cost several
times as much. Keys pack a group and up to two words into 63 bits; the size of a batch keeps them from overflowing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray
from deconfound.features.texts import Texts
from deconfound.features.tokenize import Words

BLOCK = 25
"""Words in each of the blocks whose variety is averaged."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """For each pair; ``position`` is between 0 and 1, all others are counts."""

    words: FloatArray  # of the output
    context_words: FloatArray
    known: FloatArray  # output words that the context has
    bigrams: FloatArray
    known_bigrams: FloatArray
    recalled: FloatArray  # distinct context words that the output has
    context_distinct: FloatArray
    novel: FloatArray  # distinct output words that the context lacks
    run: FloatArray  # longest run of output words whose neighbours all stand side by side in the context
    position: FloatArray  # mean place in the context of the bigrams taken from it; one half if there are none
    numbers: FloatArray  # output words that begin with a digit
    known_numbers: FloatArray


def read_overlap(texts: Texts) -> Overlap:
    """Compare each pair's output with its context."""
    size = len(texts.vocabulary)
    output = texts.output_words.take(texts.output)
    context = texts.context[output.text]  # the context that each output word is compared with
    pairs = len(texts.context)
    shelf = _sorted_set(texts.context_words.text * size + texts.context_words.codes)
    known = _find(shelf, context * size + output.codes)[0]
    distinct = _distinct(output.text, output.codes, pairs)
    recalled = _distinct(output.text[known], output.codes[known], pairs)
    found, place = _find_bigrams(texts.context_words, output, context, size)
    number = _numeric(texts)[output.codes]
    context_distinct = np.bincount(shelf // max(size, 1), minlength=len(texts.contexts)).astype(np.float64)
    copied = _sums(found, output)
    return Overlap(
        words=output.counts.astype(np.float64),
        context_words=texts.context_words.counts[texts.context].astype(np.float64),
        known=_sums(known, output),
        bigrams=np.maximum(output.counts - 1, 0).astype(np.float64),
        known_bigrams=copied,
        recalled=recalled,
        context_distinct=context_distinct[texts.context],
        novel=distinct - recalled,
        run=np.maximum(_longest(found, output), _sums(known, output) > 0),
        position=np.where(copied > 0, _sums(place, output) / np.maximum(copied, 1.0), 0.5),
        numbers=_sums(number, output),
        known_numbers=_sums(number & known, output),
    )


@dataclass(frozen=True, slots=True)
class Variety:
    """How much each of several texts repeats itself; all counts."""

    distinct: FloatArray
    distinct_in_blocks: FloatArray  # distinct words of each block, summed over blocks
    distinct_bigrams: FloatArray
    distinct_trigrams: FloatArray


def read_variety(words: Words, size: int) -> Variety:
    """Count distinct words and phrases of each text; ``size`` is that of the vocabulary."""
    texts, text = len(words.counts), words.text
    offset = np.arange(len(words.codes)) - words.start[text]
    # Blocks are numbered through all texts, so that no block spans two of them.
    block_start = np.concatenate(([0], np.cumsum(-(-words.counts // BLOCK))))
    blocks = _distinct(block_start[text] + offset // BLOCK, words.codes, int(block_start[-1]))
    running = np.concatenate(([0.0], np.cumsum(blocks)))
    second = np.flatnonzero(offset >= 1)
    _, bigram = np.unique(words.codes[second - 1] * size + words.codes[second], return_inverse=True)
    third = offset[second] >= 2
    # The bigram before bigram j of the same text is bigram j - 1, whatever the texts' lengths.
    trigram = bigram[np.flatnonzero(third) - 1] * size + words.codes[second[third]]
    return Variety(
        distinct=_distinct(text, words.codes, texts),
        distinct_in_blocks=running[block_start[1:]] - running[block_start[:-1]],
        distinct_bigrams=_distinct(text[second], bigram, texts),
        distinct_trigrams=_distinct(text[second[third]], np.unique(trigram, return_inverse=True)[1], texts),
    )


def _numeric(texts: Texts) -> NDArray[np.bool_]:
    digits = (word[:1].isdigit() for word in texts.vocabulary)
    return np.fromiter(digits, np.bool_, len(texts.vocabulary))


def _find_bigrams(shelf: Words, output: Words, context: IntArray, size: int) -> tuple[NDArray[np.bool_], FloatArray]:
    """For each output word, whether it and the next stand together in the context, and how far in, from 0 to 1."""
    opens = _opens_bigram(shelf)
    text = shelf.text[opens]
    keys = (text * size + shelf.codes[opens]) * size + shelf.codes[opens + 1]
    keys, first = np.unique(keys, return_index=True)
    place = (opens - shelf.start[text]) / np.maximum(shelf.counts[text] - 2, 1)
    queries = _opens_bigram(output)
    hit, where = _find(keys, (context[queries] * size + output.codes[queries]) * size + output.codes[queries + 1])
    found = np.zeros(len(output.codes), dtype=np.bool_)
    found[queries[hit]] = True
    places = np.zeros(len(output.codes))
    places[queries[hit]] = place[first[where[hit]]]
    return found, places


def _opens_bigram(words: Words) -> IntArray:
    """Where the words stand that have a next word in the same text."""
    opens = np.ones(len(words.codes), dtype=np.bool_)
    opens[words.start[1:][words.counts > 0] - 1] = False
    return np.flatnonzero(opens)


def _find(shelf: IntArray, queries: IntArray) -> tuple[NDArray[np.bool_], IntArray]:
    """Whether, and where, each query stands in a sorted array."""
    where = np.minimum(np.searchsorted(shelf, queries), max(len(shelf) - 1, 0))
    hit = shelf[where] == queries if len(shelf) else np.zeros(len(queries), dtype=np.bool_)
    return hit, where


def _distinct(group: IntArray, code: IntArray, groups: int) -> FloatArray:
    """Number of different codes in each group."""
    size = int(code.max(initial=0)) + 1
    return np.bincount(_sorted_set(group * size + code) // size, minlength=groups).astype(np.float64)


def _sorted_set(keys: IntArray) -> IntArray:
    """The different keys, none of them negative; for integers a plain sort is far faster than ``np.unique``."""
    keys = np.sort(keys)
    fresh: IntArray = keys[np.diff(keys, prepend=-1) != 0]
    return fresh


def _sums(values: NDArray[np.generic], words: Words) -> FloatArray:
    return np.bincount(words.text, weights=values, minlength=len(words.counts)).astype(np.float64)


def _longest(found: NDArray[np.bool_], words: Words) -> FloatArray:
    """Words in the longest run of found bigrams of each text; a text's last word opens none and ends every run."""
    at = np.arange(len(found))
    run = np.where(found, at - np.maximum.accumulate(np.where(found, -1, at)), 0)
    longest = np.zeros(len(words.counts))
    filled = words.counts > 0
    if filled.any():
        longest[filled] = np.maximum.reduceat(run, words.start[:-1][filled])
    return np.where(longest > 0, longest + 1, 0.0)

"""Words that an output shares with its context, and words that it repeats, for many pairs at once.

Words are integers here and sets are sorted arrays: one sort serves all pairs, where one Python set per pair would cost
several times as much. Keys pack a group and up to two words into 63 bits; batches are small enough not to overflow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray
from tests.support.plain_text.plain_words import TokenizedPairs, TokenizedTexts

BLOCK_WORDS = 25
"""Words in each block of which distinct words are counted."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Statistics of each pair; ``position`` is between 0 and 1, all others are counts."""

    words: FloatArray  # of the output
    context_words: FloatArray
    in_context: FloatArray  # output words that occur in the context
    bigrams: FloatArray
    bigrams_in_context: FloatArray
    context_words_used: FloatArray  # distinct context words that occur in the output
    context_distinct: FloatArray
    novel: FloatArray  # distinct output words that do not occur in the context
    longest_copied_run: FloatArray  # output words in the longest run of bigrams that occur in the context
    position: FloatArray  # mean position in the context of the bigrams taken from it; one half if there are none
    numbers: FloatArray  # output words that begin with a digit
    numbers_in_context: FloatArray


def measure_overlap(pairs: TokenizedPairs) -> Overlap:
    """Compare each pair's output with its context."""
    size = len(pairs.vocabulary)
    output = pairs.output_tokens.take(pairs.output)
    context = pairs.context[output.text_of_token]  # the context that each output word is compared with
    count = len(pairs.context)
    context_keys = _unique_sorted(pairs.context_tokens.text_of_token * size + pairs.context_tokens.token_ids)
    in_context = _find(context_keys, context * size + output.token_ids)[0]
    distinct = _count_distinct(output.text_of_token, output.token_ids, count)
    used = _count_distinct(output.text_of_token[in_context], output.token_ids[in_context], count)
    copied, position = _find_bigrams(pairs.context_tokens, output, context, size)
    is_number = _starts_with_digit(pairs)[output.token_ids]
    context_distinct = np.bincount(context_keys // max(size, 1), minlength=len(pairs.contexts)).astype(np.float64)
    copied_bigrams = _sum_by_text(copied, output)
    return Overlap(
        words=output.counts.astype(np.float64),
        context_words=pairs.context_tokens.counts[pairs.context].astype(np.float64),
        in_context=_sum_by_text(in_context, output),
        bigrams=np.maximum(output.counts - 1, 0).astype(np.float64),
        bigrams_in_context=copied_bigrams,
        context_words_used=used,
        context_distinct=context_distinct[pairs.context],
        novel=distinct - used,
        longest_copied_run=np.maximum(_longest_run(copied, output), _sum_by_text(in_context, output) > 0),
        position=np.where(copied_bigrams > 0, _sum_by_text(position, output) / np.maximum(copied_bigrams, 1.0), 0.5),
        numbers=_sum_by_text(is_number, output),
        numbers_in_context=_sum_by_text(is_number & in_context, output),
    )


@dataclass(frozen=True, slots=True)
class Repetition:
    """Distinct words and phrases of each text; all are counts."""

    distinct: FloatArray
    distinct_in_blocks: FloatArray  # distinct words of each block, summed over blocks
    distinct_bigrams: FloatArray
    distinct_trigrams: FloatArray


def measure_repetition(tokens: TokenizedTexts, size: int) -> Repetition:
    """Count distinct words and phrases of each text; ``size`` is that of the vocabulary."""
    texts, text, token = len(tokens.counts), tokens.text_of_token, tokens.token_ids
    position = np.arange(len(token)) - tokens.offsets[text]
    # Blocks are numbered through all texts, so that no block spans two of them.
    block_start = np.concatenate(([0], np.cumsum(-(-tokens.counts // BLOCK_WORDS))))
    blocks = _count_distinct(block_start[text] + position // BLOCK_WORDS, token, int(block_start[-1]))
    running = np.concatenate(([0.0], np.cumsum(blocks)))
    second = np.flatnonzero(position >= 1)
    _, bigram = np.unique(token[second - 1] * size + token[second], return_inverse=True)
    third = position[second] >= 2
    # The bigram before bigram j of the same text is bigram j - 1, whatever the texts' lengths.
    trigram = bigram[np.flatnonzero(third) - 1] * size + token[second[third]]
    return Repetition(
        distinct=_count_distinct(text, token, texts),
        distinct_in_blocks=running[block_start[1:]] - running[block_start[:-1]],
        distinct_bigrams=_count_distinct(text[second], bigram, texts),
        distinct_trigrams=_count_distinct(text[second[third]], np.unique(trigram, return_inverse=True)[1], texts),
    )


def _starts_with_digit(pairs: TokenizedPairs) -> NDArray[np.bool_]:
    digits = (word[:1].isdigit() for word in pairs.vocabulary)
    return np.fromiter(digits, np.bool_, len(pairs.vocabulary))


def _find_bigrams(
    contexts: TokenizedTexts, output: TokenizedTexts, context: IntArray, size: int
) -> tuple[NDArray[np.bool_], FloatArray]:
    """For each output word, whether it and the next are a bigram of the context, and its position from 0 to 1."""
    starts = _bigram_starts(contexts)
    text = contexts.text_of_token[starts]
    keys = (text * size + contexts.token_ids[starts]) * size + contexts.token_ids[starts + 1]
    keys, first = np.unique(keys, return_index=True)
    position = (starts - contexts.offsets[text]) / np.maximum(contexts.counts[text] - 2, 1)
    queries = _bigram_starts(output)
    query_keys = (context[queries] * size + output.token_ids[queries]) * size + output.token_ids[queries + 1]
    hit, where = _find(keys, query_keys)
    copied = np.zeros(len(output.token_ids), dtype=np.bool_)
    copied[queries[hit]] = True
    positions = np.zeros(len(output.token_ids))
    positions[queries[hit]] = position[first[where[hit]]]
    return copied, positions


def _bigram_starts(tokens: TokenizedTexts) -> IntArray:
    """Indices of the words that have a next word in the same text."""
    starts = np.ones(len(tokens.token_ids), dtype=np.bool_)
    starts[tokens.offsets[1:][tokens.counts > 0] - 1] = False
    return np.flatnonzero(starts)


def _find(sorted_keys: IntArray, queries: IntArray) -> tuple[NDArray[np.bool_], IntArray]:
    """Whether each query occurs in a sorted array, and where."""
    where = np.minimum(np.searchsorted(sorted_keys, queries), max(len(sorted_keys) - 1, 0))
    hit = sorted_keys[where] == queries if len(sorted_keys) else np.zeros(len(queries), dtype=np.bool_)
    return hit, where


def _count_distinct(group: IntArray, code: IntArray, groups: int) -> FloatArray:
    """Number of distinct codes in each group."""
    size = int(code.max(initial=0)) + 1
    return np.bincount(_unique_sorted(group * size + code) // size, minlength=groups).astype(np.float64)


def _unique_sorted(keys: IntArray) -> IntArray:
    """The distinct keys, which must not be negative; for integers a plain sort is far faster than ``np.unique``."""
    keys = np.sort(keys)
    unique: IntArray = keys[np.diff(keys, prepend=-1) != 0]
    return unique


def _sum_by_text(values: NDArray[np.generic], tokens: TokenizedTexts) -> FloatArray:
    return np.bincount(tokens.text_of_token, weights=values, minlength=len(tokens.counts)).astype(np.float64)


def _longest_run(copied: NDArray[np.bool_], tokens: TokenizedTexts) -> FloatArray:
    """Words in the longest run of copied bigrams of each text; a text's last word starts none and ends every run."""
    at = np.arange(len(copied))
    run = np.where(copied, at - np.maximum.accumulate(np.where(copied, -1, at)), 0)
    longest = np.zeros(len(tokens.counts))
    nonempty = tokens.counts > 0
    if nonempty.any():
        longest[nonempty] = np.maximum.reduceat(run, tokens.offsets[:-1][nonempty])
    return np.where(longest > 0, longest + 1, 0.0)

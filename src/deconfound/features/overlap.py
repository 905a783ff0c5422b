"""Words that an output shares with its context, and words that it repeats, for many pairs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.features.tokenize import NumberedWords, TokenizedPairs, random_key

BLOCK_WORDS = 25
"""Words in each block of which distinct words are counted."""

LONG_WORD = 6
"""Words of more characters than this count as long in the readability index."""


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
    numbers: FloatArray  # output words that begin with a digit
    numbers_in_context: FloatArray
    position: FloatArray  # mean position in the context of the bigrams taken from it; one half if there are none


def measure_overlap(pairs: TokenizedPairs, words: NumberedWords) -> Overlap:
    """Compare each pair's output with its context."""
    from deconfound.features.kernels.overlap_kernels import compare_pairs

    counts = np.zeros((len(pairs.context), len(Overlap.__dataclass_fields__) - 1), dtype=np.int64)
    positions = np.zeros(len(pairs.context))
    compare_pairs(
        *(words.contexts, pairs.context_words.offsets, words.outputs, pairs.output_words.offsets),
        *(pairs.context, pairs.output, words.is_number, random_key(), counts, positions),
    )
    copied = counts[:, 4]
    position = np.where(copied > 0, positions / np.maximum(copied, 1), 0.5)
    return Overlap(*np.vstack([counts.T, position]))


@dataclass(frozen=True, slots=True)
class Repetition:
    """Distinct words and phrases of each output, and kinds of words; all are counts."""

    distinct: FloatArray
    distinct_in_blocks: FloatArray  # distinct words of each block, summed over blocks
    distinct_bigrams: FloatArray
    distinct_trigrams: FloatArray
    characters: FloatArray  # of all words
    long: FloatArray  # words of more than ``LONG_WORD`` characters
    hedges: FloatArray


def measure_repetition(pairs: TokenizedPairs, words: NumberedWords) -> Repetition:
    """Count distinct words and phrases of each output."""
    from deconfound.features.kernels.overlap_kernels import count_distinct, count_kinds

    offsets = pairs.output_words.offsets
    distinct, kinds = np.zeros((len(pairs.outputs), 4), np.int64), np.zeros((len(pairs.outputs), 3), np.int64)
    count_distinct(words.outputs, offsets, len(words.length), BLOCK_WORDS, random_key(), distinct)
    count_kinds(words.outputs, offsets, words.length, words.is_hedge, LONG_WORD, kinds)
    return Repetition(*np.hstack([distinct, kinds]).T.astype(np.float64))

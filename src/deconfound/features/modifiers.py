"""Effect modifiers: features by which the differences between models may vary, mostly of the context.

With text they are the hashed words and the length and style of the context, without it the ``feature_*`` columns. There
are few of them, because a reward has one coefficient per model for each.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray
from deconfound.features.characters import count_characters
from deconfound.features.tokenize import TokenizedPairs

WORD_BUCKETS = 128  # words of a context share columns; their signs are random, so that collisions cancel on average


def context_modifiers(pairs: TokenizedPairs, hashed_contexts: sparse.csr_matrix) -> FloatArray:
    """Word columns and statistics of each pair's context, before scaling (pairs, WORD_BUCKETS + STATISTICS)."""
    folded = _fold(hashed_contexts)
    return np.asarray(np.hstack([folded, _statistics(pairs)])[pairs.context])


def _fold(text: sparse.csr_matrix) -> FloatArray:
    """Add up hashed columns whose numbers are equal modulo ``WORD_BUCKETS``."""
    shape = (text.shape[0], WORD_BUCKETS)
    folded: FloatArray = sparse.csr_matrix((text.data, text.indices % WORD_BUCKETS, text.indptr), shape).toarray()
    return folded


def _statistics(pairs: TokenizedPairs) -> FloatArray:
    """The statistics of ``words.prompt_style`` for each distinct context."""
    counts = count_characters(pairs.contexts)
    chars = np.maximum(counts.chars, 1.0)
    sizes = (pairs.context_words.counts, counts.lines, counts.questions)
    shares = (counts.chars - counts.letters, counts.digits, counts.upper, counts.punctuation)
    return np.column_stack([*(np.log1p(size) for size in sizes), *(share / chars for share in shares)])

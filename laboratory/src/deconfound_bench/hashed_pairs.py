"""Pairs of context and output as hashed text, and their inner products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.features.hashing import hashed, word_hashes
from deconfound.features.texts import read_texts
from deconfound.linalg import sparse_product


@dataclass(frozen=True, slots=True)
class HashedPairs:
    """phi of (context, output) pairs, stored as two parts: phi_i = contexts[context_i] + outputs_i.

    Many outputs share a context, so products with the long context part are computed once per context.
    """

    contexts: sparse.csr_matrix  # (contexts, buckets)
    outputs: sparse.csr_matrix  # (pairs, buckets)
    context: IntArray  # (pairs,)

    def phi(self) -> sparse.csr_matrix:
        """The features of all pairs as one sparse matrix."""
        return sparse.csr_matrix(self.contexts[self.context] + self.outputs)

    def kernel(self, other: HashedPairs) -> FloatArray:
        """Inner products (pairs, other pairs); cross terms are nonzero where hashed columns collide."""
        product = sparse_product(self.outputs, other.outputs)
        product += sparse_product(self.contexts, other.contexts)[np.ix_(self.context, other.context)]
        product += sparse_product(self.contexts, other.outputs)[self.context]
        product += sparse_product(self.outputs, other.contexts)[:, other.context]
        return product


def hash_pairs(contexts: Sequence[str], outputs: Sequence[str], context: IntArray, buckets: int) -> HashedPairs:
    """Hash each context and each output once."""
    texts = read_texts(contexts, outputs, context, np.arange(len(outputs)))
    hashes = word_hashes(texts.vocabulary)
    return HashedPairs(
        hashed(texts.context_words, hashes, "context", buckets),
        hashed(texts.output_words, hashes, "output", buckets),
        context,
    )

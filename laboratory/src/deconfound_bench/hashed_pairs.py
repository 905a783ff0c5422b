"""Pairs of context and output as hashed text, their inner products and their effect modifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray, csr_inner_products
from deconfound.features.hashing import hash_words
from deconfound.features.modifiers import context_modifiers
from deconfound.features.tokenize import tokenize_pairs


@dataclass(frozen=True, slots=True)
class HashedPairs:
    """phi of (context, output) pairs, stored as two parts: phi_i = contexts[context_i] + outputs_i.

    Many outputs share a context, so products with the long context part are computed once per context.
    """

    contexts: sparse.csr_matrix  # (contexts, buckets)
    outputs: sparse.csr_matrix  # (pairs, buckets)
    context: IntArray  # (pairs,)
    modifiers: FloatArray  # (pairs, c) effect modifiers before scaling

    def phi(self) -> sparse.csr_matrix:
        """The features of all pairs as one sparse matrix."""
        return sparse.csr_matrix(self.contexts[self.context] + self.outputs)

    def kernel(self, other: HashedPairs) -> FloatArray:
        """Inner products (pairs, other pairs); cross terms are nonzero where hashed columns collide."""
        product = csr_inner_products(self.outputs, other.outputs)
        product += csr_inner_products(self.contexts, other.contexts)[np.ix_(self.context, other.context)]
        product += csr_inner_products(self.contexts, other.outputs)[self.context]
        product += csr_inner_products(self.outputs, other.contexts)[:, other.context]
        return product


def hash_pairs(contexts: Sequence[str], outputs: Sequence[str], context: IntArray, buckets: int) -> HashedPairs:
    """Hash each context and each output once."""
    texts = tokenize_pairs(contexts, outputs, context, np.arange(len(outputs)))
    hashed_contexts = hash_words(texts.context_words, "context", buckets)
    hashed_outputs = hash_words(texts.output_words, "output", buckets)
    return HashedPairs(hashed_contexts, hashed_outputs, context, context_modifiers(texts, hashed_contexts))

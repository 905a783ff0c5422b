"""What a context is about, in a few numbers: TF-IDF and a truncated singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError


def embed(learned_from: Sequence[str], texts: Sequence[str], terms: int, size: int, seed: int) -> FloatArray:
    """Embeddings (texts, size), learned from other texts of the same kind; outputs never enter."""
    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise UsageError('This benchmark needs scikit-learn: pip install "deconfound[bench]".') from error
    words = TfidfVectorizer(stop_words="english", ngram_range=(1, 2), max_features=terms)
    try:
        counts = words.fit_transform(learned_from)
    except ValueError as error:
        raise UsageError("The articles hold nothing but stop words; give English articles of some length.") from error
    if min(counts.shape) <= size:
        raise UsageError(
            f"{len(learned_from)} articles with {counts.shape[1]} terms are too few for an embedding of {size} "
            "dimensions; give more articles."
        )
    return np.asarray(TruncatedSVD(size, random_state=seed).fit(counts).transform(words.transform(texts)))

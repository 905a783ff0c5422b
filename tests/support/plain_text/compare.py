"""Compiled features next to the plain ones: the same bits, or the first difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.features.characters import CharacterCounts, count_characters
from deconfound.features.hashing import add_rows, hash_texts
from deconfound.features.surface import SURFACE_STATISTICS, surface_statistics
from deconfound.features.text_arrays import read_texts
from deconfound.features.tokenize import split_texts, tokenize_pairs
from deconfound.words.phrase_hashing import Namespace
from deconfound.words.word_splitting import MAX_CHARACTERS
from tests.support.plain_text import plain_characters, plain_hashing, plain_surface, plain_words

LOGARITHM_RTOL = 1e-15


def plain_rows(texts: Sequence[str], namespace: Namespace, buckets: int):
    vocabulary = plain_words.Vocabulary()
    words = plain_words.tokenize_texts(texts, vocabulary)
    return plain_hashing.hash_texts(words, plain_hashing.word_hashes(vocabulary), namespace, buckets)


def assert_same_words(texts: Sequence[str]) -> None:
    """The same words in the same texts."""
    words = split_texts(read_texts(texts))
    plain = [plain_words.tokenize(text) for text in texts]
    assert words.counts.tolist() == [len(one) for one in plain]
    flat = [word for one in plain for word in one]
    assert np.diff(words.ends, prepend=0).tolist() == [len(word) for word in flat]
    assert words.data[: words.ends[-1] if flat else 0].tobytes() == b"".join(flat)


def assert_same_matrix(one, other) -> None:
    """The same sparse matrix, entry by entry and bit by bit."""
    assert one.shape == other.shape
    for part in ("indptr", "indices", "data"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert mine.dtype == theirs.dtype
        assert mine.tobytes() == theirs.tobytes(), part


def assert_same_rows(texts: Sequence[str], namespace: Namespace, buckets: int) -> None:
    """The same hashed text."""
    assert_same_matrix(hash_texts(read_texts(texts), namespace, buckets), plain_rows(texts, namespace, buckets))


def assert_same_sums(contexts: Sequence[str], outputs: Sequence[str], pairs: np.ndarray, buckets: int) -> None:
    """The same sums of hashed contexts and outputs."""
    context, output = np.ascontiguousarray(pairs.T)
    plain = plain_rows(contexts, "context", buckets), plain_rows(outputs, "output", buckets)
    assert_same_matrix(add_rows(*plain, context, output), plain[0][context] + plain[1][output])


def assert_same_counts(texts: Sequence[str]) -> None:
    """The same characters, lines and sentences."""
    compiled = count_characters(read_texts(texts))
    plain = plain_characters.count_characters([text[:MAX_CHARACTERS] for text in texts])
    for field in CharacterCounts.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(compiled, field), getattr(plain, field), err_msg=field)


def assert_same_statistics(contexts: Sequence[str], outputs: Sequence[str], pairs: np.ndarray) -> None:
    """The same surface statistics of pairs (n, 2) of context and output.

    Bit for bit, but for logarithms: those of the oldest supported NumPy have differed in the last bit from run to run.
    """
    context, output = np.ascontiguousarray(pairs.T)
    compiled = surface_statistics(tokenize_pairs(contexts, outputs, context, output))
    plain = plain_surface.surface_statistics(plain_words.tokenize_pairs(contexts, outputs, context, output))
    for at, (name, meaning) in enumerate(SURFACE_STATISTICS):
        if meaning.startswith("log"):
            np.testing.assert_allclose(
                compiled[:, at], plain[:, at], rtol=LOGARITHM_RTOL, atol=LOGARITHM_RTOL, err_msg=name
            )
        else:
            np.testing.assert_array_equal(compiled[:, at], plain[:, at], err_msg=name)

"""Words and their hashes: what counts as a word, its column and sign, and that only blank text has no words."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deconfound.features.hashing import hash_texts
from deconfound.features.text_arrays import read_texts
from deconfound.words.word_splitting import MAX_CHARACTERS, tokenize

BUCKETS = 2**18
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


def rows(texts, namespace="context", buckets=BUCKETS):
    return hash_texts(read_texts(texts), namespace, buckets)


def naive_row(text, namespace, buckets):
    """One text in plain Python integers, following the description in docs/features.md."""
    constants = {
        ("context", 1): 0x9E3779B97F4A7C15,
        ("context", 2): 0xC2B2AE3D27D4EB4F,
        ("output", 1): 0x165667B19E3779F9,
        ("output", 2): 0xD6E8FEB86659FD93,
    }

    def mixed(key):
        key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        key = (key ^ key >> 27) * 0x94D049BB133111EB % 2**64
        return key ^ key >> 31

    codes = [zlib.crc32(word) for word in tokenize(text)]
    keys = [mixed(code ^ constants[namespace, 1]) for code in codes]
    keys += [mixed((a << 32 | b) ^ constants[namespace, 2]) for a, b in itertools.pairwise(codes)]
    totals = Counter()
    for key in keys:
        totals[(key >> 1) % buckets] += -1 if key & 1 else 1
    row = np.zeros(buckets)
    row[list(totals)] = list(totals.values())
    norm = np.sqrt((row**2).sum())
    return row / norm if norm else row


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I am 7, a b!", ["i", "am", "7", "a", "b"]),
        ("foo_bar(x) != self.y2", ["foo_bar", "x", "self", "y2"]),
        ("don’t “quote” — me", ["don", "t", "quote", "me"]),
        ("机器学习 ok", ["机", "器", "学", "习", "ok"]),
        ("Привет, МИР", ["привет", "мир"]),
        ("مرحبا، كيف؟", ["مرحبا", "كيف"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("great👍👍", ["great", "👍", "👍"]),
        ("?! +++", ["?!", "+++"]),
        (" \n\t ", []),
        ("", []),
    ],
)
def test_words_of_every_script_and_of_code_are_split(text, words):
    assert [word.decode() for word in tokenize(text)] == words


@given(TEXT)
def test_only_blank_text_has_no_words(text):
    assert bool(tokenize(text)) == bool(text.strip())


def test_words_beyond_the_limit_are_ignored():
    assert tokenize("a" * MAX_CHARACTERS + " tail") == [b"a" * MAX_CHARACTERS]


@given(st.lists(TEXT, max_size=6), st.sampled_from(["context", "output"]), st.sampled_from([1, 7, 64]))
def test_hashed_rows_equal_a_naive_implementation(texts, namespace, buckets):
    """Few buckets make words collide and cancel, which the naive implementation must reproduce too."""
    expected = np.array([naive_row(text, namespace, buckets) for text in texts]).reshape(-1, buckets)
    np.testing.assert_allclose(rows(texts, namespace, buckets).toarray(), expected, rtol=1e-14, atol=0)


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_each_namespace_has_unit_length_unless_it_has_no_words(texts):
    lengths = np.sqrt(rows(texts).multiply(rows(texts)).sum(axis=1)).A1
    np.testing.assert_allclose(lengths, [1.0 if text.strip() else 0.0 for text in texts], rtol=1e-14)


def test_the_same_word_gets_unrelated_columns_in_each_namespace():
    text = " ".join(f"word{n}" for n in range(200))
    context, output = rows([text], "context"), rows([text], "output")
    assert context.shape == output.shape == (1, BUCKETS)
    # 399 phrases meet by chance in 399^2 / 2^18 = 0.6 columns on average.
    assert len(np.intersect1d(context.indices, output.indices)) <= 5


def test_words_spread_evenly_over_columns_and_signs():
    """Counts of 20,000 words in 64 columns: chi-square with 63 degrees of freedom, 99.9999 % quantile 131."""
    matrix = rows([f"w{n}" for n in range(20_000)], buckets=64)
    counts = np.bincount(matrix.indices, minlength=64)
    assert ((counts - 312.5) ** 2 / 312.5).sum() < 131
    assert abs(matrix.data.sum()) < 5 * np.sqrt(20_000)


def test_word_order_changes_only_the_pairs():
    one, other = rows(["a b c"]), rows(["c b a"])
    assert one.nnz == other.nnz == 5
    assert len(np.intersect1d(one.indices, other.indices)) == 3


def test_a_text_has_the_same_hashes_alone_and_among_others():
    texts = ["the cat sat", "", "on the mat the cat", "猫"]
    together = rows(texts)
    for at, text in enumerate(texts):
        assert (together[at] != rows([text])).nnz == 0

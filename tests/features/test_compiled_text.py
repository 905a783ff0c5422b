"""Compiled text features against the plain Python ones in tests/support/plain_text: the same bits for any text."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deconfound.features import distinct_rows, hashing
from deconfound.features.distinct_rows import BlockLayout, extract_features
from deconfound.features.hashing import hash_texts
from deconfound.features.text_arrays import read_texts
from deconfound.words.word_splitting import MAX_CHARACTERS
from tests.support.plain_text.compare import (
    assert_same_counts,
    assert_same_matrix,
    assert_same_rows,
    assert_same_statistics,
    assert_same_sums,
    assert_same_words,
)
from tests.support.plain_text.odd_texts import PHRASES, TEXT, random_text

TEXTS = st.lists(TEXT, min_size=1, max_size=6)
BUCKETS = st.sampled_from([1, 2, 7, 64, 1000, 2**18, 2**31 - 1])
FUZZ_TEXTS = 1500
HOSTILE = {
    "ten megabytes": "word “Ü” " * 1_000_000,
    "one word": "é" * (MAX_CHARACTERS + 1),
    "marks": "a" + "\u0301" * 100_000 + "Σ" + "\u0301" * 100_000 + "b",
    "sigmas": "ΑΣ" * 50_000 + "Σ" * 50_000,
    "carriage returns": "a\r" * 10_000 + "- b\r# c\r",
    "families": "👩‍👩‍👧" * 10_000,
    "dotted": "İ" * 10_000 + " apologİ",
    "unassigned": "\u0378\U000e0fff\U0010ffff" * 1_000,
    "longer in lower case": "Ⱥ" * 10_000,
    "blank": "\u3000\x1c \x85" * 10_000,
    "symbols": "?! +++ \u2003" * 10_000,
    "same sentence": "No. " * 20_000,
    "many sentences": "".join(f"{n}. " for n in range(20_000)),
}


def all_pairs(contexts, outputs):
    return np.array([(i, j) for i in range(len(contexts)) for j in range(len(outputs))])


@given(TEXTS)
@example(["", "ΣΑΣ ΑΣ. aΣ'b Σ", "?! +++", "İ"])
def test_words_are_those_of_plain_python(texts):
    assert_same_words(texts)


@given(TEXTS, st.sampled_from(["context", "output"]), BUCKETS)
def test_hashed_rows_are_those_of_plain_python(texts, namespace, buckets):
    assert_same_rows(texts, namespace, buckets)


@given(TEXTS, TEXTS, BUCKETS)
def test_sums_of_rows_are_those_of_scipy(contexts, outputs, buckets):
    assert_same_sums(contexts, outputs, all_pairs(contexts, outputs), buckets)


@given(TEXTS)
@example(["a.” b", "a.)x", "…\n", " a . a . a", "2) x", "1234. x", "•\tx", "- ", "#", "```` ****** |"])
def test_counts_are_those_of_the_patterns(texts):
    assert_same_counts(texts)


@given(TEXTS, TEXTS)
def test_surface_statistics_are_those_of_plain_python(contexts, outputs):
    assert_same_statistics(contexts, outputs, all_pairs(contexts, outputs))


def test_many_random_texts_have_the_same_features():
    """Long texts and many words at once, which small examples do not reach."""
    source = random.Random(0)  # noqa: S311
    contexts = [
        random_text(source) + " ".join(source.choices(PHRASES, k=200)) * (n % 50 == 0) for n in range(FUZZ_TEXTS)
    ]
    outputs = [source.choice(contexts)[:60] + random_text(source) for _ in range(FUZZ_TEXTS)]
    pairs = np.array(sorted((source.randrange(FUZZ_TEXTS), source.randrange(FUZZ_TEXTS)) for _ in range(FUZZ_TEXTS)))
    assert_same_words(contexts)
    assert_same_rows(contexts, "context", 2**18)
    assert_same_counts(contexts)
    assert_same_statistics(contexts, outputs, pairs)


def test_every_code_point_is_split_like_plain_python():
    """Between letters, so that it shows whether the code point joins, separates or is a word."""
    points = [chr(n) for n in range(0x110000) if not 0xD800 <= n <= 0xDFFF]
    assert_same_words(["".join(f"x{one}Y " for one in points[at : at + 4096]) for at in range(0, len(points), 4096)])


@pytest.mark.slow
def test_every_code_point_is_counted_like_plain_python():
    points = [chr(n) for n in range(0x110000) if not 0xD800 <= n <= 0xDFFF]
    for at in range(0, len(points), 65_536):
        part = points[at : at + 65_536]
        assert_same_counts([f"{one}a.{one} B{one}" for one in part])
        assert_same_words([f"aΣ{one}b a{one}Σ aΣ{one}" for one in part] + part)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_has_the_same_features(name):
    text = HOSTILE[name]
    assert_same_words([text, "a", text])
    assert_same_rows([text], "output", 2**18)
    assert_same_counts([text])
    assert_same_statistics(["short", text[:5000]], [text, text[:3000]], np.array([(0, 0), (1, 1)]))


def test_texts_of_arrow_are_read_in_place_whatever_their_layout():
    texts = ["zero", "Eins zwei", "", "trois", "四"]
    expected = hash_texts(read_texts(texts), "context", 64)
    strings = pa.array(["skipped", *texts], pa.string())
    chunks = pa.chunked_array([strings.slice(1, 2), strings.slice(3)])
    for column in (strings.slice(1), strings.cast(pa.large_string()).slice(1), chunks):
        assert_same_matrix(hash_texts(read_texts(column), "context", 64), expected)
    assert len(read_texts(pa.chunked_array([], pa.string()))) == len(read_texts([])) == 0
    assert hash_texts(read_texts([]), "context", 64).shape == (0, 64)


def test_damaged_text_is_refused_before_it_is_read():
    column = pa.array([b"caf\xc3", b"\xff\xff"], pa.binary()).view(pa.string())
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        read_texts(column)


@pytest.mark.skipif(
    np.__version__ < "2", reason="the last bit of a logarithm depends on the place in memory with NumPy 1 and AVX-512"
)
def test_features_are_the_same_with_any_number_of_threads(monkeypatch):
    source = random.Random(1)  # noqa: S311
    texts = [random_text(source) for _ in range(300)]
    table = pa.table({"context": sorted(texts), "output": texts})
    monkeypatch.setattr(distinct_rows, "BATCH_BYTES", 3000)
    monkeypatch.setattr(hashing, "CHUNK_BYTES", 1000)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("DECONFOUND_THREADS", threads)
        hashed = hash_texts(read_texts(texts), "context", 2**18)
        results.append((hashed, extract_features(table, BlockLayout(2**18, True, ()))))
    (one, alone), (other, together) = results
    assert_same_matrix(one, other)
    assert_same_matrix(alone.text, together.text)
    assert alone.values.tobytes() == together.values.tobytes()
    assert alone.modifiers.tobytes() == together.modifiers.tobytes()

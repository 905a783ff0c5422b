"""Contexts as a few numbers, with nothing in them that the drawn model could have changed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from scipy import linalg, sparse

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.features.characters import count_characters
from deconfound.features.distinct_rows import read_numeric_columns
from deconfound.features.hashing import hash_texts, word_hashes
from deconfound.features.tokenize import MAX_CHARACTERS, Vocabulary, tokenize_texts

BUCKETS = 2**18
COMPONENTS = 60  # directions of the hashed words: topics; 15 and 30 saw fewer planted rules, at the same size
OVERSAMPLED, PASSES = 10, 2  # of the random projection that finds the directions


def context_blocks(study: Study, table: pa.Table, seed: int) -> tuple[FloatArray, ...]:
    """Features of the contexts of the experiment's rows, in blocks (n, m) of total variance one.

    With text: principal components of the hashed words, and lengths and shares of the text's surface. Without: the
    ``feature_*`` columns of the replay averaged over models and draws, since a row's own describe its output as well.
    """
    if study.has_text:
        texts, code = distinct(table["context"])
        return text_blocks(texts, code, seed)
    ids, code = distinct(table["context_id"])
    return (unit_variance(replayed_columns(study, ids)[code]),)


def text_blocks(texts: list[str], code: IntArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Words and surface of rows whose text is ``texts[code]``."""
    texts = [text[:MAX_CHARACTERS] for text in texts]
    return unit_variance(components(hashed_contexts(texts), seed)[code]), unit_variance(surface_of(texts)[code])


def distinct(column: pa.ChunkedArray) -> tuple[list[str], IntArray]:
    """The distinct texts in order of appearance, and which of them each row has."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def hashed_contexts(texts: list[str]) -> sparse.csr_matrix:
    """Hashed words and word pairs of each text, of unit length."""
    vocabulary = Vocabulary()
    words = tokenize_texts(texts, vocabulary)
    return hash_texts(words, word_hashes(vocabulary), "context", BUCKETS)


def surface_of(texts: list[str]) -> FloatArray:
    """Length, lines, sentences and questions of each text, and its shares of digits, capitals and punctuation."""
    seen = count_characters(texts)
    size = np.maximum(seen.bytes, 1.0)
    lengths = (seen.chars, seen.lines, seen.sentences, seen.questions)
    shares = (seen.digits, seen.upper, seen.punctuation)
    columns = [*(np.log1p(x) for x in lengths), *(x / size for x in shares)]
    return standardised(np.column_stack(columns))


def components(rows: sparse.csr_matrix, seed: int) -> FloatArray:
    """Leading principal components (n, at most ``COMPONENTS``) of sparse rows, by a random projection."""
    used = np.unique(rows.indices)
    rows = rows[:, used]
    mean = np.asarray(rows.mean(axis=0)).ravel()
    wanted = min(COMPONENTS, *rows.shape)
    if not wanted:
        return np.zeros((rows.shape[0], 1))

    def forth(block: FloatArray) -> FloatArray:
        return np.asarray(rows @ block - mean @ block)

    def back(block: FloatArray) -> FloatArray:
        return np.asarray(rows.T @ block - np.outer(mean, block.sum(axis=0)))

    block = np.random.default_rng(seed).standard_normal((len(used), wanted + OVERSAMPLED))
    for _ in range(PASSES):
        block = back(linalg.qr(forth(block), mode="economic")[0])
    left, size, _ = linalg.svd(forth(linalg.qr(block, mode="economic")[0]), full_matrices=False)
    return np.asarray((left * size)[:, :wanted])


def replayed_columns(study: Study, ids: list[str]) -> FloatArray:
    """The replay's ``feature_*`` columns, averaged over each context."""
    names, code = encode(study.replay.arrow["context_id"], None)
    values = read_numeric_columns(study.replay.arrow, study.feature_names)
    total = np.column_stack([np.bincount(code, weights=column) for column in values.T])
    place = {name: at for at, name in enumerate(names)}
    return standardised((total / np.bincount(code)[:, None])[[place[name] for name in ids]])


def standardised(values: FloatArray) -> FloatArray:
    """Columns of mean zero and variance one; a constant column is zero."""
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    varies = spread > 1e-9 * np.maximum(np.abs(values).max(axis=0), 1e-300)
    return np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)


def unit_variance(block: FloatArray) -> FloatArray:
    """A block centred and scaled so that its rows have mean square length one."""
    centred = block - block.mean(axis=0)
    size = np.sqrt((centred**2).sum() / max(len(block), 1))
    return centred / size if size > 1e-12 else np.zeros_like(centred)

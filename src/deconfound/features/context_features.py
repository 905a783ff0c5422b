"""Contexts as features: hashed words, surface statistics and dense vectors, never anything that an output changes.

Used where contexts are compared: to predict the assigned model (A1), to compare the contexts of two tables (A5), and to
weight the experiment's contexts to a target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import linalg, sparse

from deconfound.data import Study
from deconfound.data.row_order import content_order, take_rows
from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem
from deconfound.features.characters import count_characters
from deconfound.features.distinct_rows import read_numeric_columns
from deconfound.features.hashing import hash_texts, hash_words
from deconfound.features.text_arrays import TextArray, read_texts
from deconfound.features.tokenize import split_texts
from deconfound.formatting import join_names, pluralize, quote

BUCKETS = 2**18
REHASH_BUCKETS = 512  # columns of hashed text where only distances between rows are needed
MIN_DOCUMENT_FREQUENCY = 2  # a word of a single document cannot generalize to another
CONSTANT_RTOL = 1e-9  # standard deviation or range, relative to the largest value, of a column that does not vary
ZERO_ATOL = 1e-12  # root mean square of a block that is constant up to rounding
PCA_COMPONENTS = 60  # topics; 15 and 30 components had less power against planted routing rules, at the same size
OVERSAMPLING, POWER_ITERATIONS = 10, 2  # of the randomized PCA


@dataclass(frozen=True, slots=True)
class ContextFeatures:
    """Features of n contexts."""

    text: sparse.csr_matrix | None  # (n, buckets) hashed words; None without text
    dense: FloatArray  # (n, s) surface statistics, or feature_* columns


@dataclass(frozen=True, slots=True)
class ContextTable:
    """The rows of one table, by context; equal keys are the same context, also across tables."""

    key: IntArray  # (n,)
    cluster: IntArray | None  # (n,)
    table: pa.Table  # n rows of context, or of feature_* columns

    def features(self, rows: IntArray) -> ContextFeatures:
        """Features of some rows, not yet standardized: see ``stack_standardized``."""
        if "context" in self.table.column_names:
            return _text_features(read_texts(self.table["context"].take(pa.array(rows))))
        values = [self.table[name].to_numpy()[rows] for name in self.table.column_names]
        return ContextFeatures(None, np.column_stack(values))


def context_only_columns(study: Study) -> tuple[str, ...]:
    """In a study without text, the feature_* columns that are the same for all outputs on a context."""
    if study.has_text:
        return ()
    table = study.replay.arrow
    _, context = _by_first_appearance(table["context_id"])
    order = np.argsort(context, kind="stable")
    starts = np.flatnonzero(np.diff(context[order], prepend=-1))
    constant = []
    for name in study.feature_names:
        values = table[name].to_numpy()[order]
        value_range = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)
        if (value_range <= CONSTANT_RTOL * np.abs(values).max()).all():
            constant.append(name)
    return tuple(constant)


def mean_by_context(table: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """The mean of each column over a context's rows, one row per context."""
    grouped = table.group_by("context_id", use_threads=False).aggregate([(name, "mean") for name in columns])
    return grouped.rename_columns([name.removesuffix("_mean") for name in grouped.column_names])


def encode_contexts(tables: Sequence[pa.Table], columns: tuple[str, ...]) -> list[ContextTable]:
    """Number the contexts of several tables jointly: by their text, or without text by their id."""
    has_text = all("context" in table.column_names for table in tables)
    names = [table["context" if has_text else "context_id"] for table in tables]
    _, codes = _by_first_appearance(pa.chunked_array([chunk for name in names for chunk in name.chunks], pa.string()))
    encoded, start = [], 0
    for table in tables:
        stop = start + table.num_rows
        has_clusters = "cluster" in table.column_names and table.num_rows
        cluster = _by_first_appearance(table["cluster"])[1] if has_clusters else None
        features = table.select(["context"] if has_text else list(columns))
        encoded.append(ContextTable(codes[start:stop], cluster, features))
        start = stop
    return encoded


def _by_first_appearance(column: pa.ChunkedArray) -> tuple[pa.Array, IntArray]:
    """The distinct values in order of appearance, and the number of each row's value."""
    # Chunk by chunk: the texts of a long log may be too many for one Arrow array of strings.
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    codes = np.concatenate([np.zeros(0, dtype=np.int64), *(chunk.indices.to_numpy() for chunk in chunks)])
    return chunks[0].dictionary if chunks else pa.array([], pa.string()), codes.astype(np.int64)


def stack_standardized(parts: Sequence[ContextFeatures]) -> ContextFeatures:
    """Stack the rows of several tables; dense columns get variance 1 / s over all of them."""
    texts = [part.text for part in parts if part.text is not None]
    pooled = np.vstack([part.dense for part in parts])
    sd = pooled.std(axis=0)
    varies = sd > CONSTANT_RTOL * np.maximum(np.abs(pooled).max(axis=0, initial=0.0), 1e-300)
    scaled = (pooled - pooled.mean(axis=0))[:, varies] / (sd[varies] * np.sqrt(max(int(varies.sum()), 1)))
    return ContextFeatures(sparse.vstack(texts, format="csr") if texts else None, scaled)


def dense_embedding(contexts: ContextFeatures) -> FloatArray:
    """Contexts as dense vectors; words and statistics have the same mean square length."""
    if contexts.text is None:
        return contexts.dense
    document_frequency = np.bincount(contexts.text.indices, minlength=contexts.text.shape[1])
    words = tfidf(contexts.text, document_frequency, contexts.text.shape[0])
    return np.hstack([rehash(words), contexts.dense])


def tfidf(text: sparse.csr_matrix, document_frequency: IntArray, documents: int) -> sparse.csr_matrix:
    """Columns times log(1 + documents / document frequency), rows scaled to unit length; rows of zeros stay zero."""
    idf = np.log1p(documents / np.maximum(document_frequency, 1))
    weight = np.where(document_frequency >= MIN_DOCUMENT_FREQUENCY, idf, 0.0)
    rows = sparse.csr_matrix((text.data * weight[text.indices], text.indices, text.indptr), shape=text.shape)
    rows.eliminate_zeros()
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1.0 / np.where(length > 0, length, 1.0)) @ rows)


def rehash(text: sparse.csr_matrix) -> FloatArray:
    """Hash the columns again, into ``REHASH_BUCKETS``; collisions cancel on average because entries have signs."""
    shape = (text.shape[0], REHASH_BUCKETS)
    folded: FloatArray = sparse.csr_matrix((text.data, text.indices % REHASH_BUCKETS, text.indptr), shape).toarray()
    return folded


def nearest_distance(rows: FloatArray, context: IntArray, reference: FloatArray, where: IntArray) -> FloatArray:
    """Distance of each row to the nearest reference row of another context; ``where`` has the reference's contexts."""
    squares = (rows**2).sum(axis=1)[:, None] + (reference**2).sum(axis=1) - 2 * rows @ reference.T
    squares[context[:, None] == where] = np.inf
    return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0.0)))


# --- features of text ---


def hashed_words(texts: TextArray) -> sparse.csr_matrix:
    """Hashed words and word pairs of each text, of unit length."""
    return hash_texts(texts, "context", BUCKETS)


def _text_features(texts: TextArray) -> ContextFeatures:
    """Hashed words of unit length, and the lengths and shares that unit length hides."""
    words = split_texts(texts)
    strings = count_characters(texts)
    chars = np.maximum(strings.chars, 1.0)
    counts = (words.counts, strings.lines, strings.questions)
    shares = (strings.chars - strings.letters, strings.digits, strings.upper, strings.punctuation)
    statistics = [*(np.log1p(x) for x in counts), *(x / chars for x in shares)]
    return ContextFeatures(hash_words(words, "context", BUCKETS), np.column_stack(statistics))


def _surface(texts: TextArray) -> FloatArray:
    """Standardized lengths and shares of each text.

    They differ a little from those of ``_text_features``: one set for both would move every p-value of one check.
    """
    strings = count_characters(texts)
    size = np.maximum(strings.bytes, 1.0)
    lengths = (strings.chars, strings.lines, strings.sentences, strings.questions)
    shares = (strings.digits, strings.upper, strings.punctuation)
    return _standardize(np.column_stack([*(np.log1p(x) for x in lengths), *(x / size for x in shares)]))


# --- features that may predict the assigned model ---


def context_blocks(study: Study, table: pa.Table, seed: int) -> tuple[FloatArray, ...]:
    """Context features of the experiment's rows in ``table``, in blocks (n, m) of total variance one.

    With text: principal components of the hashed words, and surface statistics. Without: the feature_* columns of the
    replay averaged over models and draws, since a row's own columns may describe its output, which the model decides.
    """
    if study.has_text:
        texts, code = _by_first_appearance(table["context"])
        return text_blocks(texts, code, seed)
    ids, code = _by_first_appearance(table["context_id"])
    return (_unit_variance(_replay_means(study, ids)[code]),)


def text_blocks(texts: Sequence[str] | pa.Array, code: IntArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Word components and surface statistics of rows whose text is ``texts[code]``."""
    read = read_texts(texts)
    return _unit_variance(randomized_pca(hashed_words(read), seed)[code]), _unit_variance(_surface(read)[code])


def randomized_pca(rows: sparse.csr_matrix, seed: int) -> FloatArray:
    """Scores (n, at most ``PCA_COMPONENTS``) of the leading principal components of sparse rows."""
    used = np.unique(rows.indices)
    rows = rows[:, used]
    mean = np.asarray(rows.mean(axis=0)).ravel()
    components = min(PCA_COMPONENTS, *rows.shape)
    if not components:
        return np.zeros((rows.shape[0], 1))

    def apply(block: FloatArray) -> FloatArray:
        return np.asarray(rows @ block - mean @ block)

    def apply_transpose(block: FloatArray) -> FloatArray:
        return np.asarray(rows.T @ block - np.outer(mean, block.sum(axis=0)))

    block = np.random.default_rng(seed).standard_normal((len(used), components + OVERSAMPLING))
    for _ in range(POWER_ITERATIONS):
        block = apply_transpose(linalg.qr(apply(block), mode="economic")[0])
    left, singular, _ = linalg.svd(apply(linalg.qr(block, mode="economic")[0]), full_matrices=False)
    return np.asarray((left * singular)[:, :components])


def _replay_means(study: Study, ids: pa.Array) -> FloatArray:
    """The replay's feature_* columns averaged over each of the contexts, then standardized."""
    means = mean_by_context(study.replay.arrow, study.feature_names)
    rows = pc.index_in(ids.cast(pa.string()), value_set=means["context_id"].combine_chunks())
    return _standardize(read_numeric_columns(means.take(rows), study.feature_names))


def _standardize(values: FloatArray) -> FloatArray:
    """Columns of mean zero and variance one; a constant column becomes zero."""
    centered = values - values.mean(axis=0)
    sd = centered.std(axis=0)
    varies = sd > CONSTANT_RTOL * np.maximum(np.abs(values).max(axis=0), 1e-300)
    return np.where(varies, centered / np.where(varies, sd, 1.0), 0.0)


def _unit_variance(block: FloatArray) -> FloatArray:
    """Center a block and scale it so that its rows have mean square length one."""
    centered = block - block.mean(axis=0)
    size = np.sqrt((centered**2).sum() / max(len(block), 1))
    return centered / size if size > ZERO_ATOL else np.zeros_like(centered)


# --- a target's contexts ---


def read_target_contexts(study: Study, target: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """A target's contexts, described as the study describes its own: by text, or by ``columns``.

    Contexts of the study may be given by ``context_id`` alone. Their order does not depend on that of the target.
    """
    if not target.num_rows:
        raise DataError([Problem("target", "it has no rows", "List the contexts to generalize to.")])
    names = target.column_names
    if study.has_text:
        contexts = _with_text(target) if "context" in names else _look_up_text(study, target)
        return take_rows(contexts, content_order(contexts))
    missing = [name for name in ("context_id", *columns) if name not in names]
    if missing:
        fix = "Add it: the study describes its contexts by these columns."
        raise DataError([Problem("target", f"it has no column {join_names(missing)}", fix)])
    for name in columns:
        if target[name].null_count or not np.isfinite(target[name].to_numpy()).all():
            raise DataError([Problem("target", f"{name} is not a finite number in every row", "Fill it in.")])
    return take_rows(target, content_order(target))


def _with_text(target: pa.Table) -> pa.Table:
    if target["context"].null_count:
        row = int(np.flatnonzero(target["context"].is_null().to_numpy())[0])
        raise DataError([Problem(f"target row {row + 1}", "there is no context", "Fill it in or leave the row out.")])
    names = [name for name in ("context", "cluster") if name in target.column_names]
    return pa.table({name: target[name].cast(pa.string()) for name in names})


def _look_up_text(study: Study, target: pa.Table) -> pa.Table:
    if "context_id" not in target.column_names:
        raise DataError([Problem("target", "there is no column context or context_id", "Add one of them.")])
    texts = pa.concat_tables([t.arrow.select(["context_id", "context"]) for t in (study.log, study.replay)])
    rows = pc.index_in(target["context_id"], value_set=texts["context_id"].combine_chunks())
    if rows.null_count:
        row = int(np.flatnonzero(rows.is_null().to_numpy())[0])
        name = quote(target["context_id"][row].as_py())
        what = f"context {name} has no text, here or in the study ({pluralize(rows.null_count, 'row')})"
        raise DataError([Problem(f"target row {row + 1}", what, "Add a context column.")])
    return pa.table({"context": texts["context"].take(rows)})

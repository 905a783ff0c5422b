"""Contexts by themselves: which there are, drawn so that each counts once, and what they look like in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from deconfound.data import Study
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.words import fold, weighed
from deconfound.errors import DataError, Problem
from deconfound.features.characters import count_characters
from deconfound.features.hashing import hash_texts, word_hashes
from deconfound.features.tokenize import MAX_CHARACTERS, Vocabulary, tokenize_texts
from deconfound.formatting import join_names, pluralize, quote

BUCKETS = 2**18
CONSTANT = 1e-9  # spread, relative to the largest value, of a column that does not vary


@dataclass(frozen=True, slots=True)
class Described:
    """Contexts in numbers: hashed words where there is text, and statistics or columns."""

    text: sparse.csr_matrix | None  # (n, buckets)
    dense: FloatArray  # (n, s)


@dataclass(frozen=True, slots=True)
class Contexts:
    """Rows that name a context, of one table; equal keys, also across tables, are one context."""

    key: IntArray  # (n,)
    cluster: IntArray | None  # (n,)
    table: pa.Table  # context, or feature_* columns, as many rows

    def describe(self, rows: IntArray) -> Described:
        """Some rows in numbers; see ``together`` for rows of several tables."""
        if "context" in self.table.column_names:
            return _texts(self.table["context"].take(pa.array(rows)).to_pylist())
        values = [self.table[name].to_numpy()[rows] for name in self.table.column_names]
        return Described(None, np.column_stack(values))


def columns_of_contexts(study: Study) -> tuple[str, ...]:
    """What stands for the text where there is none: feature_* columns that no output on a context changes."""
    if study.has_text:
        return ()
    table = study.replay.arrow
    context = _codes(table["context_id"])
    order = np.argsort(context, kind="stable")
    starts = np.flatnonzero(np.diff(context[order], prepend=-1))
    constant = []
    for name in study.feature_names:
        values = table[name].to_numpy()[order]
        spread = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)
        if (spread <= CONSTANT * np.abs(values).max()).all():
            constant.append(name)
    return tuple(constant)


def averaged(table: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """One row a context: the mean of each column over the context's rows."""
    grouped = table.group_by("context_id", use_threads=False).aggregate([(name, "mean") for name in columns])
    return grouped.rename_columns([name.removesuffix("_mean") for name in grouped.column_names])


def gather(tables: Sequence[pa.Table], columns: tuple[str, ...]) -> list[Contexts]:
    """Number the contexts of several tables together: by their text, or without text by their id."""
    text = all("context" in table.column_names for table in tables)
    keys = pa.chunked_array([c for t in tables for c in t["context" if text else "context_id"].chunks], pa.string())
    codes = _codes(keys)
    gathered, start = [], 0
    for table in tables:
        stop = start + table.num_rows
        cluster = _codes(table["cluster"]) if "cluster" in table.column_names and table.num_rows else None
        shown = table.select(["context"] if text else list(columns))
        gathered.append(Contexts(codes[start:stop], cluster, shown))
        start = stop
    return gathered


def _codes(column: pa.ChunkedArray) -> IntArray:
    # Chunk by chunk: the texts of a long log may be too many for one Arrow array of strings.
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    return np.concatenate([np.zeros(0, dtype=np.int64), *(chunk.indices.to_numpy() for chunk in chunks)]).astype(
        np.int64
    )


def together(parts: Sequence[Described]) -> Described:
    """Rows of several tables under each other, their statistics on the scale of all of them."""
    texts = [part.text for part in parts if part.text is not None]
    pooled = np.vstack([part.dense for part in parts])
    spread = pooled.std(axis=0)
    varies = spread > CONSTANT * np.maximum(np.abs(pooled).max(axis=0, initial=0.0), 1e-300)
    scaled = (pooled - pooled.mean(axis=0))[:, varies] / (spread[varies] * np.sqrt(max(int(varies.sum()), 1)))
    return Described(sparse.vstack(texts, format="csr") if texts else None, scaled)


def short(contexts: Described) -> FloatArray:
    """Contexts as dense vectors, words and statistics in equal parts."""
    if contexts.text is None:
        return contexts.dense
    holders = np.bincount(contexts.text.indices, minlength=contexts.text.shape[1])
    return np.hstack([fold(weighed(contexts.text, holders, contexts.text.shape[0])), contexts.dense])


def _texts(texts: Sequence[str]) -> Described:
    """Hashed words of unit length, and a few statistics that unit length hides."""
    vocabulary = Vocabulary()
    words = tokenize_texts(texts, vocabulary)
    strings = count_characters([text[:MAX_CHARACTERS] for text in texts])
    chars = np.maximum(strings.chars, 1.0)
    statistics = [np.log1p(words.counts), np.log1p(strings.lines), np.log1p(strings.questions)]
    statistics += [each / chars for each in (strings.chars - strings.letters, strings.digits, strings.upper)]
    statistics.append(strings.punctuation / chars)
    return Described(hash_texts(words, word_hashes(vocabulary), "context", BUCKETS), np.column_stack(statistics))


def read_target(study: Study, target: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """A target's contexts with whatever the study describes its own by: text, or columns of contexts.

    Text may be left out for contexts that stand in the study, named by ``context_id``.
    """
    if not target.num_rows:
        raise DataError([Problem("target", "it has no rows", "Give the contexts that the values are to be for.")])
    names = target.column_names
    if study.has_text:
        return _with_text(target) if "context" in names else _looked_up(study, target)
    lacking = [name for name in columns if name not in names]
    if lacking or "context_id" not in names:
        what = f"it has no column {join_names([*(() if 'context_id' in names else ('context_id',)), *lacking])}"
        raise DataError([Problem("target", what, "Add it: the study knows its contexts by these columns.")])
    for name in columns:
        if target[name].null_count or not np.isfinite(target[name].to_numpy()).all():
            raise DataError([Problem("target", f"{name} is not a finite number everywhere", "Fill it in.")])
    return target


def _with_text(target: pa.Table) -> pa.Table:
    if target["context"].null_count:
        row = int(np.flatnonzero(target["context"].is_null().to_numpy())[0])
        raise DataError([Problem(f"target row {row + 1}", "there is no context", "Fill it in or leave the row out.")])
    names = [name for name in ("context", "cluster") if name in target.column_names]
    return pa.table({name: target[name].cast(pa.string()) for name in names})


def _looked_up(study: Study, target: pa.Table) -> pa.Table:
    if "context_id" not in target.column_names:
        raise DataError([Problem("target", "there is no column context or context_id", "Add one of them.")])
    known = pa.concat_tables([t.arrow.select(["context_id", "context"]) for t in (study.log, study.replay)])
    found = pc.index_in(target["context_id"], value_set=known["context_id"].combine_chunks())
    if found.null_count:
        row = int(np.flatnonzero(found.is_null().to_numpy())[0])
        name = quote(target["context_id"][row].as_py())
        what = f"context {name} has no text, here or in the study ({pluralize(found.null_count, 'row')})"
        raise DataError([Problem(f"target row {row + 1}", what, "Add a context column.")])
    return pa.table({"context": known["context"].take(found)})

"""The pass over a long log: its rows become features, and the features sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import LogPart, LogStream
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.design.outcome_sums import Hashes, OutcomeSums, combine_hashes
from deconfound.errors import DataError, Problem
from deconfound.features.batch_sums import PreparedBatch, add_slice
from deconfound.features.distinct_rows import extract_features
from deconfound.features.featurizer import Featurizer
from deconfound.features.log_statistics import FINGERPRINT_MASK, LogStatistics
from deconfound.features.text_arrays import read_whole_texts
from deconfound.formatting import quote
from deconfound.linalg.log_sums import LogBatch, SumsLayout
from deconfound.progress import StreamMeter
from deconfound.threads import end_if_stopped, one_blas_thread

LONG_LOG_WIDTH = 2_048
"""Columns of hashed text on this path; a power of two."""

BATCH_ROWS = 16_384
"""Rows summed at once: enough for tiles of sums to be worth their memory traffic, and some 100 MB of features."""

BATCH_BYTES = 64_000_000
"""The same for rows with long texts, whose features would need more memory."""

_KEYS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))  # of the two halves of a fingerprint


def long_log_width(buckets: int) -> int:
    """The largest power of two that is neither above ``LONG_LOG_WIDTH`` nor above the requested number."""
    return 1 << (min(buckets, LONG_LOG_WIDTH).bit_length() - 1)


@dataclass(frozen=True, slots=True, eq=False)
class LogPass:
    """Everything that turns a part of the log into its statistics; there is no other state.

    ``fold`` is the fold of each of ``contexts``, the experiment's; rows of other contexts are in none. Labels are
    summed as differences from ``label_centers``, or squares far from zero would leave no digits for their variance.
    """

    featurizer: Featurizer
    models: tuple[str, ...]  # compared ones first
    n_compared: int
    contexts: tuple[str, ...]
    fold: IntArray  # (contexts,)
    folds: int
    labels: tuple[str, ...]
    label_centers: FloatArray  # (labels,) near their means
    has_clusters: bool

    @property
    def layout(self) -> SumsLayout:
        """Numbers of columns to be summed."""
        featurizer = self.featurizer
        dense = 0 if featurizer.scaling is None else len(featurizer.scaling.weight)
        modifiers = len(featurizer.modifier_scaling.weight)
        return SumsLayout(featurizer.layout.buckets, dense, 1 + len(self.labels), modifiers)

    def zero(self) -> LogStatistics:
        """Statistics without rows."""
        return LogStatistics.zero(self.layout, self.folds, self.n_compared, has_clusters=self.has_clusters)

    def summarize(self, parts: Iterable[LogPart], meter: StreamMeter | None = None) -> LogStatistics:
        """The statistics of some parts, whose batches are added in their order."""
        statistics = self.zero()
        with one_blas_thread():
            for part in parts:
                for table in _slices(part):
                    end_if_stopped()
                    self._add(statistics, table, part.name)
                    if meter is not None:
                        meter.add(table.num_rows, table.nbytes, table.num_rows)
        return statistics

    def _add(self, statistics: LogStatistics, table: pa.Table, name: str) -> None:
        _, model = encode(table["model"], self.models)
        if (model < 0).any():
            raise _changed(name, f"model {quote(table['model'][int(np.argmin(model))].as_py())} is new")
        fold = self._folds_of(table)
        order = np.lexsort((model, fold))
        labels, missing = self._centered_labels(table)
        prepared = PreparedBatch.from_batch(self._to_batch(table, model, labels, order))
        starts = np.flatnonzero(np.diff(fold[order], prepend=-2))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
            add_slice(statistics.sums_of(int(fold[order[start]])), prepared, start, stop)
        statistics.outcomes.add(self._outcome_sums(table, model))
        statistics.missing_labels += missing
        statistics.fingerprint = (statistics.fingerprint + _fingerprint(table)) & FINGERPRINT_MASK

    def _centered_labels(self, table: pa.Table) -> tuple[FloatArray, IntArray]:
        """Labels (n, m) minus their centers, 0 where they are missing, and how many of each are."""
        values = read_labels(table, self.labels)
        missing = ~np.isfinite(values)
        return np.where(missing, 0.0, values - self.label_centers), missing.sum(axis=0)

    def _folds_of(self, table: pa.Table) -> IntArray:
        _, context = encode(table["context_id"], self.contexts)
        return np.where(context < 0, -1, self.fold[context]) if len(self.contexts) else np.full(len(context), -1)

    def _outcome_sums(self, table: pa.Table, model: IntArray) -> OutcomeSums:
        context, outcome = hash_column(table["context_id"], _KEYS[0]), table["outcome"].to_numpy()
        cluster = hash_column(table["cluster"], _KEYS[0]) if self.has_clusters else None
        return OutcomeSums.from_rows(cluster, context, model, outcome, self.n_compared)

    def _to_batch(self, table: pa.Table, model: IntArray, labels: FloatArray, order: IntArray) -> LogBatch:
        """Features of the rows in another order; dense columns are standardized and not yet weighted."""
        featurizer = self.featurizer
        extracted = extract_features(table, featurizer.layout)
        rows = extracted.rows.row_index[order]
        scaling, modifier_scaling = featurizer.scaling, featurizer.modifier_scaling
        dense = np.zeros((len(extracted.values), 0)) if scaling is None else scaling.standardize(extracted.values)
        modifiers = modifier_scaling.standardize(extracted.modifiers) * modifier_scaling.weight
        targets = np.column_stack([table["outcome"].to_numpy(), labels])[order]
        text = None if extracted.text is None else extracted.text[rows]
        return LogBatch(text, dense[rows], targets, modifiers[rows], model[order], self.models)


def require_all_rows(statistics: LogStatistics, stream: LogStream) -> None:
    """The log is read twice; a file that changed in between would give a wrong number."""
    if statistics.rows != stream.rows:
        name = stream.parts[0].name if stream.parts else "log"
        raise _changed(name, f"there are {statistics.rows:,} rows instead of {stream.rows:,}")


def _changed(name: str, what: str) -> DataError:
    return DataError([Problem(name, f"the log changed while it was read: {what}", "Run again when it is complete.")])


def hash_column(column: pa.ChunkedArray, key: np.uint64) -> Hashes:
    """A 64-bit hash of each value; equal values have equal hashes in every table."""
    if not pa.types.is_string(column.type):
        numbers = np.asarray(column.to_numpy().astype(np.float64) + 0.0)  # -0.0 and 0.0 become the same bits
        return np.asarray(combine_hashes(numbers.view(np.uint64), np.full(len(numbers), key)))
    from deconfound.features.kernels.id_kernels import hash_texts

    texts = read_whole_texts(pc.fill_null(column, ""))
    hashes = np.empty(len(texts), dtype=np.uint64)
    hash_texts(texts.data, texts.starts, texts.stops, key, hashes)
    return hashes


def _fingerprint(table: pa.Table) -> int:
    """The sum of the 128-bit hashes of all rows: equal for equal rows, in any order."""
    names = sorted(table.column_names)
    halves = []
    for key in _KEYS:
        total = np.zeros(table.num_rows, dtype=np.uint64)
        for name in names:
            total = combine_hashes(total, hash_column(table[name], key))
        halves.append(total)
    low, high = (int(half.astype(object).sum()) if len(half) else 0 for half in halves)
    return (low + (high << 64)) & FINGERPRINT_MASK


def _slices(part: LogPart) -> Iterator[pa.Table]:
    """The rows of a part, at most ``BATCH_ROWS`` and about ``BATCH_BYTES`` at once."""
    for log in part.batches():
        rows = int(np.clip(BATCH_BYTES * len(log) / max(log.arrow.nbytes, 1), 1, BATCH_ROWS))
        for start in range(0, len(log), rows):
            yield log.arrow.slice(start, rows)


def read_labels(table: pa.Table, names: tuple[str, ...]) -> FloatArray:
    """Labels (n, m), NaN or infinite where they are missing."""
    values = np.empty((table.num_rows, len(names)))
    for at, name in enumerate(names):
        values[:, at] = table[name].to_numpy().astype(np.float64)  # nulls become NaN
    return values


def find_label_centers(table: pa.Table, names: tuple[str, ...]) -> FloatArray:
    """The mean of each label over the rows that have it; 0 without such rows."""
    present = (column[np.isfinite(column)] for column in read_labels(table, names).T)
    return np.array([column.mean() if len(column) else 0.0 for column in present])

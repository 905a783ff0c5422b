"""What a result reports about the tables of its study: rows, contexts, fingerprints, and how a long log was used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deconfound.data import Study, Table
from deconfound.data.encode import encode
from deconfound.data.fingerprint import table_fingerprint
from deconfound.design import IntArray
from deconfound.features.featurizer import Featurizer
from deconfound.features.study_arrays import LongLogArrays
from deconfound.findings import LONG_LOG, Finding, Notice
from deconfound.result import TableCounts
from deconfound.reward import Family


def model_codes(table: Table, study: Study) -> IntArray:
    """The model of each row: its place among the compared models, then among the others."""
    return encode(table.arrow["model"], (*study.models, *study.uncompared_models))[1]


def rows_per_model(table: Table, study: Study) -> tuple[int, ...]:
    """Rows of each compared model."""
    counts = np.bincount(model_codes(table, study), minlength=len(study.models))
    return tuple(int(n) for n in counts[: len(study.models)])


def count_table(table: Table, study: Study) -> TableCounts:
    """Rows, contexts and the fingerprint of one table."""
    contexts, rows = len(table.unique_values("context_id")), rows_per_model(table, study)
    fingerprint = table_fingerprint(table.arrow)
    return TableCounts(table.source, len(table), contexts, rows, table.unused_columns, fingerprint)


def with_all_rows(sample: TableCounts, long_log: LongLogArrays) -> TableCounts:
    """The counts of a log of which only a sample is in memory."""
    statistics = long_log.statistics
    return replace(
        sample,
        rows=statistics.rows,
        contexts=min(statistics.outcomes.contexts, statistics.rows),  # many are counted approximately
        rows_per_model=tuple(int(n) for n in statistics.outcomes.rows_per_model),
        fingerprint=f"{statistics.fingerprint:032x}",
    )


def summed_log_finding(study: Study, featurizer: Featurizer) -> Finding:
    """A long log was used whole, through sums."""
    columns = f", whose words are hashed into {featurizer.layout.buckets:,} columns" * (featurizer.layout.buckets > 0)
    message = f"Values use all {study.log_rows:,} log rows{columns}."
    if len(study.log) < study.log_rows:
        message += f" Checks use a random sample of {len(study.log):,}."
    return Finding(LONG_LOG, "pass", Notice(message))


def log_sampling_findings(rows: int, family: Family) -> tuple[Finding, ...]:
    """A family uses a sample of the log."""
    limit = family.max_log_rows
    if limit is None or rows <= limit:
        return ()
    sample = f"{family.name} uses a random sample of {limit:,} of the log's {rows:,} distinct rows."
    return (Finding(LONG_LOG, "pass", Notice(f"{sample} All checks use every row.")),)

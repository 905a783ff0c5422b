"""The log's labels, averaged over rows that share their features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deconfound.design import FloatArray
from deconfound.features.rows import Distinct
from deconfound.features.scaling import CONSTANT
from deconfound.findings import Finding, Notice


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that vary, in standard deviations over the log, for each of its distinct rows."""

    names: tuple[str, ...]
    means: FloatArray  # (u, m), 0 where nothing was observed
    observed: FloatArray  # (u, m), log rows behind each mean
    findings: tuple[Finding, ...]


def read_labels(table: pa.Table, names: tuple[str, ...], rows: Distinct) -> Labels:
    """Average each label over the log rows of each distinct row; a missing value counts nowhere.

    Units must not matter to the principal components, hence standard deviations. A label that never varies is left
    out, and that is a finding, as are missing values.
    """
    kept, means, observed, findings = [], [], [], []
    for name in names:
        # Nulls become NaN in NumPy.
        values = table[name].to_numpy().astype(np.float64)
        known = np.isfinite(values)
        if not known.all():
            findings.append(_missing(name, int((~known).sum()), len(values)))
        spread = float(values[known].std()) if known.any() else 0.0
        if spread <= CONSTANT * np.abs(values[known]).max(initial=0.0):
            findings.append(_constant(name))
            continue
        count = np.bincount(rows.pair[known], minlength=len(rows.counts)).astype(np.float64)
        total = np.bincount(rows.pair[known], weights=values[known] / spread, minlength=len(rows.counts))
        kept.append(name)
        means.append(np.divide(total, count, out=np.zeros(len(count)), where=count > 0))
        observed.append(count)
    shape = (len(rows.counts), len(kept))
    return Labels(tuple(kept), _columns(means, shape), _columns(observed, shape), tuple(findings))


def _columns(columns: list[FloatArray], shape: tuple[int, int]) -> FloatArray:
    return np.column_stack(columns) if columns else np.empty(shape)


def _missing(name: str, missing: int, rows: int) -> Finding:
    return Finding(
        "labels",
        "warn",
        Notice(
            f"{name} is missing in {missing} of the log's {rows} rows; it is learned from the others.",
            "If it is missing for a reason, leave the column out.",
        ),
    )


def _constant(name: str) -> Finding:
    return Finding(
        "labels", "warn", Notice(f"{name} never varies in the log and is not used.", "Leave the column out.")
    )

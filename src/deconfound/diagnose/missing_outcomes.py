"""Are outcomes missing more often for some models or for some outputs?

Randomization makes the rows of all models comparable. If users rate one model's answers less often, or skip poor ones,
the rows that were rated are not comparable any more, however large the experiment is. In the experiment such a pattern
fails the check. In the log it is one more kind of confounding, which the experiment corrects; it is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data import Experiment, Log, Study
from deconfound.data.encode import encode
from deconfound.data.log_counts import LogCounts, count_models
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.assignment import read_assignment
from deconfound.diagnose.assignment_tests import predict_assignment
from deconfound.diagnose.cluster_robust_tests import cluster_robust_ratios, crossed_kinds
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.permutation_tests import (
    CHUNK,
    TIE_RTOL,
    center_within,
    cluster_of_row,
    permute_within,
    sample_clusters,
)
from deconfound.diagnose.thresholds import MIN_DRAWS, RESAMPLES
from deconfound.features.randomized_rows import RandomizedRows
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.value.unrated_rows import MIN_MISSING

BY_MODEL, BY_OUTPUT, LOG_RATES = "missing outcomes", "missing outcomes by output", "rating rates in the log"
INDICATOR_PENALTY = 1e-3  # of n: a single column needs next to none
MAX_LOG_ROWS = 5_000  # of the test of rating rates; of a longer log, whole clusters are sampled
CONSTANT_RTOL = 1e-9  # of a column's length: below it a column does not vary within models


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class MissingByModel:
    """Randomized rows per model, and how many of them have no outcome."""

    models: tuple[str, ...]
    rows: tuple[int, ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MissingByOutput:
    """Randomized rows, how many of them have no outcome, and which statistic of the output predicts it best."""

    rows: int
    missing: int
    statistic: str
    higher: bool  # whether it is higher where the outcome is missing


@dataclass(frozen=True, slots=True)
class TooFewMissing:
    """Too few rows without an outcome to see a pattern."""

    rows: int
    missing: int


@dataclass(frozen=True, slots=True)
class LogRates:
    """Rows of the log per model, and how many of them have an outcome."""

    models: tuple[str, ...]
    rows: tuple[int, ...]
    rated: tuple[int, ...]


# --- the checks ---


def check_missing_outcomes(study: Study, arrays: StudyArrays, seed: int) -> tuple[Finding | PendingFinding, ...]:
    """Two tests of the experiment, by model and by output, and one of the log; nothing where no outcome is missing."""
    findings: list[Finding | PendingFinding] = []
    if study.unrated_experiment is not None:
        findings.append(_check_by_model(study, seed))
        findings.append(_check_by_output(study, study.unrated_experiment, arrays, seed))
    if study.unrated_log is not None:
        findings.append(_check_log_rates(study, study.unrated_log, seed))
    return tuple(findings)


def _check_by_model(study: Study, seed: int) -> Finding | PendingFinding:
    """Whether a missing outcome predicts the assigned model: the assignment is what was randomized."""
    complete = replace(study, experiment=study.randomized)
    table = complete.experiment.arrow
    missing = np.isnan(table["outcome"].to_numpy())
    details = _count_missing(complete.experiment, study, missing)
    assignment = read_assignment(complete, seed)
    if assignment.probability is None or assignment.is_certain or len(assignment) < MIN_DRAWS:
        return Finding(BY_MODEL, "cannot tell", details, "A1")
    share = _cluster_mean(missing, cluster_of_row(table)) if assignment.by_cluster else missing.astype(np.float64)
    test = predict_assignment((share[assignment.rows, None],), (INDICATOR_PENALTY,), assignment, seed)
    return PendingFinding(BY_MODEL, "A1", details, test.statistic, test.p_value)


def _check_by_output(study: Study, unrated: Experiment, arrays: StudyArrays, seed: int) -> Finding | PendingFinding:
    """Whether outputs of one model differ between rows with and without an outcome, more than their contexts do.

    Outcomes that are missing for some contexts leave the models comparable; the values are then about the others.
    """
    rows = RandomizedRows.from_study(study, unrated, arrays)
    missing = int(rows.is_missing.sum())
    too_few = Finding(BY_OUTPUT, "cannot tell", TooFewMissing(len(rows.outcome), missing), "A1")
    if missing < MIN_MISSING or not rows.deviations.shape[1]:
        return too_few
    columns = center_within(rows.deviations, rows.model)
    length = np.sqrt((columns**2).sum(axis=0))
    varies = length > CONSTANT_RTOL * np.sqrt((rows.statistics**2).sum(axis=0) + 1.0)
    if not varies.any():
        return too_few
    values = _associations(columns[:, varies] / length[varies], rows, np.random.default_rng(seed))
    largest = np.abs(values).max(axis=1)
    p = float((largest >= largest[0] * (1.0 - TIE_RTOL)).mean())
    best = int(np.abs(values[0]).argmax())
    name = arrays.featurizer.layout.dense_names[int(np.flatnonzero(varies)[best])]
    details = MissingByOutput(len(rows.outcome), missing, name, bool(values[0, best] > 0))
    return PendingFinding(BY_OUTPUT, "A1", details, float(largest[0]), p)


def _associations(columns: FloatArray, rows: RandomizedRows, rng: np.random.Generator) -> FloatArray:
    """Association of each column with a missing outcome within models (1 + ``RESAMPLES``, m), the observed one first.

    Where rows share clusters or contexts it is a ratio to its cluster-robust standard error, against random signs;
    otherwise a covariance, against permutations within models.
    """
    missing = rows.is_missing.astype(np.float64)
    kinds = crossed_kinds(rows.cluster, rows.context)
    if kinds:
        return cluster_robust_ratios(columns, missing, rows.model, kinds, rng)
    target = center_within(missing[:, None], rows.model)
    resample, size = permute_within(target, rows.model), max(1, CHUNK // len(missing))
    counts = [size] * (RESAMPLES // size) + [RESAMPLES % size] * (RESAMPLES % size > 0)
    return np.concatenate([target.T @ columns, *(resample(rng, count)[0] @ columns for count in counts)])


def _check_log_rates(study: Study, unrated: Log, seed: int) -> PendingFinding:
    """Whether models are rated at different rates in the log, by sums over whole users or contexts."""
    rng = np.random.default_rng(seed)
    counts = LogCounts(count_models(study.log.arrow), count_models(unrated.arrow))
    log = study.log
    if study.log_stream is not None and study.log_stream.counts is not None:
        counts = study.log_stream.counts
        log, unrated = _equally_sampled(log, unrated, counts, rng)
    columns = [name for name in ("context_id", "cluster", "model") if name in unrated.arrow.column_names]
    table = pa.concat_tables([log.arrow.select(columns), unrated.arrow.select(columns)])
    rated = np.arange(table.num_rows) < len(log)
    names = tuple(sorted({*counts.rated, *counts.unrated}))
    count = tuple(counts.rated.get(name, 0) for name in names)
    rows = tuple(counts.rated.get(name, 0) + counts.unrated.get(name, 0) for name in names)
    details = LogRates(names, rows, count)
    _, model = encode(table["model"], names)
    cluster = cluster_of_row(table)
    sample = sample_clusters(cluster, MAX_LOG_ROWS, rng)
    code, indicator = np.unique(cluster[sample], return_inverse=True)[1], np.eye(len(names))[model[sample]]
    one_stratum = np.zeros(len(sample), dtype=np.int64)
    ratios = cluster_robust_ratios(indicator, rated[sample].astype(np.float64), one_stratum, (code,), rng)
    largest = np.abs(ratios).max(axis=1)
    p = float((largest >= largest[0] - TIE_RTOL).mean())
    return PendingFinding(LOG_RATES, "", details, float(largest[0]), p, worst="warn")


def _equally_sampled(log: Log, unrated: Log, counts: LogCounts, rng: np.random.Generator) -> tuple[Log, Log]:
    """The samples of a long log with the same share of its rated and of its unrated rows."""
    totals = (counts.rows, sum(counts.unrated.values()))
    share = min(len(table) / max(total, 1) for table, total in zip((log, unrated), totals, strict=True))
    first, second = (
        table.filter(rng.permutation(len(table)) < max(1, round(share * total)))
        for table, total in zip((log, unrated), totals, strict=True)
    )
    return first, second


def _count_missing(experiment: Experiment, study: Study, missing: NDArray[np.bool_]) -> MissingByModel:
    names = tuple(name for name in (*study.models, *study.uncompared_models))
    _, model = encode(experiment.arrow["model"], names)
    rows, lost = (np.bincount(code, minlength=len(names)) for code in (model, model[missing]))
    kept = [k for k in range(len(names)) if rows[k]]
    return MissingByModel(
        tuple(names[k] for k in kept), tuple(int(rows[k]) for k in kept), tuple(int(lost[k]) for k in kept)
    )


def _cluster_mean(values: NDArray[np.bool_], cluster: IntArray) -> FloatArray:
    """For each row, the mean over its cluster."""
    _, code = np.unique(cluster, return_inverse=True)
    return np.asarray((np.bincount(code, weights=values) / np.bincount(code))[code])

"""Constants, duplicates and leaks in the tables. These are counts and shares, not tests: no p-values are involved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study, Table, text_ids
from deconfound.data.encode import Codes, encode
from deconfound.data.segment_codes import SegmentCodes
from deconfound.design import FloatArray
from deconfound.diagnose.outcome_matching import row_keys
from deconfound.diagnose.thresholds import (
    FAIL_SHARED_SHARE,
    LEAK_CORRELATION,
    MAX_DISCRETE_VALUES,
    MIN_CONSTANT_ROWS,
    SEGMENT_LEAK_SHARE,
    SHARED_SHARE_DISCRETE,
)
from deconfound.findings import Finding, Verdict

CONSTANT, DUPLICATE_ROWS, DUPLICATE_CONTEXTS = "constant outcomes", "duplicate rows", "duplicate contexts"
SHARED, LEAKAGE, SEGMENT_LEAKAGE = "experiment in the log", "label leakage", "segment leakage"


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class ConstantOutcomes:
    """Tables and models whose outcomes are all equal; none by default."""

    sources: tuple[str, ...] = ()
    in_experiment: bool = False  # whether the whole experiment is constant, and not only the log
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DuplicateRows:
    """Rows that equal an earlier one; ``certain`` where coincidence is excluded.

    ``repeated_cells`` are rows with the cluster, context, model and output of an earlier one, whatever their outcome
    and time: copies and retries. It is zero where the experiment has no clusters.
    """

    source: str
    rows: int
    repeated_cells: int
    total_rows: int
    certain: bool


@dataclass(frozen=True, slots=True)
class DuplicateContexts:
    """Texts that occur under several context_ids, and the rows they have."""

    source: str
    texts: int
    rows: int


@dataclass(frozen=True, slots=True)
class NoText:
    """A study without texts."""

    source: str


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The share of the experiment's rows that are also in the log."""

    share: float


@dataclass(frozen=True, slots=True)
class LabelLeakage:
    """Labels that are the outcome itself, and the largest correlation of any label with it."""

    labels: tuple[str, ...]
    leaking: tuple[str, ...]
    largest_correlation: float


@dataclass(frozen=True, slots=True)
class SegmentLeakage:
    """The share of the variance of the experiment's outcomes that lies between the segments of a column."""

    column: str
    explained: float


# --- the checks ---


def check_sanity(study: Study) -> tuple[Finding, ...]:
    """Constant outcomes, duplicates, experiment rows in the log, labels and segments that are the outcome."""
    return (
        check_constant_outcomes(study),
        check_duplicate_rows(study),
        check_duplicate_contexts(study),
        check_shared_rows(study),
        check_label_leakage(study),
        *(check_segment_leakage(study, column) for column in study.experiment.segment_names),
    )


def check_constant_outcomes(study: Study) -> Finding:
    """Constant outcomes carry no information, and make standard errors zero."""
    experiment, log = study.experiment, study.log
    outcome = experiment.arrow["outcome"].to_numpy()
    if np.ptp(outcome) == 0:
        return Finding(CONSTANT, "fail", ConstantOutcomes((experiment.source,), in_experiment=True), statistic=1.0)
    _, model = encode(experiment.arrow["model"], study.models + study.uncompared_models)
    constant = tuple(name for code, name in enumerate(study.models) if _is_constant(outcome[model == code]))
    if constant:
        details = ConstantOutcomes((experiment.source,), models=constant)
        return Finding(CONSTANT, "warn", details, statistic=len(constant) / len(study.models))
    if np.ptp(log.arrow["outcome"].to_numpy()) == 0:
        return Finding(CONSTANT, "warn", ConstantOutcomes((log.source,)), statistic=1.0)
    return Finding(CONSTANT, "pass", ConstantOutcomes(), statistic=0.0)


def check_duplicate_rows(study: Study) -> Finding:
    """A row that occurs twice counts twice, and so does a retry by the same user."""
    experiment, table = study.experiment, study.experiment.arrow
    rows = _repeats(table, [name for name in table.column_names if name != "context"])
    repeated_cells = 0
    if "cluster" in table.column_names:
        repeated_cells = _repeats(table, ["cluster", "context_id", "model", *_output_columns(study)])
    share = max(rows, repeated_cells) / len(experiment)
    certain = _distinct_outcomes(experiment) > MAX_DISCRETE_VALUES or "time" in table.column_names
    details = DuplicateRows(experiment.source, rows, repeated_cells, len(experiment), certain)
    return Finding(DUPLICATE_ROWS, "warn" if share else "pass", details, statistic=share)


def check_duplicate_contexts(study: Study) -> Finding:
    """One text under two ids ends up in two folds, and its noise leaks from one to the other."""
    source, table = study.experiment.source, study.experiment.arrow
    if not study.has_text:
        return Finding(DUPLICATE_CONTEXTS, "cannot tell", NoText(source))
    pairs = pa.table({"text": text_ids(table["context"]), "context_id": table["context_id"]})
    ids = pairs.group_by("text").aggregate([("context_id", "count_distinct")])
    several = ids.filter(pc.greater(ids["context_id_count_distinct"], 1))
    rows = int(pc.sum(pc.is_in(pairs["text"], value_set=several["text"].combine_chunks())).as_py() or 0)
    details = DuplicateContexts(source, several.num_rows, rows)
    return Finding(DUPLICATE_CONTEXTS, "warn" if rows else "pass", details, statistic=rows / len(study.experiment))


def check_shared_rows(study: Study) -> Finding:
    """Experiment rows in the log would let the reward learn from the outcomes that evaluate it."""
    log, experiment = study.log_on_replayed.arrow, study.experiment.arrow
    context = "context" if study.has_text else "context_id"
    compared = (
        context,
        "model",
        *(("output",) if study.has_text else study.feature_names),
        "outcome",
        "cluster",
        "time",
    )
    shared = set(log.column_names) & set(experiment.column_names)
    columns = [name for name in compared if name in shared]
    log = log.filter(pc.is_in(log[context], value_set=pc.unique(experiment[context])))
    log_keys = set(row_keys(log, columns))
    share = float(np.mean([key in log_keys for key in row_keys(experiment, columns)]))
    certain = _distinct_outcomes(study.experiment) > MAX_DISCRETE_VALUES or "time" in columns
    if share == 0.0 or (share < SHARED_SHARE_DISCRETE and not certain):
        return Finding(SHARED, "pass", SharedRows(share), statistic=share)
    return Finding(SHARED, "warn" if share < FAIL_SHARED_SHARE else "fail", SharedRows(share), statistic=share)


def check_label_leakage(study: Study) -> Finding:
    """A label that is the outcome would teach the reward nothing but the log's confounding."""
    outcome = study.log.arrow["outcome"].to_numpy()
    correlations = {name: _correlation(study.log.arrow[name].to_numpy(), outcome) for name in study.label_names}
    leaking = tuple(name for name, correlation in correlations.items() if correlation > LEAK_CORRELATION)
    largest = max(correlations.values(), default=0.0)
    details = LabelLeakage(tuple(study.label_names), leaking, largest)
    return Finding(LEAKAGE, "fail" if leaking else "pass", details, statistic=largest)


def check_segment_leakage(study: Study, column: str) -> Finding:
    """Segments that decide the outcome are rather a copy of it than known before the answer."""
    codes = SegmentCodes.from_experiment(study.experiment, column)
    explained = _explained_share(codes.code, study.experiment.arrow["outcome"].to_numpy())
    verdict: Verdict = "warn" if explained > SEGMENT_LEAK_SHARE else "pass"
    return Finding(SEGMENT_LEAKAGE, verdict, SegmentLeakage(column, explained), statistic=explained)


def _explained_share(code: Codes, outcome: FloatArray) -> float:
    """Adjusted R squared of the segments' means; zero where nothing varies, or rows are as few as segments."""
    rows, segments, total = len(outcome), len(np.unique(code)), float(((outcome - outcome.mean()) ** 2).sum())
    if rows <= segments or np.ptp(outcome) == 0:
        return 0.0
    means = np.bincount(code, weights=outcome) / np.maximum(np.bincount(code), 1)
    within = float(((outcome - means[code]) ** 2).sum())
    return max(1 - within / total * (rows - 1) / (rows - segments), 0.0)


def _repeats(table: pa.Table, columns: Sequence[str]) -> int:
    """Rows that have the values of an earlier one in these columns."""
    return sum(count - 1 for count in Counter(row_keys(table, columns)).values())


def _output_columns(study: Study) -> tuple[str, ...]:
    return ("output",) if study.has_text else study.feature_names


def _is_constant(outcome: Sequence[float]) -> bool:
    return len(outcome) >= MIN_CONSTANT_ROWS and bool(np.ptp(outcome) == 0)


def _distinct_outcomes(table: Table) -> int:
    return len(np.unique(table.arrow["outcome"].to_numpy()))


def _correlation(label: Sequence[float], outcome: Sequence[float]) -> float:
    observed = np.isfinite(label)
    x, y = np.asarray(label)[observed], np.asarray(outcome)[observed]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(abs(np.corrcoef(x, y)[0, 1]))

"""A5: values are averages over contexts; do log, extra replay and target have contexts like the experiment's?

A shift alone never fails: the values stay valid for the experiment's contexts. A target that the experiment does not
cover fails, because no weights can carry values there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study
from deconfound.design import IntArray
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.thresholds import (
    FAIL_EFFECTIVE_SHARE,
    FAIL_IMBALANCE,
    FAIL_TARGET_OUTSIDE,
    MIN_DENSITY_RATIO,
    MIN_EFFECTIVE_ROWS,
    MIN_STRATA,
    WARN_EFFECTIVE_SHARE,
    WARN_IMBALANCE,
    WARN_TARGET_OUTSIDE,
)
from deconfound.diagnose.two_sample_data import TwoSampleData, subsample_strata
from deconfound.diagnose.two_sample_test import TwoSampleResult, two_sample_test
from deconfound.errors import AssumptionError, EvidenceError
from deconfound.features.context_features import (
    ContextTable,
    context_only_columns,
    encode_contexts,
    mean_by_context,
    read_target_contexts,
    stack_standardized,
)
from deconfound.findings import Finding, Verdict
from deconfound.value.transport import TransportWeights

OVERLAP = "overlap with the target"
TARGET = "target"
IDENTICAL_CONTEXTS = TwoSampleResult(0.5, 1.0, 0, 1, ())  # of a set of contexts and itself


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class SameContexts:
    """Both tables contain the same contexts."""

    other_source: str


@dataclass(frozen=True, slots=True)
class ContextDifference:
    """A two-sample test of the experiment's contexts against another table's."""

    other_source: str  # "log", "replay" or "target"
    auc: float
    contexts: int


@dataclass(frozen=True, slots=True)
class TooFewContexts:
    """Too few contexts on one side of the comparison."""

    other_source: str
    minimum: int


@dataclass(frozen=True, slots=True)
class UndescribedContexts:
    """A study without text in which no feature_* column depends on the context alone."""

    other_source: str


@dataclass(frozen=True, slots=True)
class TargetOverlap:
    """How much of the experiment remains after weighting, how well it covers the target, and what still differs."""

    rows: int
    effective_rows: float
    share_outside_support: float
    mean_density_ratio: float
    imbalance: float  # largest significant difference after weighting, in standard deviations; 0 if there is none


# --- the checks ---


def check_context_shift(
    study: Study, target: pa.Table | None, weights: TransportWeights | None, seed: int
) -> tuple[Finding | PendingFinding, ...]:
    """Compare the contexts of log, extra replay and target with the experiment's; judge the overlap with the target."""
    compared: dict[str, TwoSampleResult | None] = {"log": compare_log_contexts(study, seed)}
    if study.replay.unique_values("context_id") - study.experiment.unique_values("context_id"):
        compared["replay"] = compare_replay_contexts(study, seed)
    if target is not None:
        compared[TARGET] = compare_target_contexts(study, target, seed)
    findings = [_context_finding(study, name, result) for name, result in compared.items()]
    if weights is not None:
        findings.append(overlap_finding(weights))
    return tuple(findings)


def _context_finding(study: Study, other_source: str, result: TwoSampleResult | None) -> Finding | PendingFinding:
    check = f"contexts of the {other_source}"
    if result is IDENTICAL_CONTEXTS:
        return Finding(check, "pass", SameContexts(other_source), "A5")
    if result is not None:
        details = ContextDifference(other_source, result.auc, result.rows)
        worst: Verdict = "pass" if other_source == TARGET else "warn"  # a target is given because it differs
        return PendingFinding(check, "A5", details, result.auc, result.p_value, worst=worst)
    if study.has_text or context_only_columns(study):
        return Finding(check, "cannot tell", TooFewContexts(other_source, MIN_STRATA), "A5")
    return Finding(check, "cannot tell", UndescribedContexts(other_source), "A5")


def overlap_finding(weights: TransportWeights) -> Finding:
    """Whether the experiment covers the target, how many effective rows remain, and whether weights balance it."""
    rows, effective, outside = len(weights.weight), weights.effective_rows, weights.share_outside_support
    share, ratio, imbalance = effective / rows, weights.mean_density_ratio, weights.imbalance
    verdict: Verdict = "pass"
    if share < WARN_EFFECTIVE_SHARE or outside >= WARN_TARGET_OUTSIDE or imbalance >= WARN_IMBALANCE:
        verdict = "warn"
    too_few = effective < MIN_EFFECTIVE_ROWS or share < FAIL_EFFECTIVE_SHARE
    if too_few or outside >= FAIL_TARGET_OUTSIDE or ratio < MIN_DENSITY_RATIO or imbalance >= FAIL_IMBALANCE:
        verdict = "fail"
    details = TargetOverlap(rows, effective, outside, ratio, imbalance)
    return Finding(OVERLAP, verdict, details, "A5", share)


def require_overlap(weights: TransportWeights | None) -> None:
    """Refuse to estimate values for a target that the experiment does not cover, or that nothing describes."""
    if weights is None:
        raise EvidenceError(
            "target: no feature_* column depends on the context alone, so the experiment cannot be weighted to the "
            "target. Add feature_* columns that describe the context, or the text of the contexts."
        )
    finding = overlap_finding(weights)
    if finding.verdict == "fail":
        raise AssumptionError(f"{finding.message} {finding.remedy}")


# --- the comparisons ---


def compare_log_contexts(study: Study, seed: int) -> TwoSampleResult | None:
    """The experiment's contexts against the log's; None where they are too few or nothing describes them."""
    return _compare(study.experiment.arrow, study.log.arrow, context_only_columns(study), seed)


def compare_replay_contexts(study: Study, seed: int) -> TwoSampleResult | None:
    """The experiment's contexts against those that were replayed beyond them."""
    if study.has_text:
        return _compare(study.experiment.arrow, study.replay.arrow, (), seed)
    # Every model was replayed on every context, so that means over a context's rows are comparable.
    means = mean_by_context(study.replay.arrow, study.feature_names)
    ids = pa.array(study.experiment.unique_values("context_id"), pa.string())
    experiment = means.filter(pc.is_in(means["context_id"], value_set=ids))
    return _compare(experiment, means, study.feature_names, seed)


def compare_target_contexts(study: Study, target: pa.Table, seed: int) -> TwoSampleResult | None:
    """The experiment's contexts against a target's."""
    columns = context_only_columns(study)
    if not (study.has_text or columns):
        return None
    return _compare(study.experiment.arrow, read_target_contexts(study, target, columns), columns, seed)


def _compare(experiment: pa.Table, other: pa.Table, columns: tuple[str, ...], seed: int) -> TwoSampleResult | None:
    if not ("context" in experiment.column_names or columns):
        return None
    tables = encode_contexts((experiment, other), columns)
    own_rows, other_rows = sample_contexts(tables[0], tables[1], seed)
    if not len(own_rows) and not len(other_rows):
        return IDENTICAL_CONTEXTS
    group = np.arange(len(own_rows) + len(other_rows)) < len(own_rows)
    selected = subsample_strata(group, np.zeros(len(group), dtype=np.int64), seed)
    group = group[selected]
    if not len(selected):
        return None
    rows = np.concatenate([own_rows, other_rows])[selected]
    features = stack_standardized([tables[0].features(rows[group]), tables[1].features(rows[~group])])
    one = np.zeros(len(group), dtype=np.int64)
    data = TwoSampleData(features.text, features.dense, group, one, np.arange(len(group)), one)
    return two_sample_test(data, seed)


def sample_contexts(experiment: ContextTable, other: ContextTable, seed: int) -> tuple[IntArray, IntArray]:
    """One row for each context to compare, of either table; none where both contain the same contexts.

    Of a cluster only one row is taken: contexts of one user are not independent draws from the population. Where one
    table contains all contexts of the other, the others are compared with the rest, as fits a random part of a list.
    Where they share some only, shared contexts are left out after both were cut to the same number of rows: popular
    contexts would otherwise be missing from the smaller table more often than from the larger.
    """
    rng = np.random.default_rng(seed)
    rows = [_one_row_per_cluster(each, rng) for each in (experiment, other)]
    shared = np.intersect1d(experiment.key, other.key)
    has_own = [not np.isin(each.key, shared).all() for each in (experiment, other)]
    if len(shared) and all(has_own):
        size = min(len(index) for index in rows)
        rows = [rng.permutation(index)[:size] for index in rows]
        shared = np.intersect1d(experiment.key[rows[0]], other.key[rows[1]])
    if not any(has_own):
        return rows[0][:0], rows[1][:0]
    exclude = [shared if own else shared[:0] for own in has_own]
    return _distinct_rows(experiment, rows[0], exclude[0]), _distinct_rows(other, rows[1], exclude[1])


def _one_row_per_cluster(contexts: ContextTable, rng: np.random.Generator) -> IntArray:
    shuffled = rng.permutation(len(contexts.key))
    if contexts.cluster is None:
        return shuffled
    return shuffled[np.unique(contexts.cluster[shuffled], return_index=True)[1]]


def _distinct_rows(contexts: ContextTable, rows: IntArray, exclude: IntArray) -> IntArray:
    rows = rows[~np.isin(contexts.key[rows], exclude)]
    return rows[np.unique(contexts.key[rows], return_index=True)[1]]

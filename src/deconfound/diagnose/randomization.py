"""A1: were the experiment's models drawn as declared, whatever the context and the time?

Tests of the counts of the models, then of time, context and columns of segments as predictors of the model. They need
the probability of every model in every row. Where only that of the assigned model is declared, and it varies, none of
them is possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from deconfound.data import Study
from deconfound.data.segment_codes import SegmentCodes
from deconfound.diagnose.assignment import Assignment, contradictory_total, read_assignment
from deconfound.diagnose.assignment_tests import predict_assignment, sample_ratio_test, sample_redrawn_rows
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.permutation_tests import cosine_basis, time_quantile
from deconfound.diagnose.thresholds import MIN_DRAWS
from deconfound.features.context_features import context_blocks
from deconfound.findings import Finding, Verdict

SAMPLE_RATIO, OVER_TIME, BY_CONTEXT = "sample ratio", "assignment over time", "assignment by context"
BY_SEGMENT = "assignment by segment"
TEXT_PENALTY, SURFACE_PENALTY = 0.01, 1.0  # of n: many weak directions of words, few strong ones of the surface
TIME_PENALTY = 1e-3  # of n: the cosines are orthogonal and need next to none
SEGMENT_PENALTY = 1e-3  # of n: so are the indicators of segments


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class TooFewDraws:
    """Too few independent assignments for any test."""

    draws: int
    by_cluster: bool


@dataclass(frozen=True, slots=True)
class UnknownPropensities:
    """Propensities that vary between rows, declared for the assigned model only: the others' are unknown."""

    source: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContradictoryPropensities:
    """One propensity for each model in all rows, which together are more than one."""

    source: str
    models: tuple[str, ...]
    total: float


@dataclass(frozen=True, slots=True)
class NotRandomized:
    """An experiment that declares a probability of one for the model of every row."""

    source: str


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Observed rows per model, and those expected under the declared propensities."""

    models: tuple[str, ...]
    counts: tuple[int, ...]
    expected: tuple[float, ...]
    by_cluster: bool


@dataclass(frozen=True, slots=True)
class MissingTime:
    """A table without a time column."""

    source: str


@dataclass(frozen=True, slots=True)
class AssignmentDrift:
    """The model whose share changed most between the two halves of the experiment's time, beyond its declared share."""

    model: str
    first_half: float
    second_half: float
    declared_first_half: float
    declared_second_half: float


@dataclass(frozen=True, slots=True)
class AssignmentByContext:
    """A test of whether contexts predict the assigned model."""

    draws: int


@dataclass(frozen=True, slots=True)
class AssignmentBySegment:
    """A test of whether a column of segments predicts the assigned model, as one does that depends on the answer."""

    column: str
    draws: int


@dataclass(frozen=True, slots=True)
class IdenticalContexts:
    """Contexts that do not differ in any feature."""

    draws: int


Untestable: TypeAlias = TooFewDraws | UnknownPropensities | ContradictoryPropensities | NotRandomized

# --- the checks ---


def check_randomization(study: Study, seed: int) -> tuple[Finding | PendingFinding, ...]:
    """Counts against the declared propensities, then time and context as predictors of the model."""
    assignment = read_assignment(study, seed)
    untestable = _untestable(study, assignment)
    if untestable is not None:
        # Without randomization there is nothing to test; one failure says so.
        first: Verdict = "fail" if isinstance(untestable, NotRandomized) else "cannot tell"
        first = "warn" if isinstance(untestable, ContradictoryPropensities) else first
        verdicts: dict[str, Verdict] = {SAMPLE_RATIO: first, OVER_TIME: "cannot tell", BY_CONTEXT: "cannot tell"}
        return tuple(Finding(check, verdict, untestable, "A1") for check, verdict in verdicts.items())
    return (
        check_sample_ratio(assignment, seed),
        check_assignment_over_time(study, assignment, seed),
        check_assignment_by_context(study, assignment, seed),
        *check_assignment_by_segment(study, assignment, seed),
    )


def _untestable(study: Study, assignment: Assignment) -> Untestable | None:
    """Why no test of A1 is possible, if none is."""
    if assignment.is_certain:
        return NotRandomized(study.experiment.source)
    if len(assignment) < MIN_DRAWS:
        return TooFewDraws(len(assignment), assignment.by_cluster)
    if assignment.probability is None:
        total = contradictory_total(assignment, study.experiment.arrow["propensity"].to_numpy())
        if total is not None:
            return ContradictoryPropensities(study.experiment.source, assignment.names, total)
        return UnknownPropensities(study.experiment.source, assignment.names)
    return None


def check_sample_ratio(assignment: Assignment, seed: int) -> PendingFinding:
    """Sample-ratio test: the rows of each model against their declared number."""
    assignment = sample_redrawn_rows(assignment, seed)
    statistic, p = sample_ratio_test(assignment, seed)
    expected = assignment.require_probability().sum(axis=0)
    counts = tuple(assignment.counts.tolist())
    ratio = SampleRatio(assignment.names, counts, tuple(expected.tolist()), assignment.by_cluster)
    return PendingFinding(SAMPLE_RATIO, "A1", ratio, statistic, p)


def check_assignment_over_time(study: Study, assignment: Assignment, seed: int) -> Finding | PendingFinding:
    """Whether the shares of the models changed while the experiment ran, beyond what was declared."""
    table = study.experiment.arrow
    if "time" not in table.column_names:
        return Finding(OVER_TIME, "cannot tell", MissingTime(study.experiment.source), "A1")
    time = table["time"].to_numpy()[assignment.rows]
    if len(np.unique(time)) < 2:
        return Finding(OVER_TIME, "cannot tell", TooFewDraws(len(assignment), assignment.by_cluster), "A1")
    test = predict_assignment((cosine_basis(time),), (TIME_PENALTY,), assignment, seed)
    halves = [time_quantile(time) < 0.5, time_quantile(time) >= 0.5]
    shares = [assignment.indicator[half].mean(axis=0) for half in halves]
    declared = [assignment.require_probability()[half].mean(axis=0) for half in halves]
    largest = int(np.abs(shares[1] - declared[1] - shares[0] + declared[0]).argmax())
    drift = AssignmentDrift(assignment.names[largest], *(float(each[largest]) for each in (*shares, *declared)))
    return PendingFinding(OVER_TIME, "A1", drift, test.statistic, test.p_value)


def check_assignment_by_context(study: Study, assignment: Assignment, seed: int) -> Finding | PendingFinding:
    """Whether a classifier on the context's features predicts the model better than its declared propensity."""
    blocks = context_blocks(study, study.experiment.arrow.take(assignment.rows), seed)
    if not any(block.any() for block in blocks):
        return Finding(BY_CONTEXT, "cannot tell", IdenticalContexts(len(assignment)), "A1")
    penalties = (TEXT_PENALTY, SURFACE_PENALTY) if study.has_text else (SURFACE_PENALTY,)
    test = predict_assignment(blocks, penalties, assignment, seed)
    return PendingFinding(BY_CONTEXT, "A1", AssignmentByContext(len(assignment)), test.statistic, test.p_value)


def check_assignment_by_segment(study: Study, assignment: Assignment, seed: int) -> tuple[PendingFinding, ...]:
    """Whether segments predict the model: then they depend on the answer, or models were not drawn alike in them."""
    pending = []
    for column in study.experiment.segment_names:
        codes = SegmentCodes.from_experiment(study.experiment, column)
        block = np.eye(len(codes.names))[codes.code[assignment.rows]]
        if len(np.unique(codes.code[assignment.rows])) > 1:
            test = predict_assignment((block,), (SEGMENT_PENALTY,), assignment, seed)
            details = AssignmentBySegment(column, len(assignment))
            pending.append(PendingFinding(BY_SEGMENT, "A1", details, test.statistic, test.p_value, worst="warn"))
    return tuple(pending)

"""A3: do log and experiment agree where both rated the same thing?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.association import sign_flip_test, within_model_association
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.permutation_tests import cluster_of_row
from deconfound.diagnose.thresholds import MIN_EXACT_MATCHES, MIN_OUTCOME_ROWS
from deconfound.findings import Finding, Verdict

MATCHING, LEVEL = "matching outputs", "matching level"


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class MatchingOutputs:
    """Correlation of log and experiment outcomes over rows that share ``matched_on``, within models."""

    rows: int
    matched_on: str
    correlation: float


@dataclass(frozen=True, slots=True)
class MatchingLevel:
    """Mean difference, experiment minus log, over rows that share ``matched_on``."""

    rows: int
    matched_on: str
    difference: float


@dataclass(frozen=True, slots=True)
class TooFewMatches:
    """Too few experiment rows whose context and output, or context and model, also occur in the log."""

    rows: int
    minimum: int


# --- the checks ---


def check_matching(study: Study, seed: int, level: float) -> tuple[Finding | PendingFinding, ...]:
    """Log against experiment where both rated the same thing: the sign of the association, and the level.

    The level is reported and never warns: confounding alone moves it in studies that violate no assumption.
    """
    pairs = match_rows(study)
    if pairs is None or len(pairs.experiment) < MIN_OUTCOME_ROWS:
        rows = 0 if pairs is None else len(pairs.experiment)
        return (Finding(MATCHING, "cannot tell", TooFewMatches(rows, MIN_OUTCOME_ROWS), "A3"),)
    rows, matched_on = len(pairs.experiment), pairs.matched_on
    association = within_model_association(pairs.log, pairs.experiment, pairs.model, pairs.cluster, seed)
    sign = PendingFinding(
        MATCHING,
        "A3",
        MatchingOutputs(rows, matched_on, association.correlation),
        association.correlation,
        association.negative_p_value,
        worst="warn",
    )
    test = sign_flip_test(pairs.experiment - pairs.log, pairs.cluster, seed)
    details = MatchingLevel(rows, matched_on, test.mean)
    verdict: Verdict = "pass" if test.p_value >= 1.0 - level else "cannot tell"
    return sign, Finding(LEVEL, verdict, details, "A3", test.mean, test.p_value)


# --- matching rows ---


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Outcomes of the experiment beside the log's mean outcome of the same thing."""

    matched_on: str
    experiment: FloatArray  # (m,)
    log: FloatArray  # (m,)
    model: IntArray  # (m,)
    cluster: IntArray  # (m,)


def match_rows(study: Study) -> MatchedRows | None:
    """Match rows by context and output, or by context and model where too few outputs recur; None without any."""
    context = "context" if study.has_text else "context_id"
    keys = [("context and output", (context, "output"))] if study.has_text else []
    keys.append(("context and model", (context, "model")))
    log = study.log_on_replayed.arrow
    log = log.filter(pc.is_in(log[context], value_set=pc.unique(study.experiment.arrow[context])))
    best: MatchedRows | None = None
    for matched_on, columns in keys:
        matched = _match(study.experiment.arrow, log, matched_on, columns)
        if best is None or len(best.log) < MIN_EXACT_MATCHES <= len(matched.log):
            best = matched
    return best if best is not None and len(best.log) else None


def _match(experiment: pa.Table, log: pa.Table, matched_on: str, columns: tuple[str, ...]) -> MatchedRows:
    sums: dict[tuple[str, ...], list[float]] = {}
    for key, outcome in zip(row_keys(log, columns), log["outcome"].to_pylist(), strict=True):
        total = sums.setdefault(key, [0.0, 0.0])
        total[0] += outcome
        total[1] += 1.0
    matches = [(row, sums[key]) for row, key in enumerate(row_keys(experiment, columns)) if key in sums]
    rows = np.array([row for row, _ in matches], dtype=np.int64)
    _, model = encode(experiment["model"], None)
    mean = np.array([total / count for _, (total, count) in matches], dtype=np.float64)
    outcome = experiment["outcome"].to_numpy()[rows]
    return MatchedRows(matched_on, outcome, mean, model[rows], cluster_of_row(experiment)[rows])


def row_keys(table: pa.Table, columns: Iterable[str]) -> Iterable[tuple[str, ...]]:
    """Each row's values of some columns."""
    return zip(*(table[name].to_pylist() for name in columns), strict=True)

"""A3: does an outcome mean the same in the log, in the experiment, and over time?

For a given model, the log's outcomes may be higher or lower than the experiment's: that is confounding, which the
evaluation corrects. It cannot correct another scale, another coding or another rule for rating. These checks therefore
look at which values occur, at the sign of associations within models, and at time. All but the first have harmless
explanations too, and warn at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from deconfound.data import Study, Table
from deconfound.data.encode import encode
from deconfound.design import DenseMatrix, FloatArray, IntArray
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.permutation_tests import (
    LeaveOneOutRidge,
    PredictionTest,
    center_within,
    cluster_of_row,
    cosine_basis,
    permute_or_flip,
    prediction_test,
    sample_clusters,
    sign_flip_test,
    time_quantile,
    within_model_association,
)
from deconfound.diagnose.thresholds import (
    MAX_CONFOUNDING_RATIO,
    MAX_DISCRETE_VALUES,
    MIN_CLUSTERS,
    MIN_EXACT_MATCHES,
    MIN_OUTCOME_ROWS,
    MIN_ROWS_PER_VALUE,
    SHARE_LIMIT_P,
)
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding, Verdict
from deconfound.linalg import ridge

VALUES, DIRECTION, MATCHING, LEVEL = "outcome values", "outcome direction", "matching outputs", "matching level"
REWARD_PENALTY = 1e-2  # of n: enough to stabilize collinear statistics
TIME_PENALTY = 1e-3  # of n: the cosines are orthogonal and need next to none
MAX_TESTED_ROWS = 5_000  # of the test for drift; of more, whole clusters are sampled


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class OutcomeValues:
    """The outcome values of both sources: how many, from where to where, and a discrete scale's own values."""

    log_values: int
    log_range: tuple[float, float]
    log_scale: tuple[float, ...]  # empty where outcomes are not discrete
    experiment_values: int
    experiment_range: tuple[float, float]
    experiment_scale: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class OutcomeDirection:
    """Correlation of the log's reward with the experiment's outcomes within models.

    ``confirmed`` if it is significantly positive; else an inverted scale could not be excluded.
    """

    correlation: float
    positive_p_value: float
    confirmed: bool


@dataclass(frozen=True, slots=True)
class DirectionUntested:
    """Too few experiment rows, or no output statistics, to compare the direction of the outcomes."""

    rows: int
    minimum: int


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


@dataclass(frozen=True, slots=True)
class OutcomeDrift:
    """Change of the mean outcome within models, from the first half of the time to the second."""

    table: str
    mean_shift: float


@dataclass(frozen=True, slots=True)
class DriftUntested:
    """No time column, or too few rows, clusters or distinct times to detect a drift."""

    source: str
    has_time: bool


# --- the checks ---


def check_outcome_consistency(
    study: Study, arrays: StudyArrays, seed: int, level: float
) -> tuple[Finding | PendingFinding, ...]:
    """Values and ranges, the direction of the outcome, matching outputs, and drift in both sources."""
    return (
        check_values(study),
        check_direction(study, arrays, seed, level),
        *check_matching(study, seed, level),
        *(check_drift(table, seed) for table in (study.log, study.experiment)),
    )


def check_values(study: Study) -> PendingFinding:
    """Whether both sources use the same values: one must not be yes or no and the other graded."""
    log, experiment = (table.arrow["outcome"].to_numpy() for table in (study.log, study.experiment))
    details = OutcomeValues(*_describe_values(log), *_describe_values(experiment))
    missed = max(share_outside_values(log, experiment), share_outside_values(experiment, log))
    return PendingFinding(VALUES, "A3", details, missed, values_p_value(log, experiment))


def check_direction(study: Study, arrays: StudyArrays, seed: int, level: float) -> Finding | PendingFinding:
    """Whether outputs that rate high in the log rate low in the experiment, within models."""
    experiment, blocks = arrays.experiment, arrays.log.blocks
    if blocks.dense is None or experiment.blocks.dense is None or len(experiment.outcome) < MIN_OUTCOME_ROWS:
        return Finding(DIRECTION, "cannot tell", DirectionUntested(len(experiment.outcome), MIN_OUTCOME_ROWS), "A3")
    _, model = encode(study.log.arrow["model"], (*study.models, *study.uncompared_models))
    outcome = study.log.arrow["outcome"].to_numpy()
    prediction = transferred_prediction(
        blocks.dense[blocks.row_index], outcome, model, experiment.blocks.dense[experiment.blocks.row_index]
    )
    association = within_model_association(prediction, experiment.outcome, experiment.model, experiment.cluster, seed)
    confirmed = association.positive_p_value < 1.0 - level
    return PendingFinding(
        DIRECTION,
        "A3",
        OutcomeDirection(association.correlation, association.positive_p_value, confirmed),
        association.correlation,
        association.negative_p_value,
        worst="warn",
        otherwise="pass" if confirmed else "cannot tell",
    )


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


def check_drift(table: Table, seed: int) -> Finding | PendingFinding:
    """Whether outcomes of the same model changed over time."""
    name = f"outcome over time ({table.role})"
    if "time" not in table.arrow.column_names:
        return Finding(name, "cannot tell", DriftUntested(table.source, has_time=False), "A3")
    _, model = encode(table.arrow["model"], None)
    cluster = cluster_of_row(table.arrow)
    rows = sample_clusters(cluster, MAX_TESTED_ROWS, np.random.default_rng(seed))
    outcome, time = (table.arrow[column].to_numpy()[rows] for column in ("outcome", "time"))
    model, cluster = model[rows], cluster[rows]
    if len(rows) < MIN_OUTCOME_ROWS or len(np.unique(cluster)) < MIN_CLUSTERS or len(np.unique(time)) < 2:
        return Finding(name, "cannot tell", DriftUntested(table.source, has_time=True), "A3")
    test = drift_test(outcome, time, model, cluster, seed)
    early, residual = time_quantile(time) < 0.5, center_within(outcome[:, None], model)[:, 0]
    mean_shift = float(residual[~early].mean() - residual[early].mean())
    return PendingFinding(name, "A3", OutcomeDrift(table.role, mean_shift), test.statistic, test.p_value, worst="warn")


# --- values ---


def values_p_value(one: FloatArray, other: FloatArray) -> float:
    """p-value of one source having no outcomes where so many of the other's are.

    With a share s there, n rows all miss it with probability (1 - s)^n. The share is the lower confidence limit of the
    other source's, divided by ``MAX_CONFOUNDING_RATIO``.
    """
    probabilities = []
    for source, against in ((one, other), (other, one)):
        rows = round(share_outside_values(source, against) * len(against))
        share = float(stats.beta.ppf(SHARE_LIMIT_P, rows, len(against) - rows + 1)) if rows else 0.0
        probabilities.append((1.0 - share / MAX_CONFOUNDING_RATIO) ** len(source))
    return float(min(1.0, 2.0 * min(probabilities) + SHARE_LIMIT_P))


def share_outside_values(source: FloatArray, other: FloatArray) -> float:
    """Share of the other's outcomes outside the source's range or, if it is discrete, between its values."""
    outside = ~np.isin(other, source) if is_discrete(source) else (other < source.min()) | (other > source.max())
    return float(np.mean(outside))


def is_discrete(outcome: FloatArray) -> bool:
    """Whether outcomes take a few values, each of them several times."""
    values = len(np.unique(outcome))
    return values <= MAX_DISCRETE_VALUES and len(outcome) >= MIN_ROWS_PER_VALUE * values


def _describe_values(outcome: FloatArray) -> tuple[int, tuple[float, float], tuple[float, ...]]:
    values = np.unique(outcome)
    scale = tuple(values.tolist()) if is_discrete(outcome) else ()
    return len(values), (float(values[0]), float(values[-1])), scale


# --- direction ---


def transferred_prediction(
    features: FloatArray, outcome: FloatArray, model: IntArray, others: FloatArray
) -> FloatArray:
    """A reward learned within the models of one source, as it scores the rows of another."""
    centered = center_within(features, model)
    coef = ridge(
        DenseMatrix(centered), center_within(outcome[:, None], model)[:, 0], REWARD_PENALTY * len(outcome)
    ).coef
    return np.asarray(others @ coef)


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
    log = study.log.arrow
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


# --- drift ---


def drift_test(outcome: FloatArray, time: FloatArray, model: IntArray, cluster: IntArray, seed: int) -> PredictionTest:
    """Test that time predicts the outcome within models."""
    target = center_within(outcome[:, None], model)
    time_ridge = LeaveOneOutRidge.fit(center_within(cosine_basis(time), model), TIME_PENALTY * len(time))
    return prediction_test([time_ridge], target, permute_or_flip(target, model, cluster), np.random.default_rng(seed))

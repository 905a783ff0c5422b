"""A3: does an outcome mean the same in the log, in the experiment, and over time?

For a given model, the log's outcomes may be higher or lower than the experiment's: that is confounding, which the
evaluation corrects. It cannot correct another scale, another coding or another rule for rating. These checks therefore
look at which values occur, at the sign of associations within models, and at time. All but the first have harmless
explanations too, and warn at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import DenseMatrix, FloatArray, IntArray
from deconfound.diagnose.association import within_model_association
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.outcome_drift import check_drift
from deconfound.diagnose.outcome_matching import check_matching
from deconfound.diagnose.permutation_tests import center_within
from deconfound.diagnose.thresholds import (
    MAX_CONFOUNDING_RATIO,
    MAX_DISCRETE_VALUES,
    MIN_OUTCOME_ROWS,
    MIN_ROWS_PER_VALUE,
    SHARE_LIMIT_P,
)
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.linalg import ridge

VALUES, DIRECTION = "outcome values", "outcome direction"
REWARD_PENALTY = 1e-2  # of n: enough to stabilize collinear statistics


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


# --- values ---


def values_p_value(one: FloatArray, other: FloatArray) -> float:
    """p-value of one source having no outcomes where so many of the other's are.

    With a share s there, n rows all miss it with probability (1 - s)^n. The share is the lower confidence limit of the
    other source's, divided by ``MAX_CONFOUNDING_RATIO``.
    """
    probabilities = []
    for source, against in ((one, other), (other, one)):
        rows = round(share_outside_values(source, against) * len(against))
        share = float(betaincinv(rows, len(against) - rows + 1, SHARE_LIMIT_P)) if rows else 0.0
        probabilities.append((1.0 - share / MAX_CONFOUNDING_RATIO) ** len(source))
    return float(min(1.0, 2.0 * min(probabilities) + SHARE_LIMIT_P))


def share_outside_values(source: FloatArray, other: FloatArray) -> float:
    """Share of the other's outcomes outside the source's range or, if it is discrete, between its values.

    Where all outcomes of one source are higher, some leave the other's range: a difference in level, which the
    evaluation corrects. So outcomes must also be outside after both sources have the same median.
    """
    if is_discrete(source):
        return float(np.mean(~np.isin(other, source)))
    shift = float(np.median(source) - np.median(other))
    return min(_share_outside_range(source, outcomes) for outcomes in (other, other + shift))


def _share_outside_range(source: FloatArray, other: FloatArray) -> float:
    return float(np.mean((other < source.min()) | (other > source.max())))


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

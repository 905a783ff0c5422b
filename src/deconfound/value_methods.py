"""The values of a scored study by each method: doubly robust, efficient, as in the paper, or direct."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias, TypeVar

import numpy as np

from deconfound.crossfit import CrossFit
from deconfound.data import PROPENSITY_PREFIX, Study
from deconfound.design import FloatArray, IntArray
from deconfound.features.output_probability import exact_output_probability, study_outputs
from deconfound.features.study_arrays import StudyArrays
from deconfound.reward import Family
from deconfound.value import ScoredExperiment, Values, direct, doubly_robust, shrink_toward, tuned_doubly_robust
from deconfound.value.efficient import efficient
from deconfound.value.efficient_summary import EfficientSummary
from deconfound.value.output_overlap import OutputOverlap, propensities_by_model

F = TypeVar("F", bound=Family)
Method: TypeAlias = Literal["doubly robust", "efficient", "paper", "direct"]
PAPER = "paper"
MIN_SHARED_ROWS = 0.1  # of the experiment; with fewer, efficient values can hardly be 5 % narrower
MIN_NARROWING = 0.05  # of the intervals; a smaller gain is not worth another assumption, so nothing is suggested


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedValues:
    """The values of one method and those that it rests on."""

    reported: Values
    decisive: Values  # behind recommendations, routing and the log's bias: ``reported``, unless that is direct
    unbiased: Values  # before shrinkage
    direct: Values
    efficient: EfficientSummary | None  # None if not requested, and nothing to suggest


@dataclass(frozen=True, slots=True, eq=False)
class SharedOutputs:
    """Which models could have written the output of each experiment row."""

    probability: FloatArray  # (n, k) P(model | context, output)
    propensities: FloatArray  # (n, k)
    overlap: OutputOverlap

    @classmethod
    def from_study(cls, study: Study, arrays: StudyArrays) -> Self | None:
        """Count identical outputs; None if the propensity of some model in some row is unknown."""
        propensities = all_propensities(study, arrays)
        if propensities is None:
            return None
        experiment, replay = study_outputs(study, arrays)
        probability = exact_output_probability(experiment, replay, propensities)
        overlap = OutputOverlap.from_probability(probability, _compared_codes(experiment.model, len(study.models)))
        return cls(probability, propensities, overlap)


def score_experiment(arrays: StudyArrays, fitted: CrossFit[F], weight: FloatArray | None = None) -> ScoredExperiment:
    """The experiment's rows with their out-of-fold rewards."""
    rows = arrays.experiment
    return ScoredExperiment.from_arrays(
        arrays.models,
        fitted.q,
        fitted.prediction,
        rows.model,
        rows.outcome,
        propensity=rows.propensity,
        cluster=rows.noise_clusters,
        weight=weight,
    )


def estimate_values(
    data: ScoredExperiment,
    fitted: CrossFit[Family],
    method: Method,
    shared: SharedOutputs | None,
    extra_q: FloatArray,
    common_variance: float = 0.0,
) -> EstimatedValues:
    """Values by ``method``; ``extra_q`` (N, k) is q on contexts outside the experiment, N possibly 0.

    ``shared`` is None where it is unknown; efficient values are then doubly robust. ``common_variance`` is that of an
    error that all values share (``Values.with_common_error``).
    """
    summary = _efficient_summary(data, fitted, method, shared, extra_q)
    if method == PAPER:
        unbiased = paper_values(data)
    elif summary is not None and summary.used and summary.result is not None:
        unbiased = summary.result.values
    else:
        unbiased = tuned_doubly_robust(data, extra_q=extra_q)
    unbiased = unbiased.with_common_error(common_variance)
    q, weight = np.vstack([data.q, extra_q]), np.append(data.weight, np.ones(len(extra_q)))
    model_based = _with_intervals_of(unbiased, direct(data.models, q, weight=weight))
    decisive = unbiased if method == PAPER else shrink_toward(unbiased, model_based.estimate)
    reported = model_based if method == "direct" else decisive
    return EstimatedValues(reported, decisive, unbiased, model_based, summary)


def paper_values(data: ScoredExperiment) -> Values:
    """The paper's formula: all rows weigh the same, no reward weight, no small-sample correction, no shrinkage."""
    values = doubly_robust(
        data.models, data.q, data.model, data.outcome, data.prediction, data.propensity, data.cluster
    )
    return replace(values, method=PAPER)


def all_propensities(study: Study, arrays: StudyArrays) -> FloatArray | None:
    """The propensity of every model in every experiment row (n, k), all positive; None if one is unknown.

    Declared ``propensity_*`` columns have it. Otherwise it can be inferred if each model always had the same, or if
    there are two models.
    """
    rows, count = arrays.experiment, len(study.models)
    table = study.experiment.arrow
    names = [f"{PROPENSITY_PREFIX}{name}" for name in study.models]
    if not study.experiment.propensities():
        # Models that are not compared matter for the sum of the propensities, which must not exceed one.
        others = np.unique(rows.model[rows.model >= count])
        code = np.where(rows.model < count, rows.model, count + np.searchsorted(others, rows.model))
        inferred = propensities_by_model(code, rows.propensity, count + len(others))
        return None if inferred is None else inferred[:, :count]
    if not set(names) <= set(table.column_names):
        return None
    propensities = np.column_stack([table[name].to_numpy() for name in names])
    own = np.flatnonzero(rows.model < count)
    propensities[own, rows.model[own]] = rows.propensity[own]  # they may differ by rounding
    return propensities


def _efficient_summary(
    data: ScoredExperiment,
    fitted: CrossFit[Family],
    method: Method,
    shared: SharedOutputs | None,
    extra_q: FloatArray,
) -> EfficientSummary | None:
    """Efficient values if requested; with doubly robust values only if they would be clearly narrower."""
    requested = method == "efficient"
    if shared is None:
        return EfficientSummary.unknown_propensities() if requested else None
    suggest = method == "doubly robust" and shared.overlap.shared_rows >= MIN_SHARED_ROWS
    if not (requested or suggest):
        return None
    result = efficient(
        data,
        shared.probability,
        propensities=shared.propensities,
        predictions=fitted.predictions,
        extra_q=extra_q,
    )
    summary = EfficientSummary.from_values(result, shared.overlap, requested=requested)
    worth_it = summary.obstacle is None and summary.narrowing() >= MIN_NARROWING
    return summary if requested or worth_it else None


def _with_intervals_of(unbiased: Values, direct_values: Values) -> Values:
    """Direct values with the intervals of unbiased ones, extended to contain the estimate.

    How far a reward's mean is off shows only against randomized outcomes: no narrower interval is valid.
    """
    return replace(unbiased, estimate=direct_values.estimate, interval_center=unbiased.center, method="direct")


def _compared_codes(model: IntArray, count: int) -> IntArray:
    return np.where(model < count, model, -1)

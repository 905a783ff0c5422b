"""Evidence from a pilot: a few randomized rows and a reward that has not seen their outcomes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.crossfit import cross_fit
from deconfound.data import Study
from deconfound.design import FloatArray, IntArray
from deconfound.errors import EvidenceError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.formatting import join_names, pluralize
from deconfound.linalg import one_blas_thread
from deconfound.plan.beliefs import believed
from deconfound.plan.evidence import FEWEST_FREEDOM, Evidence, believable
from deconfound.plan.widths import choice_cost
from deconfound.progress import Progress
from deconfound.reward import Auto, Family
from deconfound.surface_share import StudyTrainingData
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.small_sample import ROUNDING_ATOL, ModelWeights, moderated, squared_skewness

FOLDS = 5  # as in ``evaluate``
THIN = 10  # rows a model below which a pilot is warned of: its variances are then known to a factor of two


def from_study(study: Study, family: Family | None, seed: int, progress: Progress) -> Evidence:
    """Cross-fit a reward as ``evaluate`` does and see what it leaves unexplained."""
    with one_blas_thread():
        progress("reading texts", 0.0)
        material = StudyArrays.from_study(study, FeatureSpec())
        fitted = cross_fit(StudyTrainingData(material), family or Auto(), FOLDS, seed, None, progress)
    trial = material.experiment
    pilot = ScoredExperiment.from_arrays(
        study.models,
        fitted.q,
        fitted.prediction,
        trial.model,
        trial.outcome,
        propensity=trial.propensity,
        cluster=trial.cluster,
    )
    return from_pilot(pilot, study.experiment.source)


def from_pilot(pilot: ScoredExperiment, source: str = "pilot") -> Evidence:
    """Variances of a row from those of the pilot's values.

    They are moderated as in the estimator, so that five equal outcomes do not promise a variance of zero, and charged
    for the reward weight that was chosen on the same rows.
    """
    models, count = pilot.models, len(pilot.models)
    values = tuned_doubly_robust(pilot)
    shares = ModelWeights.from_rows(pilot.model, count, 1 / pilot.propensity, pilot.cluster)
    drawn = np.bincount(pilot.model[pilot.compared], minlength=count)
    outcome, prediction = shares.influence(pilot.outcome), shares.influence(pilot.prediction)
    if shares.df.sum() < FEWEST_FREEDOM or np.abs(outcome).max() < ROUNDING_ATOL:
        raise EvidenceError(
            f"{source}: {pluralize(len(pilot.model), 'row')} of {pluralize(count, 'model')} do not vary: "
            f"it takes {FEWEST_FREEDOM} independent rows beyond the first of each model, and outcomes that vary. "
            "Randomize more contexts, leave --experiment out, or give --models N and --spread S instead of files."
        )
    power = np.zeros(count) if values.reward_weight is None else values.reward_weight
    residual = outcome - power * prediction
    with np.errstate(divide="ignore", invalid="ignore"):
        independent = np.where(shares.inestimable, 1.0, np.minimum((shares.df + 1) / drawn, 1.0))
    plain = _row_variance(shares, outcome, independent)
    left = _row_variance(shares, residual, independent) * (choice_cost(shares.df) if power.any() else 1.0)
    helped = bool(power.any()) and left.sum() < plain.sum()
    return Evidence(
        models=models,
        outcome=plain,
        row=np.minimum(left, plain) if helped else plain,
        context=_context(pilot, shares, power) if helped else np.zeros((count, count)),
        excess=np.full(count, _excess(shares, residual if helped else outcome)),
        skew=np.full(count, _skew(shares, residual if helped else outcome)),
        independent=independent,
        **believed(values.estimate, values.covariance),
        variance_range=believable(float(shares.df.sum()), float(plain.mean())),
        source="pilot",
        rows=len(pilot.model),
        findings=_thin(models, drawn, source),
    )


def _row_variance(shares: ModelWeights, influence: FloatArray, independent: FloatArray) -> FloatArray:
    """Variance of the mean times the rows it came from (k,); a model without rows gets what the others share."""
    own = moderated(shares, influence, all_constant=False)
    size = np.where(shares.inestimable, 1.0, shares.sum_squared_weight)
    return np.asarray(((own.influence**2).sum(axis=0) + own.added_variance) / size / independent)


def _context(pilot: ScoredExperiment, shares: ModelWeights, power: FloatArray) -> FloatArray:
    """Covariance over contexts of power * q, and on the diagonal twice what it shares with the model's own residual."""
    steered = power * pilot.q
    found = np.atleast_2d(np.cov(steered.T))
    for a in np.flatnonzero(~shares.inestimable):
        share = shares.weight[:, a]
        residual = pilot.outcome - power[a] * pilot.prediction
        with_context = share @ (residual * steered[:, a]) - (share @ residual) * (share @ steered[:, a])
        found[a, a] += 2 * with_context
    return found


def _excess(shares: ModelWeights, influence: FloatArray) -> float:
    """Excess kurtosis of residuals, averaged over models by what they know; at least 0."""
    seen = ~shares.inestimable & ((influence**2).sum(axis=0) > ROUNDING_ATOL)
    if not seen.any():
        return 0.0
    fourth = (influence[:, seen] ** 4).sum(axis=0) / (shares.cluster_weight[:, seen] ** 4).sum(axis=0)
    second = (influence[:, seen] ** 2).sum(axis=0) / shares.sum_squared_weight[seen]
    return max(float(np.average(fourth / second**2 - 3, weights=np.maximum(shares.df[seen], ROUNDING_ATOL))), 0.0)


def _skew(shares: ModelWeights, influence: FloatArray) -> float:
    """Squared skewness of residuals, averaged in the same way."""
    seen = ~shares.inestimable & ((influence**2).sum(axis=0) > ROUNDING_ATOL)
    if not seen.any():
        return 0.0
    known = np.maximum(shares.df[seen], ROUNDING_ATOL)
    return float(np.average(squared_skewness(shares, influence)[seen], weights=known))


def _thin(models: Sequence[str], drawn: IntArray, source: str) -> tuple[Finding, ...]:
    few = [f"{name}: {n}" for name, n in zip(models, drawn.tolist(), strict=True) if n < THIN]
    if not few:
        return ()
    message = (
        f"{source}: fewer than {pluralize(THIN, 'row')} of {join_names(few)}; variances lean on those of other models."
    )
    return (Finding("thin pilot", "warn", message, "Plan again when more rows are in."),)

"""Evidence from a pilot: a few randomized rows and a reward that has not seen their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.crossfit import cross_fit
from deconfound.data import Study
from deconfound.design import FloatArray, IntArray
from deconfound.errors import EvidenceError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize
from deconfound.linalg import one_blas_thread
from deconfound.plan.beliefs import believed
from deconfound.plan.evidence import FEWEST_FREEDOM, Evidence, believable
from deconfound.plan.widths import choice_cost
from deconfound.progress import Progress
from deconfound.reward import Auto, Family
from deconfound.value import tuned_doubly_robust
from deconfound.value.small_sample import ROUNDING, Shares, moderated, skewness

FOLDS = 5  # as in ``evaluate``
THIN = 10  # rows a model below which a pilot is warned of: its variances are then known to a factor of two


@dataclass(frozen=True, slots=True)
class Pilot:
    """An experiment as arrays: what ``powered`` takes."""

    q: FloatArray  # (n, k)
    model: IntArray  # (n,)
    outcome: FloatArray  # (n,)
    prediction: FloatArray  # (n,)
    propensity: FloatArray | None = None  # (n,)
    cluster: IntArray | None = None  # (n,)


def from_study(study: Study, family: Family | None, seed: int, progress: Progress) -> Evidence:
    """Cross-fit a reward as ``evaluate`` does and see what it leaves unexplained."""
    with one_blas_thread():
        progress("reading texts", 0.0)
        material = StudyArrays.of(study, FeatureSpec(source="text" if study.has_text else "columns"))
        fitted = cross_fit(material, family or Auto(), FOLDS, seed, None, progress)
    trial = material.trial
    pilot = Pilot(fitted.q, trial.model, trial.outcome, fitted.prediction, trial.propensity, trial.cluster)
    return from_pilot(study.models, pilot, study.experiment.source)


def from_pilot(models: Sequence[str], pilot: Pilot, source: str = "pilot") -> Evidence:
    """Variances of a row from those of the pilot's values.

    They are moderated as in the estimator, so that five equal outcomes do not promise a variance of zero, and charged
    for the power that was chosen on the same rows.
    """
    count = len(models)
    values = tuned_doubly_robust(
        models, pilot.q, pilot.model, pilot.outcome, pilot.prediction, pilot.propensity, pilot.cluster
    )
    heavy = np.ones(len(pilot.model)) if pilot.propensity is None else 1 / pilot.propensity
    shares = Shares.of(pilot.model, count, heavy, pilot.cluster)
    drawn = np.bincount(pilot.model, minlength=count)[:count]
    outcome, prediction = shares.influence(pilot.outcome), shares.influence(pilot.prediction)
    if shares.df.sum() < FEWEST_FREEDOM or np.abs(outcome).max() < ROUNDING:
        raise EvidenceError(
            f"{source}: {pluralize(len(pilot.model), 'row')} of {pluralize(count, 'model')} do not vary: "
            f"it takes {FEWEST_FREEDOM} independent rows beyond the first of each model, and outcomes that vary. "
            "Randomize more contexts, leave --experiment out, or give --models N and --spread S instead of files."
        )
    power = np.zeros(count) if values.power is None else values.power
    residual = outcome - power * prediction
    with np.errstate(divide="ignore", invalid="ignore"):
        independent = np.where(shares.blind, 1.0, np.minimum((shares.df + 1) / drawn, 1.0))
    plain = _row_variance(shares, outcome, independent)
    left = _row_variance(shares, residual, independent) * (choice_cost(shares.df) if power.any() else 1.0)
    helped = bool(power.any()) and left.sum() < plain.sum()
    return Evidence(
        models=tuple(models),
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


def _row_variance(shares: Shares, influence: FloatArray, independent: FloatArray) -> FloatArray:
    """Variance of the mean times the rows it came from (k,); a model without rows gets what the others share."""
    own = moderated(shares, influence, still=False)
    size = np.where(shares.blind, 1.0, shares.size)
    return np.asarray(((own.influence**2).sum(axis=0) + own.extra) / size / independent)


def _context(pilot: Pilot, shares: Shares, power: FloatArray) -> FloatArray:
    """Covariance over contexts of power * q, and on the diagonal twice what it shares with the model's own residual."""
    steered = power * pilot.q
    found = np.atleast_2d(np.cov(steered.T))
    for a in np.flatnonzero(~shares.blind):
        share = shares.share[:, a]
        residual = pilot.outcome - power[a] * pilot.prediction
        with_context = share @ (residual * steered[:, a]) - (share @ residual) * (share @ steered[:, a])
        found[a, a] += 2 * with_context
    return found


def _excess(shares: Shares, influence: FloatArray) -> float:
    """Excess kurtosis of residuals, averaged over models by what they know; at least 0."""
    seen = ~shares.blind & ((influence**2).sum(axis=0) > ROUNDING)
    if not seen.any():
        return 0.0
    fourth = (influence[:, seen] ** 4).sum(axis=0) / (shares.held[:, seen] ** 4).sum(axis=0)
    second = (influence[:, seen] ** 2).sum(axis=0) / shares.size[seen]
    return max(float(np.average(fourth / second**2 - 3, weights=np.maximum(shares.df[seen], ROUNDING))), 0.0)


def _skew(shares: Shares, influence: FloatArray) -> float:
    """Squared skewness of residuals, averaged in the same way."""
    seen = ~shares.blind & ((influence**2).sum(axis=0) > ROUNDING)
    if not seen.any():
        return 0.0
    known = np.maximum(shares.df[seen], ROUNDING)
    return float(np.average(skewness(shares, influence)[seen], weights=known))


def _thin(models: Sequence[str], drawn: IntArray, source: str) -> tuple[Finding, ...]:
    few = [f"{name}: {n}" for name, n in zip(models, drawn.tolist(), strict=True) if n < THIN]
    if not few:
        return ()
    message = (
        f"{source}: fewer than {pluralize(THIN, 'row')} of {join_names(few)}; variances lean on those of other models."
    )
    return (Finding("thin pilot", "warn", Notice(message, "Plan again when more rows are in.")),)

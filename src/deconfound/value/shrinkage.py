"""James-Stein shrinkage of unbiased values toward a precise but possibly biased source."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value.values import Values

MAX_SHIFT_SE = 1.0  # no estimate moves further, in standard errors: it stays inside every interval of 68 % or more
PRIOR_LOG_ODDS = 0.5  # of the full target over the target up to a common shift, at equal fit
MIN_MODELS = 3  # below three dimensions no shrinkage is safe for every bias (Stein)
EIGENVALUE_FLOOR = 1e-9  # smaller variances, relative to the largest, count as this one


def shrink_toward(values: Values, target: FloatArray, target_covariance: FloatArray | None = None) -> Values:
    """Shrink the estimates toward ``target`` (k,), leaving intervals, contrasts and the best set unchanged.

    Positive-part James-Stein over all models: whatever the bias of the target, the total squared error does not
    increase, and a small bias lowers it a lot. Two shrinkage steps are averaged with weights by fit (multiple
    shrinkage): toward the target, and toward the target plus a shift common to all models. A source that overrates
    every model by the same amount is thus still useful.

    No model moves by more than ``MAX_SHIFT_SE`` standard errors (limited translation), so that a single badly biased
    model is not pulled far by the others. Fewer than ``MIN_MODELS`` models with a finite standard error do not move. A
    model without an unbiased value takes that of the target, and its interval stays [0, 1].

    The guarantee is exact for a target independent of the experiment. ``target_covariance`` (k, k), if given, limits
    the step to what the precision of the target justifies.
    """
    target = np.asarray(target, dtype=np.float64)
    count = len(values.models)
    if target.shape != (count,):
        raise UsageError(f"target must have one value for each of the {count} models; its shape is {target.shape}.")
    if target_covariance is None:
        target_covariance = np.zeros((count, count))
    target_covariance = np.asarray(target_covariance, dtype=np.float64)
    if target_covariance.shape != (count, count):
        raise UsageError(
            f"target_covariance must be {count} by {count}, one row per model; its shape is {target_covariance.shape}."
        )
    center = values.center
    inestimable = np.isnan(center) | ~np.isfinite(np.diag(values.covariance))
    movable = np.flatnonzero(~inestimable & np.isfinite(target) & np.isfinite(np.diag(target_covariance)))
    estimate = np.where(inestimable & np.isfinite(target), target, center)
    fraction = 0.0
    if len(movable) >= MIN_MODELS:
        gap = (target - center)[movable]
        at = np.ix_(movable, movable)
        step = _step(gap, values.covariance[at], target_covariance[at], float(values.df_or_inf[movable].min()))
        estimate[movable] += step
        fraction = _length_ratio(step, gap)
    return replace(
        values,
        estimate=estimate,
        interval_center=center,
        shrinkage_fraction=fraction,
        method=f"{values.method}, shrunk",
    )


@dataclass(frozen=True, slots=True)
class _JamesSteinStep:
    """One James-Stein step, and the log likelihood of its target up to a constant."""

    step: FloatArray
    log_fit: float


def _step(gap: FloatArray, covariance: FloatArray, target_covariance: FloatArray, df: float) -> FloatArray:
    """Average of the two steps, clipped at ``MAX_SHIFT_SE`` standard errors of each model."""
    if not np.diag(covariance).max() > 0:
        return np.zeros_like(gap)
    precision = _inverse(covariance)
    shift_weights = precision.sum(axis=0) / precision.sum()
    centering = np.eye(len(gap)) - shift_weights  # subtracts the GLS estimate of a common shift
    steps = [
        _james_stein(gap, precision, covariance, target_covariance, len(gap), df),
        _james_stein(
            centering @ gap,
            precision,
            centering @ covariance @ centering.T,
            centering @ target_covariance @ centering.T,
            len(gap) - 1,
            df,
        ),
    ]
    usable = [(each, prior) for each, prior in zip(steps, (PRIOR_LOG_ODDS, 0.0), strict=True) if each is not None]
    if not usable:
        return np.zeros_like(gap)
    weights = np.exp([each.log_fit + prior - max(other.log_fit for other, _ in usable) for each, prior in usable])
    step = sum((w * each.step for w, (each, _) in zip(weights, usable, strict=True)), np.zeros_like(gap))
    limit = MAX_SHIFT_SE * np.sqrt(np.diag(covariance))
    return np.asarray(np.clip(step / weights.sum(), -limit, limit))


def _james_stein(
    gap: FloatArray,
    precision: FloatArray,
    covariance: FloatArray,
    target_covariance: FloatArray,
    rank: int,
    df: float,
) -> _JamesSteinStep | None:
    """Positive-part James-Stein along ``gap``; None where the effective dimension is at most two.

        step = min( (d - 2) df / (df + 2) / (gap' precision gap), 1 ) * gap

    The effective dimension d is the geometric mean of ``rank`` and trace / largest eigenvalue. The latter is safe for
    every bias where variances differ; ``rank`` gains most; their mean stays within 5 % of safe (decision 0008).
    """
    trace = float(np.trace(covariance))
    dimension = float(np.sqrt(rank * trace / np.linalg.eigvalsh(covariance)[-1]))
    strength = (dimension - 2) * (df / (df + 2) if np.isfinite(df) else 1.0)
    if strength <= 0:
        return None
    distance = max(float(gap @ precision @ gap), strength)
    precision_cap = trace / (trace + float(np.trace(target_covariance)))
    log_fit = -strength / 2 * float(np.log(distance / strength))
    return _JamesSteinStep(min(strength / distance, precision_cap) * gap, log_fit)


def _inverse(covariance: FloatArray) -> FloatArray:
    eigenvalues, axes = np.linalg.eigh(covariance)
    return np.asarray((axes / np.maximum(eigenvalues, EIGENVALUE_FLOOR * eigenvalues[-1])) @ axes.T)


def _length_ratio(step: FloatArray, gap: FloatArray) -> float:
    length = float(np.linalg.norm(gap))
    return min(float(np.linalg.norm(step)) / length, 1.0) if length > 0 else 0.0

"""Point estimates that lean on a biased but precise source as far as the evidence allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value.values import Values

MOST_MOVE = 1.0  # standard errors that no estimate moves beyond: inside every interval of level 68 % or more
FAVOUR = 0.5  # log odds of believing the whole source over believing it up to a common shift, at equal fit
FEWEST_MODELS = 3  # below three numbers no shrinkage is safe for every bias (Stein)
FLAT = 1e-9  # directions with less than this share of the largest variance count as having that share


def shrink_toward(values: Values, toward: FloatArray, covariance_toward: FloatArray | None = None) -> Values:
    """Estimates moved towards those of a biased source, intervals and comparisons left where they were.

    Positive-part James-Stein over all models at once does what no single model allows: whatever the bias, the total
    squared error is not raised, and a small bias lowers it much. Two moves compete, each weighted by how well it fits
    (multiple shrinkage): towards ``toward`` itself, and towards it up to a shift that all models share. A source that
    flatters every model by the same amount still tells them apart.

    No model moves further than ``MOST_MOVE`` standard errors, so that one badly biased model cannot be dragged far
    by the others (limited translation). Fewer than three models with a known error do not move at all. A model whose
    unbiased value is unknown takes that of ``toward``, and keeps its interval [0, 1].

    ``toward`` must be independent of the experiment for the guarantee to be exact. Its covariance, if given, caps the
    move at what its own precision deserves.
    """
    toward = np.asarray(toward, dtype=np.float64)
    count = len(values.models)
    if toward.shape != (count,):
        raise UsageError(f"toward must hold one value for each of the {count} models; it is {toward.shape}.")
    noise = np.zeros((count, count)) if covariance_toward is None else np.asarray(covariance_toward, dtype=np.float64)
    if noise.shape != (count, count):
        raise UsageError(f"covariance_toward must be {count} by {count}, as there are models; it is {noise.shape}.")
    centre = values.middle
    unknown = np.isnan(centre) | ~np.isfinite(np.diag(values.covariance))
    leaning = np.flatnonzero(~unknown & np.isfinite(toward) & np.isfinite(np.diag(noise)))
    estimate = np.where(unknown & np.isfinite(toward), toward, centre)
    moved = 0.0
    if len(leaning) >= FEWEST_MODELS:
        gap = (toward - centre)[leaning]
        at = np.ix_(leaning, leaning)
        df = float(values.df_or_inf[leaning].min())
        step = _step(gap, values.covariance[at], noise[at], df)
        estimate[leaning] += step
        moved = _share(step, gap)
    return replace(values, estimate=estimate, centre=centre, moved=moved, method=f"{values.method}, shrunk")


@dataclass(frozen=True, slots=True)
class _Move:
    """One James-Stein step, and the log of how well its target fits."""

    step: FloatArray
    fit: float


def _step(gap: FloatArray, covariance: FloatArray, noise: FloatArray, df: float) -> FloatArray:
    """Average of the two moves, cut at ``MOST_MOVE`` standard errors of each model."""
    if not np.diag(covariance).max() > 0:
        return np.zeros_like(gap)
    precision = _inverse(covariance)
    shift = precision.sum(axis=0) / precision.sum()
    apart = np.eye(len(gap)) - shift  # takes the best estimate of a common shift away
    moves = [
        _move(gap, precision, covariance, noise, len(gap), df),
        _move(apart @ gap, precision, apart @ covariance @ apart.T, apart @ noise @ apart.T, len(gap) - 1, df),
    ]
    usable = [(move, prior) for move, prior in zip(moves, (FAVOUR, 0.0), strict=True) if move is not None]
    if not usable:
        return np.zeros_like(gap)
    trust = np.exp([move.fit + prior - max(m.fit for m, _ in usable) for move, prior in usable])
    step = sum((t * move.step for t, (move, _) in zip(trust, usable, strict=True)), np.zeros_like(gap)) / trust.sum()
    most = MOST_MOVE * np.sqrt(np.diag(covariance))
    return np.asarray(np.clip(step, -most, most))


def _move(
    gap: FloatArray, precision: FloatArray, covariance: FloatArray, noise: FloatArray, rank: int, df: float
) -> _Move | None:
    """James-Stein along ``gap``; None where too few directions carry the error.

    The strength is the number of directions less two. Where errors differ, trace / largest eigenvalue is the number
    that keeps the total squared error safe whatever the bias, and ``rank`` the one that gains most; their geometric
    mean stays within 5 % of safe (decision 0008). An estimated covariance earns a little less.
    """
    trace = float(np.trace(covariance))
    directions = float(np.sqrt(rank * trace / np.linalg.eigvalsh(covariance)[-1]))
    strength = (directions - 2) * (df / (df + 2) if np.isfinite(df) else 1.0)
    if strength <= 0:
        return None
    distance = max(float(gap @ precision @ gap), strength)
    deserved = trace / (trace + float(np.trace(noise)))
    return _Move(min(strength / distance, deserved) * gap, -strength / 2 * float(np.log(distance / strength)))


def _inverse(covariance: FloatArray) -> FloatArray:
    spread, axes = np.linalg.eigh(covariance)
    return np.asarray((axes / np.maximum(spread, FLAT * spread[-1])) @ axes.T)


def _share(step: FloatArray, gap: FloatArray) -> float:
    length = float(np.linalg.norm(gap))
    return min(float(np.linalg.norm(step)) / length, 1.0) if length > 0 else 0.0

"""Values that use the reward exactly as far as it sharpens them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.estimators import check_rows, propensities, table, weights, welch
from deconfound.value.small_sample import ROUNDING, Moderated, Shares, moderated, summed
from deconfound.value.values import Values

MOST_POWER = 2.0  # rewards are shrunken, so more than one can be right; measured, see decision 0008
COMMON = 30.0  # degrees of freedom at which a model's own power weighs as much as the common one; measured there
TYPICAL = 0.95  # level at which widths are compared; another one would hardly decide otherwise


def experiment_only(
    models: Sequence[str],
    model: IntArray,
    outcome: FloatArray,
    propensity: FloatArray | None = None,
    cluster: IntArray | None = None,
    *,
    weight: FloatArray | None = None,
) -> Values:
    """What the experiment says without replay or log: each model's mean outcome, weighted by 1 / propensity."""
    nothing = np.zeros((len(outcome), len(models)))
    heavy = weights(len(outcome), weight)
    shares = _shares(models, model, propensity, cluster, heavy)
    parts = Parts.of(shares, heavy, outcome, np.zeros(len(outcome)), nothing, nothing[:0])
    nil = np.zeros(len(models))
    return _values(models, parts, nil, nil + 1, "experiment alone")


def tuned_doubly_robust(  # noqa: PLR0913  (a study has these many columns, and callers name them)
    models: Sequence[str],
    q: FloatArray,
    model: IntArray,
    outcome: FloatArray,
    prediction: FloatArray,
    propensity: FloatArray | None = None,
    cluster: IntArray | None = None,
    *,
    elsewhere: FloatArray | None = None,
    weight: FloatArray | None = None,
    power: float | None = None,
) -> Values:
    """Doubly robust, with the reward turned down where it does not help.

        mu(a) = power * mean over contexts of q(x, a) + sum_j w_ja (outcome_j - power * prediction_j)

    w_ja is 1{model_j = a} / propensity_j made to sum to one. Power 0 is the experiment alone, power 1 doubly robust
    with normalised weights; any power is consistent. None takes what makes the variance least (``best_power``) if,
    for all that choosing costs, intervals become narrower; otherwise 0, so that a useless reward does no harm.

    ``elsewhere`` (N, k) is q on replayed contexts beyond the experiment's, from the same population. ``weight`` (n,)
    moves the experiment's rows to a target population; ``elsewhere`` must then come from that one.
    """
    q = table(models, q)
    check_rows(len(q), {"model": model, "outcome": outcome, "prediction": prediction})
    if power is not None and not (np.isfinite(power) and power >= 0):
        raise UsageError(f"power must be a number of at least 0, or None to choose it, not {power!r}.")
    beyond = q[:0] if elsewhere is None or len(elsewhere) == 0 else table(models, elsewhere, "elsewhere")
    heavy = weights(len(q), weight)
    shares = _shares(models, model, propensity, cluster, heavy)
    parts = Parts.of(shares, heavy, outcome, prediction, q, beyond)
    method = "doubly robust, power-tuned"
    one = np.ones(len(models))
    if power is not None:
        return _values(models, parts, power * one, one, method)
    tuned, alone = _values(models, parts, *best_power(parts), method), _values(models, parts, 0 * one, one, method)
    return tuned if _narrower(tuned, alone) else alone


@dataclass(frozen=True, slots=True)
class Parts:
    """Estimates and influence values before a power is chosen; all are linear in it."""

    shares: Shares
    outcome: FloatArray  # (k,) mean outcome
    prediction: FloatArray  # (k,) mean prediction on the same rows
    q: FloatArray  # (k,) mean reward over all contexts
    outcome_influence: FloatArray  # (groups, k)
    prediction_influence: FloatArray  # (groups, k)
    q_influence: FloatArray  # (groups, k) of the experiment's contexts
    beyond: FloatArray  # (k, k) covariance that contexts elsewhere add
    contexts: int  # independent contexts behind q

    @classmethod
    def of(
        cls,
        shares: Shares,
        heavy: FloatArray,
        outcome: FloatArray,
        prediction: FloatArray,
        q: FloatArray,
        beyond: FloatArray,
    ) -> Self:
        """Means and influence values of rows that weigh ``heavy``, and of contexts ``beyond`` them."""
        for name, numbers in (("q", q), ("outcome", outcome), ("prediction", prediction), ("elsewhere", beyond)):
            if not np.isfinite(numbers).all():
                raise UsageError(f"{name} holds NaN or infinity; every entry must be a finite number.")
        outcome, prediction = np.asarray(outcome, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
        # Weighted rows count as the evenly weighted ones that would know the mean as well.
        rows = heavy.sum() ** 2 / (heavy**2).sum()
        inside = heavy / heavy.sum() * rows / (rows + len(beyond))
        outside = 1.0 / (rows + len(beyond))
        mean = inside @ q + outside * beyond.sum(axis=0)
        groups = shares.groups + len(beyond)
        unbiased = groups / max(groups - 1, 1)  # with a single group no model has a known error anyway
        return cls(
            shares=shares,
            outcome=shares.mean(outcome),
            prediction=shares.mean(prediction),
            q=mean,
            outcome_influence=shares.influence(outcome),
            prediction_influence=shares.influence(prediction),
            q_influence=np.sqrt(unbiased) * summed(inside[:, None] * (q - mean), shares.code, shares.groups),
            beyond=unbiased * outside**2 * (beyond - mean).T @ (beyond - mean),
            contexts=groups,
        )

    @property
    def still(self) -> bool:
        """Whether no model's outcomes vary at all."""
        return bool(np.abs(self.outcome_influence).max(initial=0.0) < ROUNDING)


def best_power(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Power of each model (k,), and the factor on its variance that choosing it costs.

    Influence values are linear in the power, so the one with the least summed variance is a ratio of sums. It is
    common to all models where rows are few, and each model's own where they are many: a reward may know one model
    and not another. Having looked for the least variance makes it look smaller than it is, by the degree of freedom
    that was spent, most of it shared.
    """
    seen, df = ~parts.shares.blind, parts.shares.df
    helped = parts.q_influence - parts.prediction_influence
    curvature = np.where(seen, (helped**2).sum(axis=0) + np.diag(parts.beyond), 0.0)
    slope = np.where(seen, -(helped * parts.outcome_influence).sum(axis=0), 0.0)
    total, own = float(df.sum()), df / (df + COMMON)
    if curvature.sum() < ROUNDING**2 or total <= 1:
        return np.zeros_like(slope), np.ones_like(slope)
    common = slope.sum() / curvature.sum()
    mine = np.divide(slope, curvature, out=np.full_like(slope, common), where=curvature > ROUNDING**2)
    spent = own / np.maximum(df, 1.0) + (1 - own) / total
    return np.clip(own * mine + (1 - own) * common, 0.0, MOST_POWER), 1 / (1 - spent)


def _narrower(tuned: Values, alone: Values) -> bool:
    """Whether intervals, those of the models that have one, are narrower on the median and in their mean square."""
    seen = np.isfinite(alone.error)
    wide, plain = (v.half_width(TYPICAL)[seen] for v in (tuned, alone))
    return bool(seen.any() and np.median(wide) < np.median(plain) and (wide**2).sum() < (plain**2).sum())


def _shares(
    models: Sequence[str],
    model: IntArray,
    propensity: FloatArray | None,
    cluster: IntArray | None,
    heavy: FloatArray,
) -> Shares:
    if len(model) == 0:
        raise UsageError("The experiment has no rows; values need some of every model. Randomize on some contexts.")
    if cluster is not None:
        check_rows(len(model), {"cluster": cluster})
    return Shares.of(model, len(models), heavy / propensities(models, model, propensity), cluster)


def _values(models: Sequence[str], parts: Parts, power: FloatArray, cost: FloatArray, method: str) -> Values:
    residual = parts.outcome_influence - power * parts.prediction_influence
    own = moderated(parts.shares, residual, parts.still)
    total = own.influence + power * parts.q_influence
    covariance = total.T @ total + np.diag(own.extra) + np.outer(power, power) * parts.beyond
    covariance *= np.sqrt(np.outer(cost, cost))
    blind = parts.shares.blind
    covariance[blind, blind] = np.inf
    estimate = parts.outcome + power * (parts.q - parts.prediction)
    return Values(tuple(models), estimate, covariance, method, _freedom(parts, own, power), power=power)


def _freedom(parts: Parts, own: Moderated, power: FloatArray) -> FloatArray:
    """Few rows make a model's own variance uncertain, many contexts that of the reward's average hardly at all."""
    mine = (own.influence**2).sum(axis=0) + own.extra
    contexts = power**2 * ((parts.q_influence**2).sum(axis=0) + np.diag(parts.beyond))
    return welch(mine, own.df, contexts, parts.contexts - 1.0)

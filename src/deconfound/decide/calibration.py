"""How far a reward may be believed on one context, learned from randomized outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, Fold, IntArray, ReplayRows
from deconfound.errors import UsageError
from deconfound.features.study_arrays import ReplayArrays
from deconfound.reward import RewardFit
from deconfound.value import Values, tuned_doubly_robust
from deconfound.value.estimators import check_rows, propensities, table, weights
from deconfound.value.small_sample import ROUNDING, summed

UNEXPLAINED_CONTEXT_SHARE = 0.1
"""Share of the unexplained variance of outcomes that is taken for what a model is worth on just this context.

One outcome a context cannot tell that from luck, so this is an assumption and not an estimate. In the demo it is 0.04.
"""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far randomized outcomes bear out what a reward says of single contexts.

        lead of a over b on x = centre_a - centre_b + slope * (deviation_a - deviation_b),  deviation = q(x) - average

    The unbiased values say who leads on average; the reward only says where the lead is larger or smaller, and
    ``slope`` is how much of that came true on contexts the reward had not seen.
    """

    centre: FloatArray  # (k,) unbiased values
    average: FloatArray  # (k,) mean of q over the contexts that ``centre`` is about
    slope: float  # in [0, 1]
    slope_error: float  # infinite where outcomes say nothing of it
    noise: FloatArray  # (k,) variance of the reward between two draws of one context
    unseen: float  # variance of a model's value between contexts that the reward does not see
    df: FloatArray  # (k,) degrees of freedom behind all that

    @classmethod
    def trusting(cls, count: int) -> Calibration:
        """The reward at its word: what a policy without a calibration goes by. It is wrong more often than it says."""
        nothing = np.zeros(count)
        return cls(nothing, nothing, 1.0, 0.0, nothing, 0.0, np.full(count, np.inf))


def fit_calibration(  # noqa: PLR0913  (a study has these many columns, and callers name them)
    values: Values,
    q: FloatArray,
    model: IntArray,
    outcome: FloatArray,
    propensity: FloatArray | None = None,
    cluster: IntArray | None = None,
    *,
    cells: ReplayArrays,
    reward: RewardFit,
    surface_share: float,
    weight: FloatArray | None = None,
    unseen: float = UNEXPLAINED_CONTEXT_SHARE,
) -> Calibration:
    """Learn from out-of-fold rewards how far the final ``reward`` may be believed on one context.

        outcome_j = level of model_j + common * (mean deviation of q_j) + slope * (what is left for model_j) + luck

    by least squares weighted with 1 / propensity. What all models share on a context is no reason to prefer one, so it
    has a coefficient of its own. ``q`` (n, k) is averaged over replay draws that are not row j's own output: a reward
    that follows the luck of single outputs then has a small slope, as it must. ``values`` are unbiased
    ones over contexts that count ``weight`` (contexts,) each, or over all replayed ones alike; the slope is the same.
    """
    models = values.models
    q = table(models, q)
    check_rows(len(q), {"model": model, "outcome": outcome})
    chance = propensities(models, model, propensity)
    rows = np.arange(len(q)) if cluster is None else np.asarray(cluster)
    check_rows(len(q), {"cluster": rows})
    model, outcome = np.asarray(model), np.asarray(outcome, dtype=np.float64)
    if not 0.0 <= unseen <= 1.0:
        raise UsageError(f"unseen is a share of variance in [0, 1], not {unseen!r}.")
    if not (np.isfinite(q).all() and np.isfinite(outcome).all()):
        raise UsageError("q or outcome holds NaN or infinity; every entry must be a finite number.")
    mine = (model >= 0) & (model < len(models))
    borne = _Borne.of((q - q.mean(axis=0))[mine], model[mine], outcome[mine], 1 / chance[mine], rows[mine])
    slope = float(np.clip(borne.slope, 0.0, 1.0))
    replay = cells.rows(surface_share)
    final = reward.mean_by_cell(replay)
    average = np.average(final, axis=0, weights=weight)
    return Calibration(
        centre=_centre(values, average),
        average=average,
        slope=slope,
        slope_error=borne.error,
        noise=_noise(
            replay,
            reward.predict_without_model_effect(replay.distinct),
            (final - final.mean(axis=1, keepdims=True)).var(axis=0),
        ),
        unseen=unseen * borne.rest,
        df=np.minimum(values.df_or_inf, borne.df),
    )


def cross_fitted_calibrated_q(
    models: Sequence[str],
    q: FloatArray,
    model: IntArray,
    outcome: FloatArray,
    prediction: FloatArray,
    propensity: FloatArray,
    cluster: IntArray,
    *,
    folds: Sequence[Fold],
    weight: FloatArray | None = None,
) -> FloatArray:
    """The leads of ``Calibration`` (n, k) on every experiment row's context, learned without the row's fold.

    ``q`` and ``prediction`` are out of fold. The policy that picks the largest is the one that is recommended, and can
    be judged on these rows. ``weight`` (n,) moves the rows to a target population.
    """
    heavy = weights(len(q), weight)
    calibrated = np.empty_like(q)
    for fold in folds:
        at = fold.train
        columns = (q[at], model[at], outcome[at], prediction[at], propensity[at], cluster[at])
        values = tuned_doubly_robust(models, *columns, weight=heavy[at])
        average = np.average(q[at], axis=0, weights=heavy[at])
        mine = at[(model[at] >= 0) & (model[at] < len(models))]
        deviation = q[mine] - average
        borne = _Borne.of(deviation, model[mine], outcome[mine], 1 / propensity[mine], cluster[mine])
        slope = float(np.clip(borne.slope, 0.0, 1.0))
        calibrated[fold.held_out] = _centre(values, average) + slope * (q[fold.held_out] - average)
    return calibrated


def _centre(values: Values, otherwise: FloatArray) -> FloatArray:
    """Unbiased values; the reward's own for a model that the experiment never drew."""
    return np.where(np.isnan(values.middle), otherwise, values.middle)


@dataclass(frozen=True, slots=True)
class _Borne:
    """How much of the reward's differences between contexts came true."""

    slope: float
    error: float
    rest: float  # variance of outcomes that nothing explains
    df: float

    @classmethod
    def of(
        cls, deviation: FloatArray, model: IntArray, outcome: FloatArray, weight: FloatArray, cluster: IntArray
    ) -> _Borne:
        """Regress on what is left of the deviation after levels and shared part, errors clustered."""
        shared = deviation.mean(axis=1)
        own = deviation[np.arange(len(model)), model] - shared
        taken = np.column_stack([model[:, None] == np.unique(model), shared]).astype(np.float64)
        root = np.sqrt(weight * len(weight) / weight.sum()) if len(weight) else weight
        known, wanted = (_left(root[:, None] * taken, root * column) for column in (own, outcome))
        squares = float(known @ known)
        _, code = np.unique(cluster, return_inverse=True)
        groups = int(code.max(initial=-1)) + 1
        df = float(groups - taken.shape[1] - 1)
        rows = len(model) - taken.shape[1] - 1
        slope = float(known @ wanted) / squares if squares > ROUNDING else 0.0
        left = wanted - slope * known
        if df < 1 or squares <= ROUNDING:
            return cls(0.0, np.inf, float(left @ left) / rows if rows > 0 else 0.25, max(df, 1.0))
        moved = summed((known * left)[:, None], code, groups)
        error = float(np.sqrt((moved**2).sum() * groups / df)) / squares
        return cls(slope, error, float(left @ left) / rows, df)


def _left(taken: FloatArray, column: FloatArray) -> FloatArray:
    """What of a column least squares cannot explain."""
    return np.asarray(column - taken @ np.linalg.lstsq(taken, column, rcond=None)[0])


def _noise(replay: ReplayRows, reward: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Variance of the reward between draws of one context (k,).

    A model with one draw everywhere hides it; ``otherwise``, the variance between contexts, then stands for it.
    """
    draws, mean = replay.draw_counts(), replay.mean_over_draws(reward)
    apart = (reward[replay.row_index] - mean[replay.context, replay.model]) ** 2
    spare = (draws - (draws > 0)).sum(axis=0)
    total = np.bincount(replay.model, weights=apart, minlength=replay.n_models)
    return np.where(spare > 0, total / np.maximum(spare, 1.0), otherwise)

"""Is it worth choosing the model per context, or would one model for everything do as well?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deconfound.decide.recommendation import cost_vector
from deconfound.design import FloatArray, IntArray
from deconfound.errors import EvidenceError
from deconfound.formatting import format_percent, quote
from deconfound.metrics import argmax_model
from deconfound.value import MIN_ROWS_PER_MODEL, Values, tuned_doubly_robust
from deconfound.value.compare import differences
from deconfound.value.estimators import check_rows, clustered, propensities, table, weights
from deconfound.value.joint import check_level, t_quantile, two_sided

Verdict = Literal["route", "one model", "cannot tell"]

WORTH = 0.01  # outcome units; who could gain less than one point in a hundred need not run a router
POLICY = "policy"  # name of the policy's own column; no caller sees it


@dataclass(frozen=True, slots=True)
class RoutingGain:
    """The recommended policy against the best single model; with a cost, everything is net of it.

    The policy's regret against the best model of every context is not here: an experiment tries one model a context,
    so no data can tell that best. What the reward itself believes is ``promised``, the gain if it were right; the gap
    from there to ``gain`` is what it is too optimistic by. ``Recommendation.regret`` has the loss it must fear.
    """

    models: tuple[str, ...]
    value: float  # of the policy; NaN where no experiment row follows it
    value_low: float
    value_high: float
    best: str  # single model with the highest value
    gain: float  # over the best single model: the least of the gains over each
    low: float
    high: float
    promised: float  # gain by the reward's own account
    share: tuple[float, ...]  # of contexts, by model
    same: float  # share of contexts on which the policy picks ``best``
    rows: int  # experiment rows whose model is the one the policy picks: all that is known of it first hand
    worth: float
    level: float
    verdict: Verdict
    sentence: str


def routing_gain(  # noqa: PLR0913  (a study has these many columns, and callers name them)
    models: Sequence[str],
    q: FloatArray,
    model: IntArray,
    outcome: FloatArray,
    prediction: FloatArray,
    propensity: FloatArray | None = None,
    cluster: IntArray | None = None,
    *,
    leads: FloatArray | None = None,
    weight: FloatArray | None = None,
    cost: FloatArray | None = None,
    level: float = 0.95,
    worth: float = WORTH,
) -> RoutingGain:
    """Value of choosing by context, doubly robust, and its gain over every single model.

        policy(x_j) = argmax_a leads[j, a] - cost[a]        gain = min_b (V(policy) - mu(b))

    ``leads`` (n, k) is what the policy goes by, q unless given. Row j of both must come from a reward that has not
    seen row j: only then is the policy judged on contexts it was not fitted to. ``weight`` (n,) moves the rows to a
    target population. ``cost`` (k,) is in outcome units.
    The interval's lower end is the least of plain one-sided bounds, since it has to hold only for the one model
    that is truly best; the upper end is the least of bounds that hold together, since any of the models may provide
    it, and never negative: where models are tied, a policy made without a row's fold picks what did badly in that
    fold, and would be called harmful too often.

    The verdict is "one model" where the gain is shown to be less than ``worth`` or the policy picks the same model
    everywhere, "route" where the gain is shown to be positive.
    """
    check_level(level)
    q = table(models, q)
    check_rows(len(q), {"model": model, "outcome": outcome, "prediction": prediction})
    price = cost_vector(models, cost)
    net = q - price
    picked = argmax_model(net if leads is None else table(models, leads, "leads") - price)
    heavy = weights(len(q), weight)
    trial = _Trial.of(models, model, outcome, prediction, propensity, cluster, weight=heavy, price=price)
    if len(np.unique(trial.cluster)) < MIN_ROWS_PER_MODEL:
        raise EvidenceError("A policy cannot be judged on a single context or cluster. Randomize on more contexts.")
    values = _with_policy(models, net, picked, trial)
    best = Values(tuple(models), values.estimate[:-1], values.covariance[:-1, :-1], values.method).ranking()[0]
    share = np.bincount(picked, weights=trial.weight, minlength=len(models)) / trial.weight.sum()
    gains = [_against(b, net, picked, trial, price, level, len(models)) for b in range(len(models))]
    gain = min((g.gain for g in gains if not np.isnan(g.gain)), default=float("nan"))
    low, high = min(g.low for g in gains), max(min(g.high for g in gains), 0.0)
    edges = _value_interval(values, float(share @ price), level)
    same = models[picked[0]] if (picked == picked[0]).all() else None
    verdict = _verdict(low, high, worth, same=same is not None)
    rows = int((picked == trial.model).sum())
    return RoutingGain(
        models=tuple(models),
        value=float(values.estimate[-1]),
        value_low=edges[0],
        value_high=edges[1],
        best=best,
        gain=gain,
        low=low,
        high=high,
        promised=_promised(net, trial.weight),
        share=tuple(float(part) for part in share),
        same=float(share[list(models).index(best)]),
        rows=rows,
        worth=worth,
        level=level,
        verdict=verdict,
        sentence=_sentence(verdict, best, same, (gain, low, high), rows, worth, level),
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """The experiment's columns, outcomes and predictions net of what the row's own model costs."""

    model: IntArray  # -1 for models that are not compared
    outcome: FloatArray
    prediction: FloatArray
    chance: FloatArray
    cluster: IntArray
    weight: FloatArray

    @classmethod
    def of(
        cls,
        models: Sequence[str],
        model: IntArray,
        outcome: FloatArray,
        prediction: FloatArray,
        propensity: FloatArray | None,
        cluster: IntArray | None,
        *,
        weight: FloatArray,
        price: FloatArray,
    ) -> _Trial:
        chance = propensities(models, model, propensity)
        code = np.where(np.asarray(model) < len(models), model, -1)
        paid = np.where(code < 0, 0.0, price[code])
        rows = np.arange(len(code)) if cluster is None else np.asarray(cluster)
        check_rows(len(code), {"cluster": rows})
        return cls(code, np.asarray(outcome) - paid, np.asarray(prediction) - paid, chance, rows, weight)

    def take(self, rows: NDArray[np.bool_]) -> _Trial:
        """Some of the rows."""
        return _Trial(
            self.model[rows],
            self.outcome[rows],
            self.prediction[rows],
            self.chance[rows],
            self.cluster[rows],
            self.weight[rows],
        )


def _with_policy(models: Sequence[str], net: FloatArray, picked: IntArray, trial: _Trial) -> Values:
    """Values of the models and, last, of the policy.

    A row may speak for its model and for the policy. So every row is given twice, once under the code of its model
    and once under that of the policy (or of nobody, where the two differ), and both copies are of one cluster: what
    they share is then counted as shared, and contexts weigh what they did.
    """
    count = len(models)
    follows = np.where(picked == trial.model, count, -1)
    both = np.column_stack([net, net[np.arange(len(net)), picked]])
    return tuned_doubly_robust(
        (*models, POLICY),
        np.vstack([both, both]),
        np.concatenate([trial.model, follows]),
        np.tile(trial.outcome, 2),
        np.tile(trial.prediction, 2),
        np.tile(trial.chance, 2),
        np.tile(trial.cluster, 2),
        weight=np.tile(trial.weight, 2),
    )


@dataclass(frozen=True, slots=True)
class _Gain:
    """Of the policy over one model; NaN and as wide as can be where nothing is known."""

    gain: float
    low: float
    high: float


def _against(
    b: int, net: FloatArray, picked: IntArray, trial: _Trial, price: FloatArray, level: float, count: int
) -> _Gain:
    """Gain over model ``b``, from the contexts on which the policy picks another.

        V(policy) - mu(b) = share * (value of the policy there - value of b there)

    Elsewhere the two are the same and nothing is in doubt. A policy that rarely leaves ``b`` is judged by few rows, and
    only counting those shows how few.
    """
    differs = picked != b
    heavy = trial.weight / trial.weight.mean()
    share = float(np.mean(heavy * differs))
    one, all_of_them = two_sided(level), float(-ndtri((1 - level) / 2 / count))
    # No difference can be more than a whole outcome and the price, and there is none where the policy agrees.
    most = _largest(share, trial, one)
    floor, ceiling = -most * (1 + float(price.max() - price[b])), most * (1 + float(price[b] - price.min()))
    if share == 0:
        return _Gain(0.0, floor, ceiling)
    found = _there(b, net[differs], picked[differs], trial.take(differs))
    if found is None or not np.isfinite(found.error).all():
        return _Gain(float("nan"), floor, ceiling)
    doubt = float(np.sqrt(clustered((heavy * (differs - share))[:, None], trial.cluster)[0, 0]))
    apart = differences(found.estimate, found.covariance, found.df_or_inf)
    lead, error, df = apart.difference[0, 1], apart.error[0, 1], apart.df[0:1, 1]
    total = float(np.hypot(share * error, np.hypot(lead, error) * doubt))
    low, high = (float(t_quantile(z, df)[0]) * total for z in (one, all_of_them))
    middle = share * float(lead)
    return _Gain(middle, float(np.clip(middle - low, floor, ceiling)), float(np.clip(middle + high, floor, ceiling)))


def _promised(net: FloatArray, weight: FloatArray) -> float:
    """Gain of the best of every context over the best on average, if the reward were right."""
    return float(np.average(net.max(axis=1), weights=weight) - np.average(net, axis=0, weights=weight).max())


def _largest(share: float, trial: _Trial, z: float) -> float:
    """Upper bound of a share (Wilson's), which is not zero where the share is; uneven weights leave fewer clusters."""
    mass = np.bincount(np.unique(trial.cluster, return_inverse=True)[1], weights=trial.weight)
    groups = float(mass.sum() ** 2 / (mass**2).sum())
    centre = share + z**2 / (2 * groups)
    half = z * np.sqrt(share * (1 - share) / groups + z**2 / (4 * groups**2))
    return float(min((centre + half) / (1 + z**2 / groups), 1.0))


def _there(b: int, net: FloatArray, picked: IntArray, trial: _Trial) -> Values | None:
    """Policy and model ``b`` on contexts where they differ: no row can be of both. None where one cluster is all."""
    if len(np.unique(trial.cluster)) < MIN_ROWS_PER_MODEL:
        return None
    code = np.where(trial.model == picked, 0, np.where(trial.model == b, 1, -1))
    q = np.column_stack([net[np.arange(len(net)), picked], net[:, b]])
    columns = (trial.outcome, trial.prediction, trial.chance, trial.cluster)
    return tuned_doubly_robust((POLICY, "model"), q, code, *columns, weight=trial.weight)


def _value_interval(values: Values, paid: float, level: float) -> tuple[float, float]:
    middle, half = float(values.estimate[-1]), float(values.half_width(level)[-1])
    if not np.isfinite(half) or np.isnan(middle):
        return -paid, 1.0 - paid
    return float(np.clip(middle - half, -paid, 1 - paid)), float(np.clip(middle + half, -paid, 1 - paid))


def _verdict(low: float, high: float, worth: float, *, same: bool) -> Verdict:
    if same or high < worth:
        return "one model"
    return "route" if low > 0 else "cannot tell"


def _sentence(
    verdict: Verdict,
    best: str,
    same: str | None,
    gain: tuple[float, float, float],
    rows: int,
    worth: float,
    level: float,
) -> str:
    middle, low, high = gain
    span = f"{format_percent(level)} interval {low:+.3f} to {high:+.3f}"
    if verdict == "cannot tell" and (rows < MIN_ROWS_PER_MODEL or np.isnan(middle)):
        return (
            f"Whether choosing a model per context pays cannot be told: {rows} rows of the experiment have the model "
            "that would be chosen. Randomize more contexts."
        )
    if verdict == "route":
        return f"Choosing a model per context gains {middle:+.3f} over {quote(best)} for everything ({span})."
    if verdict == "one model" and same is not None:
        return f"There is nothing to choose: the policy picks {quote(same)} on every context."
    if verdict == "one model":
        return f"{quote(best)} for everything does: choosing per context gains less than {worth:g} ({span})."
    return (
        f"Whether choosing a model per context pays cannot be told: against {quote(best)} for everything it gains "
        f"{middle:+.3f}, {span}."
    )

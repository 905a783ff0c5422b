"""How far the log can be believed: what it says at face value against what is causal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import format_percent, join_names, quote
from deconfound.value import Values
from deconfound.value.estimators import welch
from deconfound.value.joint import check_level, simultaneous, t_quantile

Verdict = Literal["misleading", "biased", "no bias shown", "cannot tell"]


@dataclass(frozen=True, slots=True)
class ModelBias:
    """What the log says of one model minus what it is worth; the intervals of all models hold together."""

    model: str
    bias: float  # NaN where either side does not know the model
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether both sides know the model."""
        return not np.isnan(self.bias)


@dataclass(frozen=True, slots=True)
class LogBias:
    """The confounding of a log, model by model, and what it does to the log's own choice."""

    biases: tuple[ModelBias, ...]
    overrated: tuple[str, ...]  # beyond doubt better in the log than in truth
    underrated: tuple[str, ...]
    favourite: str  # the log's first model
    best_set: tuple[str, ...]  # models that may be best
    typical: float  # root mean square bias, sampling noise taken off; NaN where no model is known
    uneven: float  # the same after a shift that all models share: what it does to their order
    most: float  # largest bias of a known model that is not excluded
    level: float
    verdict: Verdict
    sentence: str


def estimate_log_bias(raw_log: Values, values: Values, level: float = 0.95) -> LogBias:
    """Compare the log at face value with unbiased values.

    Errors of the two are uncorrelated, although a reward learnt from the log may stand behind ``values``: whatever the
    log, a doubly robust estimate is right on average. So covariances add. That does not hold for direct values.
    The log is "misleading" where its first model is shown not to be the best, "biased" where any bias is shown.
    """
    check_level(level)
    if raw_log.models != values.models:
        raise UsageError(
            f"The log's values are of {join_names(raw_log.models)}, the others of {join_names(values.models)}."
        )
    found = _Found.of(raw_log, values, level)
    best_set, favourite = values.best_set(level), raw_log.ranking()[0]
    overrated = tuple(m for m, up in zip(values.models, found.known & (found.low > 0), strict=True) if up)
    underrated = tuple(m for m, down in zip(values.models, found.known & (found.high < 0), strict=True) if down)
    # A model that the log has never seen is nobody's favourite.
    heard = not np.isnan(raw_log.estimate).all()
    verdict = _verdict(heard and favourite not in best_set, bool(overrated or underrated), bool(found.known.any()))
    summary = LogBias(
        tuple(
            ModelBias(model, *(float(edge) for edge in row))
            for model, row in zip(values.models, np.column_stack([found.bias, found.low, found.high]), strict=True)
        ),
        overrated,
        underrated,
        favourite,
        best_set,
        *found.sizes(),
        level,
        verdict,
        "",
    )
    return _told(summary)


@dataclass(frozen=True, slots=True)
class _Found:
    """Biases with their intervals, and the covariance of those that are known."""

    known: NDArray[np.bool_]  # (k,)
    bias: FloatArray  # (k,)
    low: FloatArray  # (k,)
    high: FloatArray  # (k,)
    covariance: FloatArray  # of the known

    @classmethod
    def of(cls, raw_log: Values, values: Values, level: float) -> _Found:
        sides = (raw_log, values)
        variance = [np.diag(side.covariance) for side in sides]
        free = [side.df_or_inf for side in sides]
        bias = raw_log.middle - values.middle
        known = np.isfinite(bias) & np.isfinite(variance[0]) & np.isfinite(variance[1])
        at = np.ix_(known, known)
        covariance = raw_log.covariance[at] + values.covariance[at]
        error = np.sqrt(np.diag(covariance))
        unsure = error > 0
        z = simultaneous(covariance[np.ix_(unsure, unsure)], level)
        half = np.zeros(len(known))
        df = welch(variance[0][known], free[0][known], variance[1][known], free[1][known])
        half[known] = t_quantile(z, df) * error
        middle = np.where(known, bias, 0.0)
        low = np.where(known, np.maximum(middle - half, -1.0), -1.0)
        high = np.where(known, np.minimum(middle + half, 1.0), 1.0)
        return cls(known, np.where(known, bias, np.nan), low, high, covariance)

    def sizes(self) -> tuple[float, float, float]:
        """Typical bias, typical bias up to a common shift, and the largest one not excluded."""
        if not self.known.any():
            return (float("nan"),) * 3
        bias = self.bias[self.known]
        apart = np.eye(len(bias)) - 1 / len(bias)
        most = np.maximum(np.abs(self.low), np.abs(self.high))[self.known].max()
        return _size(bias, self.covariance), _size(apart @ bias, apart @ self.covariance @ apart), float(most)


def _size(bias: FloatArray, covariance: FloatArray) -> float:
    """Root mean square of what noise of this covariance does not account for."""
    return float(np.sqrt(max((float(bias @ bias) - float(np.trace(covariance))) / len(bias), 0.0)))


def _verdict(misleading: bool, biased: bool, known: bool) -> Verdict:
    if not known:
        return "cannot tell"
    if misleading:
        return "misleading"
    return "biased" if biased else "no bias shown"


def _told(found: LogBias) -> LogBias:
    unknown = [bias.model for bias in found.biases if not bias.known]
    rest = f" Nothing is known of {join_names(unknown)}." if unknown else ""
    return replace(found, sentence=_sentence(found) + rest * (found.verdict != "cannot tell"))


def _sentence(found: LogBias) -> str:
    if found.verdict == "cannot tell":
        return "How far the log can be believed cannot be told: no model has enough rows in both log and experiment."
    if found.verdict == "no bias shown":
        return f"No bias of the log is shown at {format_percent(found.level)}; up to {found.most:.2f} is not excluded."
    names = ((found.overrated, "flatters"), (found.underrated, "slanders"))
    wrongs = " and ".join(f"{verb} {join_names(models)}" for models, verb in names if models)
    size = f"its bias is typically {found.typical:.2f}, and up to {found.most:.2f} is not excluded"
    if found.verdict == "biased":
        return f"The log {wrongs}: {size}; its first model, {quote(found.favourite)}, may still be the best."
    first = f"The log misleads: its first model, {quote(found.favourite)}, is not the best"
    return f"{first}; it {wrongs}; {size}." if wrongs else f"{first}; {size}."

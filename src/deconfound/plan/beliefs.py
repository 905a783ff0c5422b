"""What to believe of the models' true values, so as not to plan for the gaps that luck has shown."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from deconfound.design import FloatArray

CLOSEST = 0.01  # least standard deviation of values that is thought possible: models are never quite equal
FARTHEST = 0.5  # and the largest, for values in [0, 1]
STEPS = 50  # between the two; beliefs are averages over them


class Beliefs(TypedDict):
    """Two fields of ``Evidence``."""

    mean: FloatArray
    doubt: FloatArray


def believed(estimate: FloatArray, covariance: FloatArray) -> Beliefs:
    """Shrink estimates towards their mean by how much of their spread is error, and keep the doubt that is left.

        value ~ Normal(common, tau^2),   estimate ~ Normal(value, covariance)

    Every tau between ``CLOSEST`` and ``FARTHEST`` is as likely before the estimates are seen, and so is every common
    value. To take the likeliest tau alone would be far too sure of models that happen to look alike. A model without
    an estimate is like the others, with all the doubt that they leave.
    """
    known = np.flatnonzero(np.isfinite(np.diag(covariance)) & np.isfinite(estimate))
    if len(known) == 0:
        return Beliefs(mean=np.full(len(estimate), 0.5), doubt=FARTHEST**2 * np.eye(len(estimate)))
    taus = np.linspace(CLOSEST, FARTHEST, STEPS)
    parts = [given_spread(tau, estimate, covariance, known) for tau in taus]
    fit = np.array([likelihood for _, _, likelihood in parts])
    weight = np.exp(fit - fit.max()) / np.exp(fit - fit.max()).sum()
    mean = sum((w * m for w, (m, _, _) in zip(weight, parts, strict=True)), np.zeros(len(estimate)))
    doubt = np.zeros_like(covariance)
    for w, (m, c, _) in zip(weight, parts, strict=True):
        doubt += w * (c + np.outer(m - mean, m - mean))
    return Beliefs(mean=np.clip(mean, 0.0, 1.0), doubt=doubt)


def given_spread(
    tau: float, estimate: FloatArray, covariance: FloatArray, known: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[FloatArray, FloatArray, float]:
    """Mean (k,) and covariance (k, k) of the values at one tau, and the log likelihood of that tau."""
    count = len(estimate)
    at = np.ix_(known, known)
    total = tau**2 * np.eye(len(known)) + covariance[at]
    precision = np.linalg.inv(total)
    mass = float(precision.sum())
    centre = float(precision.sum(axis=0) @ estimate[known]) / mass
    off = estimate[known] - centre
    pull = np.zeros((count, len(known)))  # how far each value follows the estimates
    pull[known] = tau**2 * precision
    mean = centre + pull @ off
    loose = 1 - pull.sum(axis=1)  # how far each value follows the common one, which is itself uncertain
    spread = tau**2 * np.eye(count)
    spread[at] -= tau**2 * pull[known]
    likelihood = -0.5 * (float(np.linalg.slogdet(total)[1]) + np.log(mass) + float(off @ precision @ off))
    return mean, spread + np.outer(loose, loose) / mass, likelihood

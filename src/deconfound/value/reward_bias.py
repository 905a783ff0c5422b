"""The bias of a reward, estimated from randomized outcomes and added to the errors of direct values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import ndtr

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value.estimators import welch_satterthwaite_df
from deconfound.value.experiment import require_q_matrix
from deconfound.value.small_sample import ROUNDING_ATOL
from deconfound.value.values import Values

MIN_DF = 2.0  # df of the bias variance where its own error is much larger than itself; see decision 0008
MIN_BOOTSTRAP_GAPS = 2  # fewer have no variance


def with_reward_bias(direct: Values, unbiased: Values, bootstrap_gaps: FloatArray | None = None) -> Values:
    """Add the reward's bias variance, common to all models, to the covariance of direct values.

        gap_a = direct_a - unbiased_a,      E gap_a^2 = bias variance + sampling variance of gap_a

    Solved by the method of moments over all models. Bootstrap refits show how far a reward moves with the experiment,
    but not a bias that all of them share, from shrinkage or from a confounded log.

    ``bootstrap_gaps`` (R, k) are the gaps of resampled experiments. Their variance gives the sampling variance of a gap
    as a fraction of that of the unbiased value. None assumes a fraction of one, which is too large where direct and
    unbiased values use the same contexts. A model without an unbiased value gets the bias variance of the others; if
    there is none, all variances are infinite.
    """
    gap, direct_variance = direct.estimate - unbiased.center, np.diag(direct.covariance)
    estimable = np.isfinite(gap) & np.isfinite(np.diag(unbiased.covariance))
    method = f"{direct.method}, reward bias included"
    if not estimable.any():
        return replace(direct, covariance=np.diag(np.full(len(gap), np.inf)), method=method)
    sampling_variance = np.diag(unbiased.covariance)[estimable]
    if bootstrap_gaps is not None:
        bootstrap_gaps = np.asarray(bootstrap_gaps, dtype=np.float64)
        require_q_matrix(direct.models, bootstrap_gaps, "bootstrap_gaps")
        sampling_variance = sampling_variance * _gap_variance_ratio(bootstrap_gaps[:, estimable], sampling_variance)
    bias = _BiasVariance.estimate(gap[estimable] ** 2, sampling_variance)
    df = welch_satterthwaite_df(direct_variance, direct.df_or_inf, np.full(len(gap), bias.variance), bias.df)
    return replace(direct, covariance=direct.covariance + bias.variance * np.eye(len(gap)), df=df, method=method)


def _gap_variance_ratio(bootstrap_gaps: FloatArray, unbiased_variance: FloatArray) -> float:
    """Variance of resampled gaps over that of the unbiased values, summed over models: one model has too few."""
    if len(bootstrap_gaps) < MIN_BOOTSTRAP_GAPS:
        raise UsageError(
            f"with_reward_bias needs at least {MIN_BOOTSTRAP_GAPS} bootstrap_gaps to estimate a variance; "
            "give more, or none."
        )
    drawn = np.isfinite(bootstrap_gaps).sum(axis=0) >= MIN_BOOTSTRAP_GAPS  # a resample may leave a model out
    gap_variance = float(np.nanvar(bootstrap_gaps[:, drawn], axis=0, ddof=1).sum())
    total = unbiased_variance[drawn].sum()
    # Gaps of constant outcomes never vary, which does not show that they are exact.
    return gap_variance / float(total) if min(gap_variance, total) > ROUNDING_ATOL else 1.0


@dataclass(frozen=True, slots=True)
class _BiasVariance:
    """Mean square of the bias over models, with degrees of freedom."""

    variance: float
    df: float

    @classmethod
    def estimate(cls, squared_gap: FloatArray, sampling_variance: FloatArray) -> Self:
        """Positive part of a normal estimate, in expectation.

            m = mean(squared_gap - sampling_variance),      s = standard error of m under normal gaps
            variance = E max(N(m, s^2), 0) = m Phi(m / s) + s phi(m / s)

        The plain difference m is imprecise for few models and may be negative.
        """
        mean = float((squared_gap - sampling_variance).mean())
        sum_of_squares = ((sampling_variance + max(mean, 0.0)) ** 2).sum()
        standard_error = float(np.sqrt(2.0 * sum_of_squares)) / len(sampling_variance)
        if standard_error == 0.0:
            return cls(max(mean, 0.0), np.inf)
        z = mean / standard_error
        variance = float(mean * ndtr(z) + standard_error * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
        return cls(variance, 2.0 * (variance / standard_error) ** 2 + MIN_DF)

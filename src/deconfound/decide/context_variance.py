"""How much values differ between contexts beyond what a reward predicts, from recurring or similar contexts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deconfound.decide.recurring_contexts import PairVariances
from deconfound.design import FloatArray, IntArray, Rows, usable_sd

PRIOR_SHARE = 0.05
"""Prior median of each variance, as a share of the residual variance; its smallest value where no context recurs.

Without recurring contexts, differences that nothing in the features shows cannot be separated from noise. In the demo
their share is 0.04; decision 0010 has that of real data, which is larger.
"""

RECURRING_PRIOR_SHARE = 0.15
"""The same where contexts recur, as a share of the outcome variance within models; measured, see decision 0010."""

MAX_ROWS = 1_000  # of the experiment; the number of pairs grows with the square
SAMPLE_SEED = 7  # of the rows taken from a longer experiment
MIN_PAIRS = 10  # fewer pairs of rows say nothing
GRID_POINTS = 400  # of the quadrature over a share between 0 and 1


@dataclass(frozen=True, slots=True)
class ContextVariance:
    """Variances of values between contexts that a calibrated reward does not predict, with their standard errors."""

    by_model: FloatArray  # (k,) of the part that differs between models: what makes another model the best one
    by_model_sd: FloatArray  # (k,) posterior standard deviation of ``by_model``
    common: float  # of the part that all models share
    estimated: bool  # from contexts that recur in the experiment; otherwise assumed to be small where nothing shows it

    @classmethod
    def equal(cls, count: int, by_model: float, by_model_sd: float, common: float) -> Self:
        """The same variance for each of ``count`` models, not estimated from recurring contexts."""
        return cls(np.full(count, by_model), np.full(count, by_model_sd), common, estimated=False)

    @classmethod
    def zero(cls, count: int) -> Self:
        """No unpredicted differences."""
        return cls.equal(count, 0.0, 0.0, 0.0)

    def raised_to(self, other: ContextVariance) -> ContextVariance:
        """The larger variance of each model and of what they share; ``estimated`` as this one is."""
        larger = other.by_model > self.by_model
        return replace(
            self,
            by_model=np.where(larger, other.by_model, self.by_model),
            by_model_sd=np.where(larger, other.by_model_sd, self.by_model_sd),
            common=max(self.common, other.common),
        )

    @classmethod
    def from_recurring(cls, pairs: PairVariances, explained_by_model: float, explained_common: float) -> Self:
        """The variances that recurring contexts show, less those of what the calibrated reward predicts."""
        variance, prior = pairs.outcome_variance, RECURRING_PRIOR_SHARE
        estimates = zip(pairs.by_model - explained_by_model, pairs.by_model_standard_error, strict=True)
        by_model, sd = np.array([_posterior(float(one), float(error), variance, prior) for one, error in estimates]).T
        common, _ = _posterior(pairs.common - explained_common, pairs.common_standard_error, variance, prior)
        return cls(by_model, sd, common, estimated=True)

    @classmethod
    def from_residuals(
        cls, residual: FloatArray, model: IntArray, count: int, rows: Rows, noise_group: IntArray | None = None
    ) -> Self:
        """Regress products of residuals on the similarity of their contexts (Haseman and Elston, 1972).

            E r_i r_j = K_ij (common + by_model 1{model_i = model_j}),      i != j

        K is the inner product of the rows' features, with mean one on the diagonal: differences that no feature shows
        have no part in it. Pairs within one ``noise_group``, such as a user, are left out. The variances have a prior
        with median ``PRIOR_SHARE``, which decides where no two contexts resemble each other; their posterior mean is
        then a tenth of the residual variance.
        """
        if not len(residual):
            return cls.zero(count)
        sample = _sample(len(residual))
        residual, model = residual[sample], model[sample]
        residual_variance = float(np.mean(residual**2))
        prior = PRIOR_SHARE * residual_variance
        pair = np.triu(np.ones((len(sample), len(sample)), dtype=np.bool_), 1)
        if noise_group is not None:
            pair &= noise_group[sample][:, None] != noise_group[sample]
        if pair.sum() < MIN_PAIRS or residual_variance == 0:
            return cls.equal(count, prior, prior, prior)
        similarity = _similarity(rows.take(sample))
        product, kernel = np.outer(residual, residual)[pair], similarity[pair]
        design = np.column_stack([kernel, kernel * (model[:, None] == model)[pair]])
        information = design.T @ design
        if not np.linalg.eigvalsh(information)[0] > np.finfo(np.float64).eps * np.trace(information):
            return cls.equal(count, prior, prior, prior)
        inverse = np.linalg.inv(information)
        common, by_model = inverse @ (design.T @ product)
        standard_error = residual_variance * np.sqrt(np.diag(inverse))
        common_mean, _ = _posterior(float(common), float(standard_error[0]), residual_variance, PRIOR_SHARE)
        mean, sd = _posterior(float(by_model), float(standard_error[1]), residual_variance, PRIOR_SHARE)
        return cls.equal(count, max(mean, prior), sd, max(common_mean, prior))


def _posterior(
    estimate: float, standard_error: float, residual_variance: float, prior_share: float
) -> tuple[float, float]:
    """Mean and standard deviation of a variance 0 < v < residual variance, by quadrature.

    Its density is N(v; estimate, se^2) / (1 + v / (prior_share * residual_variance))^2. The prior has a heavy tail: it
    hardly reduces a large variance that the residuals show.
    """
    if residual_variance == 0:  # outcomes without any variation
        return 0.0, 0.0
    share = (np.arange(GRID_POINTS) + 0.5) / GRID_POINTS
    share = share**2  # denser near zero
    # A smaller standard error than one step of the grid would leave a single point of it, or none.
    z = (share * residual_variance - estimate) / max(standard_error, residual_variance / GRID_POINTS**2)
    log_density = -0.5 * z**2 - 2 * np.log1p(share / prior_share) + 0.5 * np.log(share)  # the last from the spacing
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = float(density @ share)
    sd = float(np.sqrt(density @ (share - mean) ** 2))
    return mean * residual_variance, sd * residual_variance


def _sample(rows: int) -> IntArray:
    if rows <= MAX_ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(SAMPLE_SEED).choice(rows, MAX_ROWS, replace=False))


def _similarity(rows: Rows) -> FloatArray:
    """The mean of the kernels of phi and psi (n, n), each centered and with mean one on the diagonal."""
    kernels = [_centered_kernel(rows.phi.inner_products(rows.phi))]
    if rows.psi is not None and rows.psi.shape[1]:
        sd = rows.psi.std(axis=0)
        scaled = (rows.psi - rows.psi.mean(axis=0)) / usable_sd(sd, np.abs(rows.psi).max(axis=0))
        kernels.append(_centered_kernel(scaled @ scaled.T))
    return np.asarray(sum(kernels) / len(kernels))


def _centered_kernel(kernel: FloatArray) -> FloatArray:
    """The kernel of features minus their mean; zero where features do not vary."""
    row_mean = kernel.mean(axis=0)
    centered = kernel - row_mean - row_mean[:, None] + row_mean.mean()
    scale = float(np.diag(centered).mean())
    return np.asarray(centered / scale) if scale > 0 else np.zeros_like(centered)

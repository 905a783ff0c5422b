"""The variance components of ``auto`` from sums over a long log and the rows of the experiment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray
from deconfound.linalg.kernels import parallel_over_columns
from deconfound.reward.auto.linear_columns import LinearMoments
from deconfound.reward.auto.moment_posterior import MomentPosterior
from deconfound.reward.auto.variance_components import VarianceComponents

PANEL_COLUMNS = 256  # of a matrix product that one thread computes at a time


@dataclass(frozen=True, slots=True, eq=False)
class MomentLikelihood:
    """Log-density of both sources' outcomes, as a function of the variance components.

        log p(log) + log p(experiment | log)

    The first factor needs the log's sums alone. In the second, the experiment's outcomes are normal with the mean and
    the covariance of ``MomentPosterior`` on its rows, plus noise. In the notation used there, with right-hand side
    c = R Z'y / s^2 and alpha = K^-1 c,

        log p(log) = -1/2 (n log s^2 + log det K + y'y / s^2 - c'alpha) + constant
    """

    moments: LinearMoments
    rows: FloatArray  # (m, size) of the experiment
    target: FloatArray  # (m,) outcomes minus the log's mean

    def evaluate(self, variances: VarianceComponents) -> tuple[float, FloatArray]:
        """The log-density up to a constant, and its gradient with respect to log(variances) (12,).

        Minus infinity where a covariance is not positive definite to rounding.
        """
        try:
            posterior = MomentPosterior.condition(self.moments, variances)
            experiment = _ExperimentTerm.evaluate(posterior, self.rows, self.target, variances.noise)
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros(12)
        rows, noise = self.moments.weight, variances.noise
        quadratic = self.moments.square / noise - float(posterior.right @ posterior.solution)
        log_part = rows * np.log(noise) + posterior.factored.log_determinant + quadratic
        gradient = self._gradient(posterior, experiment, variances)
        # Scaling all variances by t adds (n + m) log t and divides the quadratic forms by t.
        scaling = 0.5 * (rows + len(self.target) - quadratic - experiment.quadratic)
        by_noise = scaling - gradient.sum()
        return -0.5 * (log_part + experiment.value), -np.insert(gradient, 10, by_noise)

    def _gradient(
        self, posterior: MomentPosterior, experiment: _ExperimentTerm, variances: VarianceComponents
    ) -> FloatArray:
        """Derivatives of the negative log-density with respect to the logarithms of all variances but the noise (11,).

        They are sums over the columns of a component. The variance of a column enters as V + U, V and S = V + B.
        """
        columns, scale = self.moments.columns, self.moments.scale
        parts = (variances.reward, variances.unshared, variances.bias)
        reward, unshared, bias = (columns.variances(part, scale) for part in parts)
        total = reward + bias
        from_log = 0.5 * (1.0 - posterior.factored.inverse_diagonal() - posterior.solution**2)
        by_total = from_log + experiment.by_log_total - 0.5 * experiment.by_damping * posterior.damping
        per_total = np.divide(by_total, total, out=np.zeros_like(total), where=total > 0)
        inverse_root = np.divide(1.0, posterior.root, out=np.zeros_like(total), where=total > 0)
        per_reward = experiment.by_prior + experiment.by_damping * inverse_root
        sums = [
            np.bincount(columns.component, weights=weight, minlength=5)
            for weight in (reward * (per_reward + per_total), bias * per_total)
        ]
        return np.append(np.concatenate(sums), unshared @ experiment.by_prior)


@dataclass(frozen=True, slots=True, eq=False)
class _ExperimentTerm:
    """-2 log p(experiment | log), and derivatives of half of it with respect to what each column contributes."""

    value: float
    quadratic: float
    by_prior: FloatArray  # (size,) with respect to V + U, P and S fixed
    by_damping: FloatArray  # (size,) with respect to P
    by_log_total: FloatArray  # (size,) with respect to log S in K and c

    @classmethod
    def evaluate(
        cls, posterior: MomentPosterior, rows: FloatArray, target: FloatArray, noise: float
    ) -> _ExperimentTerm:
        """With C the covariance of the outcomes and e their residual, log det C + e'C^-1 e.

        W = C^-1 e and G = (C^-1 - WW') / 2, half the derivative with respect to C. The derivatives follow from
        d K^-1 = -K^-1 dK K^-1 and dK = (K - I) scaled by the relative changes of S.
        """
        damped = posterior.damping[:, None] * rows.T
        solved = posterior.factored.solve(damped)
        gap, half = damped - solved, _product(damped.T, solved)
        # V + U - P^2 = U + V B / S, which is zero or more: the part of the reward that the log cannot show.
        own = rows * np.sqrt(np.maximum(posterior.prior_variance - posterior.damping**2, 0.0))
        covariance = own @ own.T + (half + half.T) / 2.0
        covariance[np.diag_indices_from(covariance)] += noise
        triangle = linalg.cholesky(covariance, lower=True, check_finite=False)
        residual = target - rows @ posterior.mean
        inverse = linalg.cho_solve((triangle, True), np.eye(len(target)), check_finite=False)
        weights = inverse @ residual
        sensitivity = 0.5 * (inverse - np.outer(weights, weights))
        weighted_rows, along = _product(sensitivity, rows), rows.T @ weights
        pulled = posterior.damping * along
        pulled_solution = posterior.factored.solve(pulled)
        right, solution = posterior.right, posterior.solution
        mean_part = (
            pulled_solution * right - pulled_solution * (right - solution) - solution * (pulled - pulled_solution)
        )
        return cls(
            value=2.0 * float(np.log(np.diag(triangle)).sum()) + float(residual @ weights),
            quadratic=float(residual @ weights),
            by_prior=np.einsum("ji,ji->i", rows, weighted_rows),
            by_damping=-2.0 * np.einsum("ji,ij->i", weighted_rows, gap) - solution * along,
            by_log_total=-np.einsum("ij,ij->i", _product(solved, sensitivity), gap) - 0.5 * mean_part,
        )


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    """A matrix product on all threads."""
    return parallel_over_columns(lambda panel: np.asarray(left @ panel), PANEL_COLUMNS)(right)

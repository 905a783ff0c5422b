"""Choose the variances of several Gaussian components by the likelihood of their sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
from scipy import linalg, optimize

from deconfound.design import FloatArray
from deconfound.progress import Progress, no_progress

MAX_ITERATIONS = 60  # of L-BFGS-B, which usually stops after 20 to 40
USUAL_STEPS = "20 to 70"  # evaluations of the likelihood; an iteration is one or more
FTOL = 1e-3  # divided by the number of rows; the search stops at gains in log-likelihood of about this size
MAX_LOG_STEP = 10.0  # from the start; at exp(-10) a component is absent, at exp(10) it is everything
FAILED_OBJECTIVE = 1e12  # of variances whose covariance is not positive definite; larger than any real objective


def log_likelihood(
    log_variances: FloatArray, kernels: Sequence[FloatArray], target: FloatArray
) -> tuple[float, FloatArray]:
    """Log-density of target ~ N(0, sum_i exp(log_variances_i) kernels_i) up to a constant, and its gradient.

    The log-density is minus infinity where the covariance is not positive definite.
    """
    variances = np.exp(log_variances)
    covariance = np.zeros_like(kernels[0])
    for variance, kernel in zip(variances, kernels, strict=True):
        covariance += variance * kernel
    triangle, failed = linalg.lapack.dpotrf(covariance, lower=1, overwrite_a=1)
    if failed:
        return -np.inf, np.zeros_like(variances)
    weights = linalg.cho_solve((triangle, True), target, check_finite=False)
    inverse, _ = linalg.lapack.dpotri(triangle.copy(), lower=1, overwrite_c=1)
    below_diagonal = np.tril(inverse, -1)
    likelihood = -0.5 * float(target @ weights) - float(np.log(np.diag(triangle)).sum())
    gradient = np.empty_like(variances)
    for i, kernel in enumerate(kernels):
        trace = 2.0 * float(np.vdot(below_diagonal, kernel)) + float(np.diag(inverse) @ np.diag(kernel))
        gradient[i] = 0.5 * variances[i] * (float(weights @ kernel @ weights) - trace)
    return likelihood, gradient


def maximize_marginal_likelihood(
    kernels: Sequence[FloatArray],
    target: FloatArray,
    start: FloatArray,
    prior_log_sd: float,
    progress: Progress = no_progress,
) -> FloatArray:
    """Variances (m,) of the kernels by ``maximize_posterior_density``."""

    def likelihood(log_variances: FloatArray) -> tuple[float, FloatArray]:
        return log_likelihood(log_variances, kernels, target)

    return maximize_posterior_density(likelihood, start, prior_log_sd, len(target), progress=progress)


def maximize_posterior_density(
    log_likelihood: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    prior_log_sd: float,
    rows: float,
    guess: FloatArray | None = None,
    progress: Progress = no_progress,
) -> FloatArray:
    """Variances (m,) that maximise a likelihood times a log-normal prior around ``start``.

    ``log_likelihood`` takes log(variances) and returns its value and gradient; ``rows`` is the number of outcomes
    behind it. ``prior_log_sd`` is the prior's standard deviation of log(variance). A component about which the data
    contain no information stays at its start. The search begins at ``guess``, by default at ``start``.
    """
    origin, numbers = np.log(start), count(1)

    def objective(step: FloatArray) -> tuple[float, FloatArray]:
        progress(f"step {next(numbers)} of usually {USUAL_STEPS}", 0.0)
        likelihood, gradient = log_likelihood(origin + step)
        prior = 0.5 * float(step @ step) / prior_log_sd**2
        if not np.isfinite(likelihood):
            return FAILED_OBJECTIVE + prior, step / prior_log_sd**2
        return prior - likelihood, step / prior_log_sd**2 - gradient

    optimum = optimize.minimize(
        objective,
        np.zeros(len(start)) if guess is None else np.log(guess) - origin,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-MAX_LOG_STEP, MAX_LOG_STEP)] * len(start),
        options={"maxiter": MAX_ITERATIONS, "ftol": FTOL / max(rows, 1)},
    )
    return np.asarray(np.exp(origin + optimum.x))

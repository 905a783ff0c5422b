"""Choose the sizes of several random parts by the likelihood of what was seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg, optimize

from deconfound.design import FloatArray

STEPS = 60  # of the quasi-Newton search; it stops by itself after twenty to forty
PRECISION = 1e-3  # of the log-likelihood, far below what any reader of a variance could see
LONGEST = 10.0  # log-steps from the start beyond which a part is as good as absent or all there is


def log_likelihood(
    log_sizes: FloatArray, kernels: Sequence[FloatArray], target: FloatArray
) -> tuple[float, FloatArray]:
    """Log-density of target ~ N(0, sum_i exp(log_sizes_i) kernels_i) up to a constant, and its gradient."""
    sizes = np.exp(log_sizes)
    total = np.zeros_like(kernels[0])
    for size, kernel in zip(sizes, kernels, strict=True):
        total += size * kernel
    triangle, failed = linalg.lapack.dpotrf(total, lower=1, overwrite_a=1)
    if failed:
        return -np.inf, np.zeros_like(sizes)
    weights = linalg.cho_solve((triangle, True), target, check_finite=False)
    inverse, _ = linalg.lapack.dpotri(triangle.copy(), lower=1, overwrite_c=1)
    half = np.tril(inverse, -1)
    likelihood = -0.5 * float(target @ weights) - float(np.log(np.diag(triangle)).sum())
    gradient = np.empty_like(sizes)
    for at, kernel in enumerate(kernels):
        trace = 2.0 * float(np.vdot(half, kernel)) + float(np.diag(inverse) @ np.diag(kernel))
        gradient[at] = 0.5 * sizes[at] * (float(weights @ kernel @ weights) - trace)
    return likelihood, gradient


def maximize_marginal_likelihood(
    kernels: Sequence[FloatArray], target: FloatArray, start: FloatArray, spread: float
) -> tuple[FloatArray, float]:
    """Sizes (m,) that maximise the likelihood times a log-normal prior around ``start``, and the log-likelihood there.

    ``spread`` is the prior's standard deviation of log(size): it holds parts in place that the data do not speak of.
    """
    origin = np.log(start)

    def objective(step: FloatArray) -> tuple[float, FloatArray]:
        likelihood, gradient = log_likelihood(origin + step, kernels, target)
        prior = 0.5 * float(step @ step) / spread**2
        if not np.isfinite(likelihood):
            return 1e12 + prior, step / spread**2
        return prior - likelihood, step / spread**2 - gradient

    found = optimize.minimize(
        objective,
        np.zeros(len(start)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-LONGEST, LONGEST)] * len(start),
        options={"maxiter": STEPS, "ftol": PRECISION / max(len(target), 1)},
    )
    return np.exp(origin + found.x), log_likelihood(origin + found.x, kernels, target)[0]

"""The ridges behind a router of prompts, against loops that refit for every row that is left out."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.policy_learning import distillation, outcome_correction
from deconfound.policy_learning.distillation import LinearScores
from deconfound.policy_learning.outcome_correction import RatedPrompts, correction_coef


def ridge(X, Q, penalty):
    """Intercept and coefficients by the normal equations."""
    mean, center = X.mean(axis=0), Q.mean(axis=0)
    coef = np.linalg.solve((X - mean).T @ (X - mean) + penalty * np.eye(X.shape[1]), (X - mean).T @ (Q - center))
    return center - mean @ coef, coef


def left_out_contrasts(X, Q, penalty):
    total = 0.0
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        intercept, coef = ridge(X[others], Q[others], penalty)
        error = Q[row] - intercept - X[row] @ coef
        total += ((error - error.mean()) ** 2).sum()
    return total


@pytest.mark.parametrize(("n", "p"), [(12, 30), (40, 6)])
def test_distillation_is_the_ridge_that_predicts_left_out_prompts_best(n, p):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p))
    Q = X @ rng.normal(size=(p, 3)) * 0.3 + rng.normal(size=(n, 3))
    errors = [left_out_contrasts(X, Q, penalty) for penalty in distillation.PENALTIES]
    fit = LinearScores.fit(X, Q)
    assert fit.penalty == distillation.PENALTIES[int(np.argmin(errors))]
    intercept, coef = ridge(X, Q, fit.penalty)
    np.testing.assert_allclose(fit.coef, coef, atol=1e-8)
    np.testing.assert_allclose(fit(X), intercept + X @ coef, atol=1e-8)


def test_prompts_that_do_not_differ_give_the_means():
    fit = LinearScores.fit(np.ones((5, 4)), np.arange(10.0).reshape(5, 2))
    np.testing.assert_allclose(fit(np.zeros((1, 4)))[0], [4.0, 5.0])


def naive_correction(experiment, log, models):
    """All weights and penalties, and a refit for every experiment row; the log is centered by its own means."""
    best, chosen = np.inf, None
    for weight in (*outcome_correction.LOG_WEIGHTS, None):
        for penalty in outcome_correction.PENALTIES:
            error, coefs = 0.0, []
            for model in range(models):
                X, y = experiment.features[experiment.model == model], experiment.residual[experiment.model == model]
                L, z = log.of_model(model)
                G, b = (weight or 0.0) * L.T @ L, (weight or 0.0) * L.T @ z

                def fit(X, y, G=G, b=b, weight=weight, penalty=penalty):
                    if weight is None:
                        return np.zeros(X.shape[1])
                    C = X - X.mean(axis=0)
                    return np.linalg.solve(C.T @ C + G + penalty * np.eye(X.shape[1]), C.T @ (y - y.mean()) + b)

                for row in range(len(y)):
                    others = np.arange(len(y)) != row
                    coef = fit(X[others], y[others])
                    error += (y[row] - y[others].mean() - (X[row] - X[others].mean(axis=0)) @ coef) ** 2
                coefs.append(fit(X, y))
            if error < best - 1e-9:
                best, chosen = error, np.column_stack(coefs)
    return chosen


@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_the_correction_is_the_one_that_predicts_left_out_randomized_rows_best(signal):
    rng = np.random.default_rng(2)
    coef = signal * rng.normal(size=(5, 2))

    def rated(n):
        X, model = rng.normal(size=(n, 5)), np.arange(n) % 2
        return RatedPrompts(X, model, (X @ coef)[np.arange(n), model] + rng.normal(size=n))

    experiment, log = rated(24), rated(60)
    np.testing.assert_allclose(correction_coef(experiment, log, 2), naive_correction(experiment, log, 2), atol=1e-8)


def test_a_model_without_rows_and_an_empty_log_get_no_correction():
    rng = np.random.default_rng(3)
    experiment = RatedPrompts(rng.normal(size=(20, 4)), np.zeros(20, dtype=np.int64), rng.normal(size=20))
    nothing = RatedPrompts(np.zeros((0, 4)), np.zeros(0, dtype=np.int64), np.zeros(0))
    assert not correction_coef(experiment, nothing, 2)[:, 1].any()

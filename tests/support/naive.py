"""Naive twins: the formulas once more, dense and slow, without the package's linear algebra.

Every fit is one least-squares problem on stacked rows: observations scaled by the root of their weight, then the
penalty as additional rows. From the package come only ``Rows`` and the folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deconfound.design import Fold, Rows, group_folds

Array = NDArray[np.float64]
LinearFit = tuple[Array, float]


def least_squares(features: Array, target: Array, weight: Array, penalty: float) -> LinearFit:
    """Minimise sum weight (target - features'w - b)^2 + penalty w'w; the intercept is not penalized."""
    columns = features.shape[1]
    root = np.sqrt(weight)
    rows = np.column_stack([features, np.ones(len(features))]) * root[:, None]
    ridge = np.column_stack([np.sqrt(penalty) * np.eye(columns), np.zeros(columns)])
    stacked = np.linalg.lstsq(np.vstack([rows, ridge]), np.concatenate([root * target, np.zeros(columns)]), rcond=None)[
        0
    ]
    return stacked[:-1], float(stacked[-1])


def line(fit: LinearFit, features: Array) -> Array:
    return np.asarray(features @ fit[0] + fit[1])


def clip(values: Array) -> Array:
    return np.minimum(np.maximum(values, 0.0), 1.0)


def basis_expansion(psi: Array, basis: str) -> Array:
    return psi if basis == "linear" else np.column_stack([psi, psi**2])


def f_obs(log: Rows, penalty: float) -> Callable[[Rows], Array]:
    fit = least_squares(log.phi.toarray(), log.require_outcome(), log.weight_or_ones, penalty)
    return lambda rows: clip(line(fit, rows.phi.toarray()))


def exp_only(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:  # noqa: ARG001
    fit = least_squares(experiment.phi.toarray(), experiment.require_outcome(), experiment.weight_or_ones, c.penalty)
    return clip(line(fit, rows.phi.toarray()))


def obs_only(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:  # noqa: ARG001
    return f_obs(log, c.penalty)(rows)


def representation_exp(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:  # noqa: ARG001
    fit = least_squares(experiment.require_psi(), experiment.require_outcome(), experiment.weight_or_ones, c.penalty)
    return clip(line(fit, rows.require_psi()))


def _pooled(c: Any, log: tuple[Array, Array, Array], experiment: tuple[Array, Array, Array]) -> LinearFit:
    (x_log, y_log, w_log), (x_exp, y_exp, w_exp) = log, experiment
    weight = np.concatenate([c.pooling * w_log / w_log.sum(), (1 - c.pooling) * w_exp / w_exp.sum()])
    return least_squares(np.vstack([x_log, x_exp]), np.concatenate([y_log, y_exp]), weight, c.penalty)


def cvci(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:
    sources = [(source.phi.toarray(), source.require_outcome(), source.weight_or_ones) for source in (log, experiment)]
    return clip(line(_pooled(c, *sources), rows.phi.toarray()))


def cvci_residual(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:
    base = f_obs(log, c.log_penalty)
    sources = [
        (source.require_psi(), source.require_outcome() - base(source), source.weight_or_ones)
        for source in (log, experiment)
    ]
    return clip(base(rows) + line(_pooled(c, *sources), rows.require_psi()))


def _correction(basis: str, c: Any, base: Callable[[Rows], Array], experiment: Rows) -> Callable[[Rows], Array]:
    bias = base(experiment) - experiment.require_outcome()
    fit = least_squares(basis_expansion(experiment.require_psi(), basis), bias, experiment.weight_or_ones, c.penalty)
    return lambda rows: line(fit, basis_expansion(rows.require_psi(), basis))


def grounded(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:
    base = f_obs(log, c.log_penalty)
    return clip(base(rows) - c.strength * _correction(c.basis, c, base, experiment)(rows))


def grounded_linear(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:
    base = f_obs(log, c.log_penalty)
    return clip(base(rows) - c.strength * _correction("linear", c, base, experiment)(rows))


def grounded_anchor(c: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:
    """Two sources and two anchors, two unknowns."""
    base = f_obs(log, c.log_penalty)
    direction = _correction(c.basis, c, base, experiment)
    pieces = [
        (
            c.pooling * log.weight_or_ones / log.total_weight,
            cross_fitted(log, c.log_penalty),
            direction(log),
            log.require_outcome(),
        ),
        (
            (1 - c.pooling) * experiment.weight_or_ones / experiment.total_weight,
            base(experiment),
            direction(experiment),
            experiment.require_outcome(),
        ),
        (np.array([c.baseline_anchor]), np.ones(1), np.zeros(1), np.ones(1)),
        (np.array([c.strength_anchor]), np.zeros(1), -np.ones(1), np.array([c.strength])),
    ]
    root = np.sqrt(np.concatenate([weight for weight, _, _, _ in pieces]))
    design = np.vstack([np.column_stack([b, -h]) for _, b, h, _ in pieces]) * root[:, None]
    target = np.concatenate([y for _, _, _, y in pieces]) * root
    b, alpha = np.linalg.lstsq(design, target, rcond=None)[0]
    return clip(b * base(rows) - alpha * direction(rows))


def cross_fitted(log: Rows, penalty: float) -> Array:
    """f_obs from the folds without a row's context; without contexts, equal rows are one group."""
    group = equal_rows(log) if log.context is None else log.context
    cross_fitted_baseline = np.full(len(log), np.nan)
    for fold in group_folds(group, 5, seed=0):
        cross_fitted_baseline[fold.held_out] = f_obs(log.take(fold.train), penalty)(log.take(fold.held_out))
    return cross_fitted_baseline


def equal_rows(rows: Rows) -> NDArray[np.int64]:
    """Number of the first row with the same phi and psi."""
    first_row: dict[bytes, int] = {}
    both = np.ascontiguousarray(np.column_stack([rows.phi.toarray(), rows.require_psi()]) + 0.0)
    return np.array([first_row.setdefault(row.tobytes(), at) for at, row in enumerate(both)])


TWINS: dict[str, Callable[[Any, Rows, Rows, Rows], Array]] = {
    "exp-only": exp_only,
    "obs-only": obs_only,
    "representation-exp": representation_exp,
    "grounded": grounded,
    "grounded-linear": grounded_linear,
    "grounded-anchor": grounded_anchor,
    "cvci": cvci,
    "cvci-residual": cvci_residual,
}


def predict(candidate: Any, log: Rows, experiment: Rows, rows: Rows) -> Array:
    return TWINS[candidate.name](candidate, log, experiment, rows)


def tuned_losses(
    candidates: Sequence[Any], log: Rows, experiment: Rows, cuts: Sequence[Fold], *, by_model: bool
) -> Array:
    """Refit every candidate in every fold from scratch and average the losses over the folds."""
    losses = np.zeros((len(candidates), len(cuts)))
    for i, candidate in enumerate(candidates):
        for k, cut in enumerate(cuts):
            held_out = experiment.take(cut.held_out)
            error = predict(candidate, log, experiment.take(cut.train), held_out) - held_out.require_outcome()
            losses[i, k] = (
                model_loss(error, held_out) if by_model else np.average(error**2, weights=held_out.weight_or_ones)
            )
    return np.asarray(losses.mean(axis=1))


def model_loss(error: Array, held_out: Rows) -> float:
    """sum_a omega_a (mean prediction - mean outcome)^2, omega_a proportional to the count of model a."""
    assert held_out.model is not None
    total = 0.0
    for model in set(held_out.model.tolist()):
        mine = held_out.model == model
        weight = held_out.weight_or_ones[mine]
        total += weight.sum() * float(np.average(error[mine], weights=weight)) ** 2
    return total / held_out.total_weight

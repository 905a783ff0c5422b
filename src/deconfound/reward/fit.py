"""A fitted reward: the one form in which every family returns its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from deconfound.design import FloatArray, IntArray, ReplayRows, Rows
from deconfound.linalg import Linear

Basis = Literal["linear", "quadratic"]


def basis_expansion(psi: FloatArray, basis: Basis) -> FloatArray:
    """B(psi): the proxies, or the proxies and their squares."""
    return psi if basis == "linear" else np.hstack([psi, psi * psi])


def clip(prediction: FloatArray) -> FloatArray:
    """Clip to [0, 1], the range of outcomes."""
    return np.clip(prediction, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class RewardFit:
    """A fitted reward r(x, m): expected outcome of an output on a context.

        clip( baseline_weight * clip(baseline(phi)) + phi @ phi_coef + B(psi) @ psi_coef + intercept
              + model_effect[a] + modifiers @ modifier_coef[a] )

    Terms that a family does not use are None. The last two are what model a's outputs gain beyond what phi and psi
    describe: on average, and depending on the context.
    """

    intercept: float
    phi_coef: FloatArray | None = None  # (d,)
    psi_coef: FloatArray | None = None  # (r,) or (2r,)
    basis: Basis = "linear"
    baseline: Linear | None = None
    baseline_weight: float = 1.0
    model_effect: FloatArray | None = None  # (k,), by model code
    modifier_coef: FloatArray | None = None  # (k, c), by model code

    def predict(self, rows: Rows) -> FloatArray:
        """Reward of each row (n,), with the effect of its model where ``rows`` has models."""
        total = self._total(rows)
        return clip(total) if rows.model is None else self.add_model_effect(total, rows.model, rows.modifiers)

    def predict_by_model(self, rows: Rows, n_models: int) -> FloatArray:
        """Reward of each row had each model written it (n, n_models)."""
        effect = np.tile(self._model_effect(np.arange(n_models)), (len(rows), 1))
        if self.modifier_coef is not None and rows.modifiers is not None:
            fitted = self.modifier_coef[:n_models]
            effect[:, : len(fitted)] += rows.modifiers @ fitted.T
        return clip(self._total(rows)[:, None] + effect)

    def predict_draws(self, replay: ReplayRows) -> FloatArray:
        """Reward of each replayed draw (n,)."""
        rows, index = replay.distinct, replay.row_index
        modifiers = None if self.modifier_coef is None or rows.modifiers is None else rows.modifiers[index]
        return self.add_model_effect(self._total(rows)[index], replay.model, modifiers)

    def mean_by_cell(self, replay: ReplayRows) -> FloatArray:
        """q (contexts, models): the reward averaged over the draws of each replayed cell."""
        return replay.mean_by_cell(self.predict_draws(replay))

    def total_from_products(
        self, baseline_product: FloatArray | None, phi_product: FloatArray | None, psi: FloatArray
    ) -> FloatArray:
        """The sum of the terms without the model's, not clipped, for callers that already have the products with phi.

        ``baseline_product`` is phi @ baseline.coef and ``phi_product`` is phi @ phi_coef, both (n,). A caller with
        many fits and the same rows computes the products of all fits in one pass over phi, and then calls
        ``add_model_effect``.
        """
        total = np.full(len(psi), self.intercept)
        if self.baseline is not None and baseline_product is not None:
            total += self.baseline_weight * clip(baseline_product + self.baseline.intercept)
        if phi_product is not None:
            total += phi_product
        if self.psi_coef is not None:
            total += basis_expansion(psi, self.basis) @ self.psi_coef
        return total

    def add_model_effect(self, total: FloatArray, model: IntArray, modifiers: FloatArray | None) -> FloatArray:
        """Rewards from totals and the codes of the models, of any shapes that broadcast.

        ``modifiers`` have one more dimension, of size c; where they are None, their effect is left out.
        """
        return clip(total + self._effect(model, modifiers))

    def _total(self, rows: Rows) -> FloatArray:
        baseline = None if self.baseline is None else np.asarray(rows.phi @ self.baseline.coef)
        phi = None if self.phi_coef is None else np.asarray(rows.phi @ self.phi_coef)
        psi = np.empty((len(rows), 0)) if self.psi_coef is None else rows.require_psi()
        return self.total_from_products(baseline, phi, psi)

    def _effect(self, model: IntArray, modifiers: FloatArray | None) -> FloatArray:
        """What models of these codes add, on average and depending on the context."""
        effect = self._model_effect(model)
        if self.modifier_coef is None or modifiers is None:
            return effect
        fitted = (model >= 0) & (model < len(self.modifier_coef))
        coef = self.modifier_coef[np.where(fitted, model, 0)]
        return effect + np.where(fitted, np.einsum("...j,...j->...", modifiers, coef), 0.0)

    def _model_effect(self, model: IntArray) -> FloatArray:
        """Effects of models; unknown ones (negative codes) and those in neither log nor experiment have none."""
        if self.model_effect is None:
            return np.zeros(np.shape(model))
        k = len(self.model_effect)
        effect_or_zero = np.append(self.model_effect, 0.0)
        return np.asarray(effect_or_zero[np.where((model >= 0) & (model < k), model, k)])

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

        clip( baseline_weight * clip(baseline(phi)) + phi @ phi_coef + B(psi) @ psi_coef + intercept )

    Terms that a family does not use are None. ``model_effect`` is what a model's outputs gain beyond what phi and psi
    describe; it is added to the clipped sum, which is then clipped again.
    """

    intercept: float
    phi_coef: FloatArray | None = None  # (d,)
    psi_coef: FloatArray | None = None  # (r,) or (2r,)
    basis: Basis = "linear"
    baseline: Linear | None = None
    baseline_weight: float = 1.0
    model_effect: FloatArray | None = None  # (k,), by model code

    def predict(self, rows: Rows) -> FloatArray:
        """Reward of each row (n,), with the effect of its model where ``rows`` has models."""
        prediction = self.predict_without_model_effect(rows)
        return prediction if rows.model is None else self.add_model_effect(prediction, rows.model)

    def mean_by_cell(self, replay: ReplayRows) -> FloatArray:
        """q (contexts, models): the reward averaged over the draws of each replayed cell."""
        mean = replay.mean_over_draws(self.predict_without_model_effect(replay.distinct))
        return self.add_model_effect(mean, np.arange(replay.n_models))

    def predict_without_model_effect(self, rows: Rows) -> FloatArray:
        """Reward of each row (n,) from phi and psi only."""
        baseline = None if self.baseline is None else np.asarray(rows.phi @ self.baseline.coef)
        phi = None if self.phi_coef is None else np.asarray(rows.phi @ self.phi_coef)
        psi = np.empty((len(rows), 0)) if self.psi_coef is None else rows.require_psi()
        return self.predict_from_products(baseline, phi, psi)

    def predict_from_products(
        self, baseline_product: FloatArray | None, phi_product: FloatArray | None, psi: FloatArray
    ) -> FloatArray:
        """``predict_without_model_effect`` for callers that already have the products with phi.

        ``baseline_product`` is phi @ baseline.coef and ``phi_product`` is phi @ phi_coef, both (n,). A caller with
        many fits and the same rows computes the products of all fits in one pass over phi.
        """
        total = np.full(len(psi), self.intercept)
        if self.baseline is not None and baseline_product is not None:
            total += self.baseline_weight * clip(baseline_product + self.baseline.intercept)
        if phi_product is not None:
            total += phi_product
        if self.psi_coef is not None:
            total += basis_expansion(psi, self.basis) @ self.psi_coef
        return clip(total)

    def add_model_effect(self, prediction: FloatArray, model: IntArray) -> FloatArray:
        """Add each model's effect to predictions without it.

        ``model`` has one code per entry of the last axis of ``prediction``. Unknown models (negative codes) and models
        in neither log nor experiment (codes from k on) have effect zero.
        """
        if self.model_effect is None:
            return prediction
        k = len(self.model_effect)
        effect_or_zero = np.append(self.model_effect, 0.0)
        return clip(prediction + effect_or_zero[np.where((model >= 0) & (model < k), model, k)])

"""A finished reward: the one form in which every family ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.linalg import Linear

Basis = Literal["linear", "quadratic"]


def basis_expansion(psi: FloatArray, basis: Basis) -> FloatArray:
    """B(psi): the proxies themselves, or the proxies and their squares."""
    return psi if basis == "linear" else np.hstack([psi, psi * psi])


def clip(prediction: FloatArray) -> FloatArray:
    """Outcomes live in [0, 1] and so do predictions of them."""
    return np.clip(prediction, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class RewardFit:
    """A finished reward r(x, m); every family ends in this one form.

        clip( baseline_weight * clip(baseline(phi)) + phi @ phi_coef + B(psi) @ psi_coef + intercept )

    Parts that a family does not use are None. With ``by_model``, what a model's outputs are liked beyond what text
    and proxies show is added to that, and the sum clipped again.
    """

    intercept: float
    phi_coef: FloatArray | None = None  # (d,)
    psi_coef: FloatArray | None = None  # (r,) or (2r,)
    basis: Basis = "linear"
    baseline: Linear | None = None
    baseline_weight: float = 1.0
    model_effect: FloatArray | None = None  # (k,), by model code

    def predict(self, rows: Rows) -> FloatArray:
        """Reward of each row, in [0, 1]."""
        return self.shown(rows) if rows.model is None else self.written_by(rows.model, self.shown(rows))

    def written_by(self, model: IntArray, shown: FloatArray) -> FloatArray:
        """Reward (n,) of outputs by these models, from what text and proxies show of them."""
        if self.model_effect is None:
            return shown
        return clip(shown + np.where(model < 0, 0.0, self.model_effect[model]))

    def add_model_effect_to_matrix(self, shown: FloatArray) -> FloatArray:
        """q (n, k) from what text and proxies show of each model's outputs, averaged over draws."""
        if self.model_effect is None:
            return shown
        effect = np.zeros(shown.shape[1])  # a model that neither source has seen has none
        effect[: len(self.model_effect)] = self.model_effect[: len(effect)]
        return clip(shown + effect)

    def shown(self, rows: Rows) -> FloatArray:
        """Reward of each row as text and proxies show it, whoever wrote it."""
        baseline = None if self.baseline is None else np.asarray(rows.phi @ self.baseline.coef)
        own = None if self.phi_coef is None else np.asarray(rows.phi @ self.phi_coef)
        psi = np.empty((len(rows), 0)) if self.psi_coef is None else rows.require_psi()
        return self.combine(baseline, own, psi)

    def combine(self, baseline: FloatArray | None, own: FloatArray | None, psi: FloatArray) -> FloatArray:
        """Reward of rows whose products with the baseline's and with ``phi_coef`` are at hand.

        Who asks many rewards about the same rows multiplies once for all of them.
        """
        total = np.full(len(psi), self.intercept)
        if self.baseline is not None and baseline is not None:
            total += self.baseline_weight * clip(baseline + self.baseline.intercept)
        if own is not None:
            total += own
        if self.psi_coef is not None:
            total += basis_expansion(psi, self.basis) @ self.psi_coef
        return clip(total)

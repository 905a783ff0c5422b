"""Predict many fitted rewards on the same replay rows.

``deconfound.reward.RewardFit.predict`` multiplies the features once per fit. A benchmark evaluates up to six fits per
family on the same rows, so this file multiplies once for all of them and caches the products with the log's baseline.
It uses the package's methods for such callers, ``RewardFit.total_from_products`` and ``add_model_effect``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.reward import RewardFit


@dataclass(frozen=True, slots=True)
class ReplayFeatures:
    """Features of every model's output on every context, with one or several draws."""

    phi: FloatArray  # (rows, d)
    psi: FloatArray  # (rows, r)
    modifiers: FloatArray  # (rows, c)
    row: IntArray  # (contexts, models, draws), row numbers of phi, psi and modifiers


@final
class BatchPredictor:
    """Predictions on one set of replay rows, for fits to one log and one experiment.

    Several families share the log's baseline and differ in what they add to it. Its products with the features are
    cached by ``log_penalty``, which determines the baseline because the log is fixed.
    """

    def __init__(self, replay: ReplayFeatures) -> None:
        self.replay = replay
        self._baseline_by_penalty: dict[float, FloatArray] = {}

    def predict_q(self, fit: RewardFit, log_penalty: float | None) -> FloatArray:
        """q (contexts, models): the predicted reward of each model's outputs, averaged over draws."""
        row = self.replay.row
        total, model = self._totals([fit], log_penalty)[0][row], np.arange(row.shape[1])[:, None]
        return np.asarray(fit.add_model_effect(total, model, self._modifiers(fit, row)).mean(axis=2))

    def predict_rows(
        self, fits: Sequence[RewardFit], log_penalty: float | None, rows: Sequence[IntArray], models: Sequence[IntArray]
    ) -> list[FloatArray]:
        """For each fit, the predicted reward of its own replay rows, written by these models."""
        totals = self._totals(fits, log_penalty)
        return [
            fit.add_model_effect(total[row], model, self._modifiers(fit, row))
            for fit, total, row, model in zip(fits, totals, rows, models, strict=True)
        ]

    def _totals(self, fits: Sequence[RewardFit], log_penalty: float | None) -> list[FloatArray]:
        """For each fit, the sum of its terms on every replay row without those of the model that wrote it."""
        coefficients = [fit.phi_coef for fit in fits if fit.phi_coef is not None]
        products = iter(np.asarray(self.replay.phi @ np.column_stack(coefficients)).T if coefficients else ())
        totals = []
        for fit in fits:
            baseline = None if fit.baseline is None else self._baseline(fit.baseline.coef, log_penalty)
            own = None if fit.phi_coef is None else next(products)
            totals.append(fit.total_from_products(baseline, own, self.replay.psi))
        return totals

    def _modifiers(self, fit: RewardFit, row: IntArray) -> FloatArray | None:
        """The modifiers of these rows, if the fit uses any."""
        return None if fit.modifier_coef is None else self.replay.modifiers[row]

    def _baseline(self, coef: FloatArray, log_penalty: float | None) -> FloatArray:
        if log_penalty is None:
            return np.asarray(self.replay.phi @ coef)
        if log_penalty not in self._baseline_by_penalty:
            self._baseline_by_penalty[log_penalty] = np.asarray(self.replay.phi @ coef)
        return self._baseline_by_penalty[log_penalty]

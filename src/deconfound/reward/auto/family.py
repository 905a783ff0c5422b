"""Let the data say how far each source and each view of an output is to be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeVar

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.reward.auto.gaussian import ConditionedGaussian
from deconfound.reward.auto.kernels import Placed, Scale, VarianceComponents
from deconfound.reward.auto.variance_components import fit_variance_components, level, subsample
from deconfound.reward.base import Family, fit_once
from deconfound.reward.fit import RewardFit, clip
from deconfound.reward.training_data import TrainingData

MAX_LOG_ROWS = 6000
"""Distinct log rows that a fit takes in; of a longer log it takes a sample. Each doubling costs eight times as much."""

F = TypeVar("F", bound=Family)


@dataclass(frozen=True, slots=True)
class Auto:
    """A reward shared by both sources, and a bias that only the log has.

        experiment   Y = reward(x, m) + noise
        log          Y = reward(x, m) + bias(x, m) + noise

    Reward and bias are Gaussian, with parts over text, proxies, model and level (``Parts``). Their sizes maximise the
    likelihood of both sources, so nothing is held out: a log that agrees with the experiment has a small bias and is
    pooled, one that contradicts it has a large one and is set aside, part by part. The reward is its posterior mean.
    Every family of the paper is a corner: without bias and proxies it is ``obs-only``, with endless bias
    ``exp-only``, and so on.
    """

    name: ClassVar[str] = "auto"
    learns_from_experiment: ClassVar[bool] = True
    parts: VarianceComponents | None = None  # None: learned from the sources it is fitted to

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit to all rows of both sources, learning the sizes first unless they are given."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """Only itself: the likelihood compares all sizes at once."""
        return (self,)

    def regularization_order(self) -> tuple[float, ...]:
        """There is nothing to break a tie between."""
        return ()

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedAuto:
        """Take in the log once for all subsets of the experiment."""
        parts = candidates[0].parts
        return PreparedAuto.of(sources, fit_variance_components(sources) if parts is None else parts)


def settled(family: F, sources: TrainingData) -> F:
    """The family with everything learned that it learns before it is fitted; only ``Auto`` does."""
    if isinstance(family, Auto) and family.parts is None:
        return replace(family, parts=fit_variance_components(sources))
    return family


@dataclass(frozen=True, slots=True)
class PreparedAuto:
    """The log taken in, ready for any subset of the experiment."""

    parts: VarianceComponents
    scale: Scale
    log: Rows
    experiment: Rows
    level: float
    known: ConditionedGaussian

    @classmethod
    def of(cls, sources: TrainingData, parts: VarianceComponents) -> PreparedAuto:
        """One factorization, as large as the log has distinct rows."""
        scale, log, experiment = Scale.of(sources.log), subsample(sources.log, MAX_LOG_ROWS), sources.experiment
        many, few, centre = Placed.of(log, scale), Placed.of(experiment, scale), level(sources)
        covariance = many.covariance(many, parts.reward + parts.bias)
        covariance[np.diag_indices_from(covariance)] += parts.noise / log.weight_or_ones
        between, among = many.covariance(few, parts.reward), few.covariance(few, parts.reward)
        return cls(
            parts,
            scale,
            log,
            experiment,
            centre,
            ConditionedGaussian.of(covariance, log.require_outcome() - centre, between, among),
        )

    def predict(self, candidate: Auto, trains: Sequence[IntArray]) -> list[FloatArray]:  # noqa: ARG002  (all alike)
        """One small solve a subset."""
        return [clip(self.level + self.known.predict(self._learn(train))) for train in trains]

    def fit(self, candidate: Auto, train: IntArray) -> RewardFit:  # noqa: ARG002
        """The posterior mean as coefficients."""
        weights = self._learn(train)
        return self._reward(self.known.back(weights), weights, self.level)

    def shares(self, train: IntArray) -> tuple[RewardFit, RewardFit]:
        """The same fit as what the log's outcomes put into it and what the experiment's do; both start from zero."""
        weights = self._learn(train)
        nothing = np.zeros_like(weights)
        by_log = self._reward(self.known.alone, nothing, 0.0)
        return by_log, self._reward(-self.known.shared @ weights, weights, 0.0)

    def _learn(self, train: IntArray) -> FloatArray:
        experiment = self.experiment
        noise = self.parts.noise / experiment.weight_or_ones
        return self.known.learn(experiment.require_outcome() - self.level, noise, train)

    def _reward(self, of_log: FloatArray, of_experiment: FloatArray, centre: float) -> RewardFit:
        parts, log, experiment = self.parts, self.log, self.experiment
        text = log.phi.transposed_product(of_log) + experiment.phi.transposed_product(of_experiment)
        proxies = self.scale.proxies(log).T @ of_log + self.scale.proxies(experiment).T @ of_experiment
        psi_coef = parts.reward_proxies * proxies / self.scale.spread
        total = float(of_log.sum() + of_experiment.sum())
        model_effect = None
        if experiment.model is not None and parts.reward_model > 0:
            model_effect = parts.reward_model * _sums((log, of_log), (experiment, of_experiment))
        return RewardFit(
            centre + parts.reward_level * total - float(self.scale.mean @ psi_coef),
            phi_coef=parts.reward_text / self.scale.text * text,
            psi_coef=psi_coef if len(psi_coef) else None,
            model_effect=model_effect,
        )


def _sums(*pairs: tuple[Rows, FloatArray]) -> FloatArray:
    """Weights added up by model code, rows of unknown models left out."""
    known = [(rows.model, weights) for rows, weights in pairs if rows.model is not None]
    code = np.concatenate([model for model, _ in known])
    weights = np.concatenate([weights for _, weights in known])
    return np.bincount(code[code >= 0], weights=weights[code >= 0]).astype(np.float64)

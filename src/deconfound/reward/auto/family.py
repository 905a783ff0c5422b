"""Estimate from the data how much weight each source and each kind of feature deserves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from deconfound.design import FloatArray, IntArray, ReplayRows, Rows
from deconfound.progress import Progress, no_progress
from deconfound.reward.auto.attribution import Attribution, attribute
from deconfound.reward.auto.component_kernels import KernelRows, KernelScale
from deconfound.reward.auto.experiment_weights import ExperimentWeights
from deconfound.reward.auto.gaussian import ConditionedGaussian
from deconfound.reward.auto.iterative_gaussian import IterativeGaussian
from deconfound.reward.auto.long_log import PreparedLongAuto, fit_long_variance_components
from deconfound.reward.auto.variance_components import (
    VarianceComponents,
    fit_variance_components,
    prior_mean,
    subsample,
)
from deconfound.reward.base import FamilyDefaults, Prepared
from deconfound.reward.fit import RewardFit
from deconfound.reward.training_data import LogPart, TrainingData

MAX_REMOVED_SHARE = 0.25  # of the log's distinct rows; without more of them, a new factorization takes less time
MAX_FACTORED_ROWS = 2_000  # of the experiment; with more, one factorization per fold and bootstrap refit takes minutes


@dataclass(frozen=True, slots=True)
class Auto(FamilyDefaults):
    """A reward common to both sources, and a bias that only the log has.

        experiment   Y = reward(x, m) + noise
        log          Y = reward(x, m) + bias(x, m) + noise

    Reward and bias are Gaussian processes with components over text, proxies, model, model by context, and intercept.
    A part of the reward by model and context is one that the log lacks.
    Their variances maximize the marginal likelihood of both sources, so no rows are held out for tuning. A log that
    agrees with the experiment gets a small bias variance and is pooled; one that contradicts it gets a large one and is
    ignored, component by component. The reward is the posterior mean. Every family of the paper is a special case:
    without bias and proxies it is ``obs-only``, with infinite bias variance ``exp-only``.
    """

    name: ClassVar[str] = "auto"
    surface_share: ClassVar[float | None] = 0.0  # phi is text alone; the statistics are in psi, with a variance there
    max_log_rows: ClassVar[int | None] = 6000  # cost grows with the cube: twice as many take eight times as long
    variance_components: VarianceComponents | None = None  # None: estimated from the data it is fitted to

    def regularization_order(self) -> tuple[float, ...]:
        """The grid has one candidate, so there are no ties."""
        return ()

    def resolve(self, data: TrainingData, progress: Progress = no_progress) -> Self:
        """Estimate the variances, unless they are given.

        Once on all rows, not per fold: twelve numbers, which depend on the log more than on any fold of the experiment.
        """
        if self.variance_components is not None:
            return self
        return replace(self, variance_components=_fit_variances(data, progress))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Read the variances, null if they were not estimated yet."""
        variances = document["variance_components"]
        return cls(None if variances is None else VarianceComponents(**variances))

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedAuto | PreparedLongAuto:
        """Condition on the log once for all subsets of the experiment."""
        variances = candidates[0].variance_components or _fit_variances(data)
        if data.log.moments is not None:
            return PreparedLongAuto.condition_on_log(data.log.moments, data.experiment, variances)
        return PreparedAuto.condition_on_log(data, variances, cls.max_log_rows)

    def prepare_part(self, part: LogPart, whole: Prepared[Self]) -> Prepared[Self]:
        """With the factorization of the whole log where few rows are missing."""
        return whole.without(part) if isinstance(whole, PreparedAuto) else type(self).prepare(part.data, (self,))


def _fit_variances(data: TrainingData, progress: Progress = no_progress) -> VarianceComponents:
    if data.log.rows is None and data.log.moments is not None:
        return fit_long_variance_components(data.log.moments, data.experiment, progress)
    return fit_variance_components(data, progress)


@dataclass(frozen=True, slots=True)
class PreparedAuto:
    """The reward given the log, for any subset of the experiment."""

    variance_components: VarianceComponents
    scale: KernelScale
    log: Rows
    experiment: Rows
    prior_mean: float
    posterior: ConditionedGaussian | IterativeGaussian
    weights: ExperimentWeights

    @classmethod
    def condition_on_log(
        cls, data: TrainingData, variances: VarianceComponents, max_log_rows: int | None
    ) -> PreparedAuto:
        """One factorization with as many rows as the log has distinct ones, at most ``max_log_rows``."""
        scale, center = data.kernel_scale, prior_mean(data)
        log, experiment = subsample(data.log_rows, max_log_rows), data.experiment
        log_rows, experiment_rows = (KernelRows.from_rows(rows, scale) for rows in (log, experiment))
        observed = log_rows.covariance(log_rows, variances.reward + variances.bias)
        observed[np.diag_indices_from(observed)] += variances.noise / log.weight_or_ones
        between = log_rows.covariance(experiment_rows, variances.reward)
        few = experiment_rows.covariance(experiment_rows, variances.reward + variances.unshared)
        kind = ConditionedGaussian if len(experiment) <= MAX_FACTORED_ROWS else IterativeGaussian
        posterior = kind.condition(observed, log.require_outcome() - center, between, few)
        weights = ExperimentWeights(posterior.few, experiment, center, variances.noise)
        return cls(variances, scale, log, experiment, center, posterior, weights)

    def without(self, part: LogPart) -> PreparedAuto:
        """The same for a part of the log; its removed rows have weight zero."""
        removed, variances = part.removed, self.variance_components
        is_sample = part.distinct_rows != len(self.log)
        if removed is None or is_sample or isinstance(self.posterior, IterativeGaussian):
            return PreparedAuto.condition_on_log(part.data, variances, Auto.max_log_rows)
        if len(removed) > MAX_REMOVED_SHARE * len(self.log):
            return PreparedAuto.condition_on_log(part.data, variances, Auto.max_log_rows)
        center = prior_mean(part.data)
        posterior = self.posterior.without(removed, self.log.require_outcome() - center)
        weights = ExperimentWeights(posterior.few, self.experiment, center, variances.noise)
        return replace(self, prior_mean=center, posterior=posterior, weights=weights)

    def predict(self, candidate: Auto, train_subsets: Sequence[IntArray]) -> list[FloatArray]:  # noqa: ARG002
        """One small solve per subset."""
        return self.weights.predictions(train_subsets)

    def fit(self, candidate: Auto, train: IntArray) -> RewardFit:  # noqa: ARG002
        """The posterior mean as coefficients."""
        (weights,) = self.weights.of([train])
        log_weights = self.posterior.observed_solution - self.posterior.cross_weights(weights)
        return self._reward(log_weights, weights, self.prior_mean)

    def attribution(self, replay: ReplayRows, bootstrap_rows: Sequence[IntArray]) -> Attribution:
        """Shares by source and view."""
        trains = (np.arange(len(self.experiment)), *bootstrap_rows)
        self.weights.of(trains)  # all subsets together
        from_log = self.from_log()
        fits = ((from_log, self.from_experiment(train)) for train in trains)
        return attribute(fits, replay, self.variance_components)

    def from_log(self) -> RewardFit:
        """The summand of the reward that comes from the log's outcomes.

        Together with ``from_experiment`` and the prior mean it is the fit.
        """
        return self._reward(self.posterior.observed_solution, np.zeros(len(self.experiment)), 0.0)

    def from_experiment(self, train: IntArray) -> RewardFit:
        """The summand that comes from the experiment's outcomes."""
        (weights,) = self.weights.of([train])
        return self._reward(-self.posterior.cross_weights(weights), weights, 0.0)

    def _reward(self, log_weights: FloatArray, experiment_weights: FloatArray, center: float) -> RewardFit:
        """The reward's components times the weights of the rows that they were observed on."""
        variances, scale, log, experiment = self.variance_components, self.scale, self.log, self.experiment
        text = log.phi.transposed_product(log_weights) + experiment.phi.transposed_product(experiment_weights)
        proxies = scale.scale_psi(log).T @ log_weights + scale.scale_psi(experiment).T @ experiment_weights
        psi_coef = variances.reward_proxies * proxies / scale.psi_scale
        total = float(log_weights.sum() + experiment_weights.sum())
        model_effect, modifier_coef, weighted = None, None, ((log, log_weights), (experiment, experiment_weights))
        if experiment.model is not None and variances.reward_model > 0:
            model_effect = variances.reward_model * _sum_by_model(*weighted)
        if experiment.model is not None and variances.has_model_by_context:
            shared, unshared = variances.reward_model_by_context, variances.unshared_model_by_context
            modifier_coef = _modifier_sum_by_model(
                (log, shared * log_weights), (experiment, (shared + unshared) * experiment_weights)
            )
        return RewardFit(
            center + variances.reward_intercept * total - float(scale.psi_mean @ psi_coef),
            phi_coef=variances.reward_text / scale.phi_square_norm * text,
            psi_coef=psi_coef if len(psi_coef) else None,
            model_effect=model_effect,
            modifier_coef=modifier_coef,
        )


def _sum_by_model(*weighted: tuple[Rows, FloatArray]) -> FloatArray:
    """Sum of weights by model code (k,), without rows of unknown models."""
    with_model = [(rows.model, weights) for rows, weights in weighted if rows.model is not None]
    code = np.concatenate([model for model, _ in with_model])
    weights = np.concatenate([weights for _, weights in with_model])
    return np.bincount(code[code >= 0], weights=weights[code >= 0]).astype(np.float64)


def _modifier_sum_by_model(*weighted: tuple[Rows, FloatArray]) -> FloatArray:
    """Sum of weights times modifiers by model code (k, c), without rows of unknown models."""
    present = [(r.model, r.modifiers, w) for r, w in weighted if r.model is not None and r.modifiers is not None]
    code = np.concatenate([model for model, _, _ in present])
    total = np.zeros((int(code.max(initial=-1)) + 1, present[0][1].shape[1]))
    for model, modifiers, weights in present:
        for each in np.unique(model[model >= 0]).tolist():
            rows = np.flatnonzero(model == each)
            total[each] += weights[rows] @ modifiers[rows]
    return total

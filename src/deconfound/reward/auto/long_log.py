"""``auto`` on a log of any length: variances and reward from sums over its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import BoolArray, FloatArray, IntArray, ReplayRows, Rows, without_agreeing_repeats
from deconfound.progress import Progress, no_progress, prefixed
from deconfound.reward.auto.attribution import Attribution, attribute
from deconfound.reward.auto.experiment_weights import ExperimentWeights
from deconfound.reward.auto.gaussian import ConditionalRows, FactoredRows
from deconfound.reward.auto.iterative_gaussian import IterativeRows
from deconfound.reward.auto.linear_columns import LinearMoments, LinearRows, fold_columns
from deconfound.reward.auto.marginal_likelihood import maximize_posterior_density
from deconfound.reward.auto.moment_likelihood import MomentLikelihood
from deconfound.reward.auto.moment_posterior import MomentPosterior
from deconfound.reward.auto.primal_rows import PrimalRows
from deconfound.reward.auto.variance_components import (
    PRIOR_LOG_SD,
    VarianceComponents,
    present_components,
    prior_variances,
    subsample,
)
from deconfound.reward.fit import RewardFit

MAX_WRITTEN_ROWS = 2_000  # of the experiment; more are never written out, nor is a matrix of their size
MAX_PRIMAL_COLUMNS = 6_000  # up to which matrices of their size are written out; every model has its own
LEARNING_ROWS = 1_000  # of the experiment that the variances are learned from; each step takes the cube of it
LEARNING_WIDTH = 1_024  # text columns while the variances are learned; each step takes the cube of it
GUESSING_ROWS, GUESSING_WIDTH = 300, 256  # of a first search, from which the other begins


def fit_long_variance_components(
    moments: LinearMoments, experiment: Rows, progress: Progress = no_progress
) -> VarianceComponents:
    """Maximum a posteriori variances from all of the log and ``LEARNING_ROWS`` of the experiment.

    Text columns are added up to ``LEARNING_WIDTH`` for this, which changes kernels by little: twelve variances do not
    need the resolution that coefficients need. The search begins where one with fewer columns and rows has ended, whose
    steps take a tenth of the time.
    """
    columns = moments.columns
    has_models = columns.models > 0 and experiment.model is not None
    present = present_components(
        psi=columns.proxies > 0 and not moments.psi_repeats_phi,
        model=has_models,
        log_model=columns.models > 0,
        modifiers=columns.modifiers > 0,
    )
    distinct, guess = without_agreeing_repeats(experiment), None
    for rows, width in ((GUESSING_ROWS, GUESSING_WIDTH), (LEARNING_ROWS, LEARNING_WIDTH)):
        is_guess = width < LEARNING_WIDTH
        if is_guess and columns.text <= width and len(distinct) <= rows:
            continue  # the search that follows is the same
        likelihood = _likelihood(moments, subsample(distinct, rows), width)
        search = "first guess of variances" if is_guess else "estimating variances"
        guess = _maximize(likelihood, present, guess, prefixed(progress, f"{search}, "))
    variances = np.zeros(len(present))
    variances[present] = guess
    return VarianceComponents.from_array(variances)


def _likelihood(moments: LinearMoments, experiment: Rows, width: int) -> MomentLikelihood:
    rows = LinearRows.from_rows(experiment, moments.scale, moments.columns.models).toarray()
    folded = fold_columns(rows, moments.columns.text, width)
    return MomentLikelihood(moments.folded(width), folded, experiment.require_outcome() - moments.mean)


def _maximize(
    likelihood: MomentLikelihood, present: BoolArray, guess: FloatArray | None, progress: Progress
) -> FloatArray:
    """The variances that are ``present``."""
    moments = likelihood.moments
    start = prior_variances(moments.square / moments.weight)

    def log_likelihood(log_variances: FloatArray) -> tuple[float, FloatArray]:
        variances = np.zeros(len(start))
        variances[present] = np.exp(log_variances)
        value, gradient = likelihood.evaluate(VarianceComponents.from_array(variances))
        return value, gradient[present]

    count = moments.weight + len(likelihood.target)
    return maximize_posterior_density(log_likelihood, start[present], PRIOR_LOG_SD, count, guess, progress)


@dataclass(frozen=True, slots=True)
class PreparedLongAuto:
    """The reward given a long log, for any subset of the experiment."""

    variance_components: VarianceComponents
    moments: LinearMoments
    posterior: MomentPosterior
    rows: LinearRows  # the experiment
    weights: ExperimentWeights

    @classmethod
    def condition_on_log(
        cls, moments: LinearMoments, experiment: Rows, variances: VarianceComponents
    ) -> PreparedLongAuto:
        """One factorization of the size of the columns."""
        posterior = MomentPosterior.condition(moments, variances)
        rows = LinearRows.from_rows(experiment, moments.scale, moments.columns.models)
        weights = ExperimentWeights(_conditional_rows(posterior, rows), experiment, moments.mean, variances.noise)
        return cls(variances, moments, posterior, rows, weights)

    def predict(self, candidate: object, train_subsets: Sequence[IntArray]) -> list[FloatArray]:  # noqa: ARG002
        """One small solve per subset."""
        return self.weights.predictions(train_subsets)

    def fit(self, candidate: object, train: IntArray) -> RewardFit:  # noqa: ARG002
        """The posterior mean of the coefficients."""
        return self._reward(self.posterior.mean + self._from_experiment(train), self.moments.mean)

    def attribution(self, replay: ReplayRows, bootstrap_rows: Sequence[IntArray]) -> Attribution:
        """Shares by source and view."""
        trains = (np.arange(len(self.rows.model)), *bootstrap_rows)
        self.weights.of(trains)  # all subsets together
        from_log = self._reward(self.posterior.mean, 0.0)
        fits = ((from_log, self._reward(self._from_experiment(train), 0.0)) for train in trains)
        return attribute(fits, replay, self.variance_components)

    def _from_experiment(self, train: IntArray) -> FloatArray:
        """What a subset of the experiment adds to the coefficients that the log gives (size,)."""
        (weights,) = self.weights.of([train])
        return self.posterior.covariance_times(self.rows.transposed_times(weights[:, None]))[:, 0]

    def _reward(self, coef: FloatArray, center: float) -> RewardFit:
        columns, scale, variances = self.moments.columns, self.moments.scale, self.variance_components
        psi_coef = coef[columns.text : columns.shared - 1] / scale.psi_scale
        own = coef[columns.shared :].reshape(columns.models, 1 + columns.modifiers)
        return RewardFit(
            center + float(coef[columns.shared - 1]) - float(scale.psi_mean @ psi_coef),
            phi_coef=coef[: columns.text],
            psi_coef=psi_coef if len(psi_coef) else None,
            model_effect=own[:, 0] if variances.reward_model > 0 else None,
            modifier_coef=own[:, 1:] if variances.has_model_by_context else None,
        )


def _conditional_rows(posterior: MomentPosterior, rows: LinearRows) -> ConditionalRows:
    """The experiment's rows given the log: their covariance as a matrix, that of the columns, or products."""
    if len(rows.model) <= MAX_WRITTEN_ROWS:
        mean = rows.times(posterior.mean[:, None])[:, 0]
        return FactoredRows(mean, posterior.covariance_of(rows.toarray()))
    if rows.columns.size <= MAX_PRIMAL_COLUMNS:
        return PrimalRows.from_posterior(posterior, rows)

    def product(columns: FloatArray) -> FloatArray:
        return rows.times(posterior.covariance_times(rows.transposed_times(columns)))

    mean = rows.times(posterior.mean[:, None])[:, 0]
    return IterativeRows.approximate(mean, product, rows.trace(posterior.prior_variance))

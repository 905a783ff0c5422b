"""Efficient values: an output that several models could have written informs the values of all of them.

    mu(a) = lambda_a mean_x q(x, a) + sum_j w_ja (outcome_j - lambda_a prediction_ja)

w_ja is weight_j P(a | context_j, output_j) / e(a | context_j), normalized to sum to one over all rows. Doubly robust
values have the indicator 1{model_j = a} in place of the probability. Both are consistent if a model acts on the outcome
only through its output (exclusion). Without it only doubly robust values are. docs/efficient-values.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value.clusters import Influence
from deconfound.value.control_variate import (
    InfluenceTerms,
    extra_rows,
    outcome_means,
    tuned_doubly_robust,
    tuned_values,
)
from deconfound.value.experiment import ScoredExperiment, require_finite, require_q_matrix
from deconfound.value.mean_weights import ROUNDING_ATOL
from deconfound.value.output_overlap import PROBABILITY_ATOL, PROPENSITY_RTOL, assigned, propensities_by_model
from deconfound.value.values import Values

EXCLUSION_LEVEL = 0.05  # of the test that switches to doubly robust values; measured, decision 0014
MIN_NARROWING = 0.01  # a smaller gain in width is within the error of the comparison and not worth an assumption
WIDENING_LEVEL = 0.95  # of the intervals whose width allows for bias; other levels use the same factor
RANK_RTOL = 1e-9  # eigenvalues below this share of the largest are rounding
METHOD = "efficient"


@dataclass(frozen=True, slots=True, eq=False)
class ExclusionTest:
    """Whether models affect outcomes other than through their outputs.

    ``statistic`` is the score test of a model's effect given context and output. ``bias`` is the efficient minus the
    doubly robust estimate: an unbiased estimate of the bias of efficient values. If the direct effects of any two
    models differ by at most d on every output, the bias of model a is at most ``sensitivity[a] * d``.
    """

    statistic: float  # F distributed with ``df`` and ``residual_df``
    df: int  # number of models minus 1, or less if some models share no outputs; 0 if nothing can be tested
    residual_df: int
    p_value: float  # NaN if nothing can be tested
    bias: FloatArray  # (k,)
    bias_standard_error: FloatArray  # (k,)
    sensitivity: FloatArray  # (k,)

    def rejects(self, level: float = EXCLUSION_LEVEL) -> bool:
        """Whether there is evidence against the assumption, or none for it."""
        return not self.p_value >= level


@dataclass(frozen=True, slots=True, eq=False)
class EfficientValues:
    """Values, which of them use other models' outputs, and the test of the assumption behind them."""

    values: Values
    doubly_robust: Values  # without the assumption, from the same rows
    uses_shared_outputs: NDArray[np.bool_]  # (k,) False: the doubly robust weights
    widening: FloatArray  # (k,) factor on standard errors, in ``values``, for a bias that the test did not detect
    exclusion: ExclusionTest


def efficient(
    data: ScoredExperiment,
    output_probability: FloatArray,
    *,
    propensities: FloatArray | None = None,
    predictions: FloatArray | None = None,
    extra_q: FloatArray | None = None,
    reward_weight: float | None = None,
    level: float = EXCLUSION_LEVEL,
) -> EfficientValues:
    """Values that use shared outputs where this narrows intervals, unless the exclusion test rejects at ``level``.

    ``output_probability`` (n, k) is P(a | context, output) among the compared models, zero for rows of other models.
    ``propensities`` (n, k) are those of all models; without them they are inferred from the rows. ``predictions``
    (n, k) is the reward of each row's output had model a written it; None if the reward does not depend on the model.

    Where no outputs are shared the result equals ``tuned_doubly_robust`` exactly. Otherwise intervals allow for the
    bias that the test estimates (``widening``).
    """
    plain = tuned_doubly_robust(data, extra_q=extra_q, reward_weight=reward_weight)
    candidates = _Candidates.from_rows(data, output_probability, propensities, predictions, extra_q)
    everyone = np.ones(len(data.models), dtype=np.bool_)
    smoothed = tuned_values(candidates.terms(everyone), reward_weight, METHOD)
    exclusion = candidates.exclusion_test(_reward_weight(smoothed))
    uses = np.isfinite(plain.standard_error) & (smoothed.half_width() < (1 - MIN_NARROWING) * plain.half_width())
    if exclusion.rejects(level) or not uses.any():
        return EfficientValues(plain, plain, ~everyone, np.ones(len(data.models)), exclusion)
    values = smoothed if uses.all() else tuned_values(candidates.terms(uses), reward_weight, METHOD)
    widening = _widening(values, plain, exclusion, uses)
    values = replace(values, covariance=values.covariance * np.outer(widening, widening))
    return EfficientValues(values, plain, uses, widening, exclusion)


def _widening(values: Values, plain: Values, exclusion: ExclusionTest, uses: NDArray[np.bool_]) -> FloatArray:
    """Factor (k,) by which intervals of the models in ``uses`` must grow to cover in spite of the estimated bias.

        bias^2 = max(estimated bias^2 - its variance, 0)
        factor = quantile of |N(bias / standard error, 1)| / quantile of |N(0, 1)|

    Standard errors never become larger than the doubly robust ones.
    """
    from scipy.stats import chi2, ncx2  # takes a third of a second to import, and few evaluations come here

    squared_bias = np.maximum(exclusion.bias**2 - exclusion.bias_standard_error**2, 0.0)[uses]
    ratio = squared_bias / np.diag(values.covariance)[uses]
    quantile = np.where(ratio > 0, ncx2.ppf(WIDENING_LEVEL, 1, ratio), chi2.ppf(WIDENING_LEVEL, 1))
    limit = np.maximum(plain.standard_error[uses] / values.standard_error[uses], 1.0)
    widening = np.ones(len(uses))
    widening[uses] = np.clip(np.sqrt(quantile / chi2.ppf(WIDENING_LEVEL, 1)), 1.0, limit)
    return widening


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Both kinds of row weights of every model, and what is needed to estimate with either."""

    data: ScoredExperiment
    probability: FloatArray  # (n, k)
    indicator: FloatArray  # (n, k)
    propensities: FloatArray  # (n, k)
    predictions: FloatArray  # (n, k)
    base: InfluenceTerms  # with the doubly robust weights and each row's own prediction

    @classmethod
    def from_rows(
        cls,
        data: ScoredExperiment,
        output_probability: FloatArray,
        propensities: FloatArray | None,
        predictions: FloatArray | None,
        extra_q: FloatArray | None,
    ) -> _Candidates:
        indicator = assigned(data.model, len(data.models))
        if predictions is None:
            predictions = np.broadcast_to(data.prediction[:, None], indicator.shape)
        probability = np.asarray(output_probability, dtype=np.float64)
        predictions = np.asarray(predictions, dtype=np.float64)
        _require_probability(data, probability)
        _require_predictions(data, predictions, indicator)
        propensities = _require_propensities(data, propensities, indicator)
        base = InfluenceTerms.from_experiment(data, extra_rows(data, extra_q))
        return cls(data, probability, indicator, propensities, predictions, base)

    def terms(self, smoothed: NDArray[np.bool_]) -> InfluenceTerms:
        """Influence terms with smoothed weights for the models of the mask (k,) and indicators for the others."""
        probability = np.where(smoothed, self.probability, self.indicator)
        row_weight = self.data.weight[:, None] * probability / self.propensities
        weights = self.base.weights.with_row_weights(row_weight)
        outcome_influence = weights.influence(self.data.outcome)
        return replace(
            self.base,
            weights=weights,
            outcomes=outcome_means(weights, self.data.outcome, outcome_influence),
            mean_prediction=weights.mean(self.predictions),
            outcome_influence=outcome_influence,
            prediction_influence=weights.influence(self.predictions),
        )

    def exclusion_test(self, reward_weight: FloatArray) -> ExclusionTest:
        """Score test of the models' effects given context and output, and the estimated bias of efficient values.

            U_a = sum_j weight_j (1{model_j = a} - P_ja) residual_j

        Given context and output the difference has mean zero for any residual that is a function of them, and
        remains uncorrelated with the outcome under exclusion. The U_a sum to zero over the models.
        """
        everyone = np.ones(len(self.data.models), dtype=np.bool_)
        plain, smoothed = self.terms(~everyone), self.terms(everyone)
        bias = _mean_residual(smoothed, reward_weight) - _mean_residual(plain, reward_weight)
        influence = _residual_influence(smoothed, reward_weight) - _residual_influence(plain, reward_weight)
        statistic, df, residual_df = _score_statistic(self._scores(float(reward_weight.mean())))
        return ExclusionTest(
            statistic=statistic,
            df=df,
            residual_df=residual_df,
            p_value=float(fdtrc(df, residual_df, max(statistic, 0.0))) if df else np.nan,
            bias=bias,
            bias_standard_error=np.sqrt(influence.variance()),
            sensitivity=(smoothed.weights.weight * (1 - self.probability)).sum(axis=0),
        )

    def _scores(self, reward_weight: float) -> FloatArray:
        data = self.data
        # The prediction must not depend on the row's own model, so it is averaged over the models that may have written
        # the output.
        prediction = (self.probability * self.predictions).sum(axis=1)
        residual = data.outcome - reward_weight * prediction
        row_weight = data.weight * data.compared
        residual = residual - np.average(residual, weights=row_weight if row_weight.any() else None)
        scores = (row_weight * residual)[:, None] * (self.indicator - self.probability)
        # Given context and output, an assignment has mean zero in every row, so only rows that were assigned together
        # are correlated: those of a user at most, which is the first way of clustering.
        return self.base.weights.clusters.counted[0].sums(scores)


def _reward_weight(values: Values) -> FloatArray:
    return np.zeros(len(values.models)) if values.reward_weight is None else values.reward_weight


def _mean_residual(terms: InfluenceTerms, reward_weight: FloatArray) -> FloatArray:
    return terms.mean_outcome - reward_weight * terms.mean_prediction


def _residual_influence(terms: InfluenceTerms, reward_weight: FloatArray) -> Influence:
    return terms.outcome_influence - terms.prediction_influence.scaled(reward_weight)


def _score_statistic(scores: FloatArray) -> tuple[float, int, int]:
    """Hotelling's test that scores (n_clusters, k) have mean zero: F statistic and its two degrees of freedom.

        Q = S' C^+ S,      F = (G - r) / r * Q / (G - Q)

    S is the sum and C the uncentered second moment of the scores, r the rank of C and G the number of clusters with any
    score.
    """
    informative = scores[np.abs(scores).max(axis=1) > ROUNDING_ATOL]
    values, vectors = np.linalg.eigh(informative.T @ informative)
    positive = values > RANK_RTOL * max(float(values.max()), ROUNDING_ATOL)
    clusters, rank = len(informative), int(positive.sum())
    if rank == 0 or clusters <= rank:
        return 0.0, 0, 0
    projected = informative.sum(axis=0) @ vectors[:, positive]
    squared = float((projected**2 / values[positive]).sum())
    statistic = (clusters - rank) / rank * squared / max(clusters - squared, ROUNDING_ATOL)
    return statistic, rank, clusters - rank


def _require_probability(data: ScoredExperiment, probability: FloatArray) -> None:
    require_q_matrix(data.models, probability, "output_probability")
    if len(probability) != len(data.model):
        raise UsageError(f"output_probability has {len(probability)} rows and q has {len(data.q)}; they must agree.")
    require_finite({"output_probability": probability})
    total = probability.sum(axis=1)
    if (probability < -PROBABILITY_ATOL).any() or (np.abs(total - data.compared) > PROBABILITY_ATOL).any():
        raise UsageError(
            "output_probability must be at least 0 and sum to one over the models in every row, "
            "and to zero in rows of models that are not compared."
        )


def _require_predictions(data: ScoredExperiment, predictions: FloatArray, indicator: FloatArray) -> None:
    if predictions.shape != indicator.shape:
        raise UsageError(f"predictions must have shape {indicator.shape}, one column per model.")
    require_finite({"predictions": predictions})
    if not np.allclose(predictions[indicator > 0], data.prediction[data.compared]):
        raise UsageError("predictions of each row's own model must equal the experiment's prediction.")


def _require_propensities(data: ScoredExperiment, propensities: FloatArray | None, indicator: FloatArray) -> FloatArray:
    if propensities is None:
        propensities = propensities_by_model(data.model, data.propensity, len(data.models))
    if propensities is None:
        raise UsageError(
            "Efficient values need the propensity of every model in every row, and the propensities of the assigned "
            "models vary. Give all of them, or use doubly robust values."
        )
    propensities = np.asarray(propensities, dtype=np.float64)
    if propensities.shape != indicator.shape or not ((propensities > 0) & (propensities <= 1)).all():
        raise UsageError(f"propensities must lie in (0, 1] and have shape {indicator.shape}, one column per model.")
    own = propensities[indicator > 0]
    if not np.allclose(own, data.propensity[data.compared], rtol=PROPENSITY_RTOL):
        raise UsageError("propensities of the assigned models must equal the experiment's propensity.")
    return propensities

"""A router that needs only the prompt: distilled from the reward, calibrated on randomized outcomes, out of fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deconfound.crossfit import CrossFit, FoldFit
from deconfound.decide.calibration import CrossFittedPolicy, FoldCalibration, SlopeFit
from deconfound.design import FloatArray, IntArray
from deconfound.features.study_arrays import StudyArrays
from deconfound.policy_learning.distillation import LinearScores
from deconfound.policy_learning.outcome_correction import RatedPrompts, correction_coef
from deconfound.policy_learning.prompts import BUCKETS, Prompts
from deconfound.reward import Family
from deconfound.router.prompt_scores import PromptScores, StyleScale
from deconfound.value import ScoredExperiment

MIN_SLOPE_SE = 1.0  # standard errors by which a slope must exceed zero; the gain is tested afterwards, decision 0022
CONFIRMING_SE = 2.0
MAX_PROMPTS = 10_000  # of the replay, evenly spaced; a router of five hundred features learns little from more
NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PromptRouter:
    """Scores of prompts, before calibration."""

    scores: LinearScores
    style_scale: StyleScale

    @classmethod
    def learn(
        cls, prompts: Prompts, fit: FoldFit[Family], arrays: StudyArrays, rows: IntArray, held_out: IntArray
    ) -> Self:
        """Distil a fitted reward, then correct it by the outcomes of these experiment rows and of the log.

        Nothing is learned from the prompts ``held_out``. Equal prompts count once for the reward, with their mean q.
        """
        q = fit.reward.mean_by_cell(arrays.replay.rows(fit.surface_share))
        is_used = ~np.isin(prompts.of_context, held_out) & ~np.isnan(q).any(axis=1)
        used, at = np.unique(prompts.of_context[is_used], return_inverse=True)
        total = np.zeros((len(used), q.shape[1]))
        np.add.at(total, at, q[is_used])
        mean_q = total / np.bincount(at)[:, None]
        if len(used) > MAX_PROMPTS:
            part = np.linspace(0, len(used) - 1, MAX_PROMPTS).astype(np.int64)
            used, mean_q = used[part], mean_q[part]
        scale = prompts.style_scale(used)
        scores = LinearScores.fit(prompts.features(used, scale), mean_q)
        coef = correction_coef(
            _experiment_residuals(prompts, arrays, rows, scores, scale),
            _log_residuals(prompts, held_out, scores, scale),
            q.shape[1],
        )
        return cls(replace(scores, coef=scores.coef + coef), scale)

    def __call__(self, prompts: Prompts, contexts: IntArray) -> FloatArray:
        """Scores (n, k) of the prompts of these contexts."""
        return self.scores(prompts.features(prompts.of_context[contexts], self.style_scale))


def _experiment_residuals(
    prompts: Prompts, arrays: StudyArrays, rows: IntArray, scores: LinearScores, scale: StyleScale
) -> RatedPrompts:
    experiment = arrays.experiment
    compared = rows[experiment.model[rows] < arrays.replay.n_models]
    features = prompts.features(prompts.of_context[experiment.context[compared]], scale)
    return _residuals(features, experiment.model[compared], experiment.outcome[compared], scores)


def _log_residuals(prompts: Prompts, held_out: IntArray, scores: LinearScores, scale: StyleScale) -> RatedPrompts:
    rows = np.flatnonzero(~np.isin(prompts.log_prompt, held_out))
    features = prompts.features(prompts.log_prompt[rows], scale)
    return _residuals(features, prompts.log_model[rows], prompts.log_outcome[rows], scores)


def _residuals(features: FloatArray, model: IntArray, outcome: FloatArray, scores: LinearScores) -> RatedPrompts:
    return RatedPrompts(features, model, outcome - scores(features)[np.arange(len(model)), model])


def out_of_fold_scores(prompts: Prompts, fitted: CrossFit[Family], arrays: StudyArrays) -> FloatArray:
    """Scores (n, k) of each experiment row's prompt, by a router that has seen neither the row nor its prompt.

    The router of a fold learns from a reward that was fitted without the fold's outcomes and without the log's rows on
    its contexts, and from other prompts only.
    """
    context = arrays.experiment.context
    scores = np.empty((len(context), arrays.replay.n_models))
    for fold, fit in zip(fitted.folds, fitted.unseen_fits, strict=True):
        held_out = np.unique(prompts.of_context[context[fold.held_out]])
        train = fold.train[~np.isin(prompts.of_context[context[fold.train]], held_out)]
        router = PromptRouter.learn(prompts, fit, arrays, train, held_out)
        scores[fold.held_out] = router(prompts, context[fold.held_out])
    return scores


def cross_fitted_context_policy(
    data: ScoredExperiment, scores: FloatArray, fitted: CrossFit[Family]
) -> CrossFittedPolicy:
    """What the other folds would choose by the prompt alone.

        calibrated = value_a + slope * (score_a - mean score_a)

    Values and slope of a fold come from the other folds, as in ``CrossFittedPolicy.fit``; ``data.q`` is the reward of
    contexts that no log has seen.
    """
    calibrated, values = np.empty_like(scores), np.empty_like(scores)
    for fold in fitted.folds:
        train = data.take(fold.train)
        values[fold.held_out] = value = FoldCalibration.fit(train).value
        calibration = ScoreCalibration.fit(train, scores[fold.train])
        calibrated[fold.held_out] = value + calibration.slope * (scores[fold.held_out] - calibration.mean)
    return CrossFittedPolicy(calibrated, values)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCalibration:
    """How far randomized outcomes confirm differences of scores between prompts."""

    slope: float  # what counts of them, in [0, 1]
    mean: FloatArray  # (k,) mean score of each model
    confirmed: bool  # whether the slope is more than ``CONFIRMING_SE`` standard errors above zero

    @classmethod
    def fit(cls, data: ScoredExperiment, scores: FloatArray) -> Self:
        """Regress outcomes on the scores (n, k), which must be out of fold."""
        mean = np.average(scores, axis=0, weights=data.weight)
        fit = SlopeFit.from_experiment(replace(data, q=scores), mean)
        confirmed = bool(fit.slope > CONFIRMING_SE * fit.standard_error)
        return cls(fit.shrunken(MIN_SLOPE_SE), np.asarray(mean), confirmed)


def final_prompt_scores(
    router: PromptRouter, prompts: Prompts, data: ScoredExperiment, context: IntArray, slope: float, value: FloatArray
) -> PromptScores:
    """The calibrated router of all rows; ``value`` (k,) is net of cost, and the mean score over the experiment."""
    mean = np.average(router(prompts, context), axis=0, weights=data.weight)
    coef = slope * router.scores.coef
    return PromptScores(
        base=value + slope * (router.scores.intercept - mean),
        word_weight=coef[:BUCKETS],
        style_weight=coef[BUCKETS:],
        style_scale=router.style_scale,
    )

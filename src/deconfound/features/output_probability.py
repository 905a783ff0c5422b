"""The probability that each model wrote the output of an experiment row, given its context: P(a | context, output).

``exact_output_probability`` counts identical outputs among the replay's draws on the same context. Its weights are
exactly unbiased for any number of draws. ``classified_output_probability`` predicts the model from features of context
and output. It is approximate, and valid only if the features contain all that matters for the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from deconfound.data import TEXT_COLUMNS, Study
from deconfound.design import FeatureMatrix, FloatArray, Fold, IntArray, group_folds
from deconfound.design.storage import feature_matrix
from deconfound.errors import UsageError
from deconfound.features.distinct_rows import distinct_rows
from deconfound.features.study_arrays import StudyArrays
from deconfound.linalg import ridge

CLASSIFIER_FOLDS = 5
CLASSIFIER_SURFACE_SHARE = 0.5  # as for the proxies: text and surface statistics have equal weight
CLASSIFIER_PENALTIES = (0.1, 1.0, 10.0, 100.0)  # of ridge on features with mean square norm 2; log loss selects one
CALIBRATION_PENALTY = 1e-3  # per row; bounds the coefficients where the models' outputs can be separated perfectly


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs as numbers: who wrote what on which context. Equal codes of ``output`` are identical outputs."""

    context: IntArray  # (n,)
    model: IntArray  # (n,) from 0 to k - 1; anything else is a model that is not compared
    output: IntArray  # (n,)


def study_outputs(study: Study, arrays: StudyArrays) -> tuple[Outputs, Outputs]:
    """The outputs of experiment and replay, rows in the order of ``arrays``.

    Two outputs are identical if their text and all ``feature_*`` columns are, so whatever a column measures beyond the
    text, such as latency, counts as part of the output.
    """
    columns = (*(TEXT_COLUMNS if study.has_text else ()), *study.feature_names)
    tables = (study.experiment.arrow, study.replay.for_models(study.models).arrow)
    table = pa.concat_tables([one.select(list(columns)) for one in tables], promote_options="permissive")
    code = distinct_rows(table, study.has_text, study.feature_names).row_index
    experiment, replay = arrays.experiment, arrays.replay
    rows = len(experiment.model)
    return Outputs(experiment.context, experiment.model, code[:rows]), Outputs(
        replay.context, replay.model, code[rows:]
    )


def exact_output_probability(experiment: Outputs, replay: Outputs, propensities: FloatArray) -> FloatArray:
    """P(a | context, output) (n, k) from counts of identical outputs on the same context.

        P_ja proportional to e_ja T_a / N_a

    N_a is the number of draws of model a on the row's context: its replay draws and the outputs of other experiment
    rows. T_a is the number of them that equal the row's output, after one draw of the row's own model, chosen at
    random, was replaced by the row's output. The result is the mean over that choice. It is exactly unbiased:

        E[ P_ja / e_ja * g(output_j) | context ] = E[ g(output of model a) | context ]      for any function g

    because the row's output and the draws of its model are exchangeable. ``propensities`` is (n, k). A row of a model
    that is not compared gets zeros.
    """
    count = propensities.shape[1]
    compared = np.flatnonzero((experiment.model >= 0) & (experiment.model < count))
    model, row = experiment.model[compared], np.arange(len(compared))
    matches, draws = _counts(experiment, replay, compared, count)
    # The row itself is in both counts.
    matches[row, model] -= 1
    draws[row, model] -= 1
    if (draws < 1).any():
        raise UsageError("Every model needs a replayed output on every context of the experiment. Replay them.")
    own_share = matches[row, model] / draws[row, model]
    own = np.zeros(matches.shape)
    own[row, model] = 1.0
    probability = np.zeros(propensities.shape)
    propensities = propensities[compared]
    probability[compared] = (1 - own_share)[:, None] * _posterior(propensities, matches + own, draws)
    # With probability ``own_share`` the replaced draw equals the row's output, and the count does not change.
    repeated = np.flatnonzero(own_share > 0)
    unchanged = _posterior(propensities[repeated], matches[repeated], draws[repeated])
    probability[compared[repeated]] += own_share[repeated, None] * unchanged
    return probability


def _counts(experiment: Outputs, replay: Outputs, compared: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Draws of each model that equal each compared row's output, and all its draws on the context, both (n, k)."""
    context = np.concatenate([experiment.context[compared], replay.context])
    output = np.concatenate([experiment.output[compared], replay.output])
    model = np.concatenate([experiment.model[compared], replay.model])
    pair = np.unique(np.column_stack([context, output]), axis=0, return_inverse=True)[1].ravel()
    by_pair, by_context = (np.zeros((int(code.max(initial=-1)) + 1, count)) for code in (pair, context))
    np.add.at(by_pair, (pair, model), 1.0)
    np.add.at(by_context, (context, model), 1.0)
    rows = len(compared)
    return by_pair[pair[:rows]], by_context[context[:rows]]


def _posterior(propensities: FloatArray, matches: FloatArray, draws: FloatArray) -> FloatArray:
    joint = propensities * matches / draws
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def classified_output_probability(arrays: StudyArrays, propensities: FloatArray, seed: int = 0) -> FloatArray:
    """P(a | features of context and output) (n, k), learned from the replay without outcomes.

    Ridge regression of the models' indicators on phi gives k scores, and a multinomial logistic regression on the
    scores turns them into calibrated probabilities. Both are fitted on other contexts than those they are used on. The
    probabilities are then moved from the replay's shares of the models to the row's ``propensities`` (n, k).
    """
    replay, experiment, count = arrays.replay, arrays.experiment, len(arrays.models)
    replay_phi = feature_matrix(replay.blocks.phi(CLASSIFIER_SURFACE_SHARE)).take(replay.blocks.row_index)
    phi = feature_matrix(experiment.blocks.phi(CLASSIFIER_SURFACE_SHARE)).take(experiment.blocks.row_index)
    log_posterior = _cross_fitted_log_posterior(
        (replay_phi, replay.context, replay.model), (phi, experiment.context), count, seed
    )
    share = np.bincount(replay.model, minlength=count) / len(replay.model)
    probability = softmax(log_posterior + np.log(propensities / share), axis=1)
    compared = (experiment.model >= 0) & (experiment.model < count)
    return np.asarray(probability * compared[:, None])


def _cross_fitted_log_posterior(
    draws: tuple[FeatureMatrix, IntArray, IntArray], rows: tuple[FeatureMatrix, IntArray], count: int, seed: int
) -> FloatArray:
    """Log probability of each model under the replay's shares (n, k), each context scored by fits on other contexts."""
    (draw_phi, draw_context, draw_model), (phi, context) = draws, rows
    folds = group_folds(draw_context, CLASSIFIER_FOLDS, seed)
    if not folds:
        raise UsageError("A classifier of outputs needs replayed outputs on at least two contexts. Replay more.")
    target = np.asarray(draw_model[:, None] == np.arange(count), dtype=np.float64)
    fold_of_context = np.zeros(int(draw_context.max()) + 1, dtype=np.int64)
    for number, fold in enumerate(folds):
        fold_of_context[draw_context[fold.held_out]] = number
    best: tuple[float, FloatArray] = (np.inf, np.empty(0))
    for penalty in CLASSIFIER_PENALTIES:
        fits = [ridge(draw_phi.take(fold.train), target[fold.train], penalty) for fold in folds]
        held_out, scores = np.empty(target.shape), np.empty((len(context), count))
        for number, (fold, fit) in enumerate(zip(folds, fits, strict=True)):
            held_out[fold.held_out] = fit(draw_phi.take(fold.held_out))
            mine = np.flatnonzero(fold_of_context[context] == number)
            scores[mine] = fit(phi.take(mine))
        loss, log_posterior = _calibrate(held_out, draw_model, folds, scores, fold_of_context[context])
        if loss < best[0]:
            best = loss, log_posterior
    return best[1]


def _calibrate(
    held_out: FloatArray, model: IntArray, folds: tuple[Fold, ...], scores: FloatArray, fold_of_row: IntArray
) -> tuple[float, FloatArray]:
    """Held-out log loss of the calibrated draws, and calibrated log probabilities of the rows."""
    loss, log_posterior = 0.0, np.empty(scores.shape)
    for number, fold in enumerate(folds):
        coef = _fit_logistic(held_out[fold.train], model[fold.train])
        on_draws = log_softmax(_with_intercept(held_out[fold.held_out]) @ coef, axis=1)
        loss -= float(on_draws[np.arange(len(fold.held_out)), model[fold.held_out]].sum())
        mine = fold_of_row == number
        log_posterior[mine] = log_softmax(_with_intercept(scores[mine]) @ coef, axis=1)
    return loss / len(model), log_posterior


def _fit_logistic(scores: FloatArray, model: IntArray) -> FloatArray:
    """Coefficients (k + 1, k) of a multinomial logistic regression with a small ridge penalty."""
    features, count = _with_intercept(scores), scores.shape[1]
    target = np.asarray(model[:, None] == np.arange(count), dtype=np.float64)

    def loss_and_gradient(flat: FloatArray) -> tuple[float, FloatArray]:
        coef = flat.reshape(-1, count)
        log_probability = log_softmax(features @ coef, axis=1)
        loss = -(target * log_probability).sum() / len(model) + CALIBRATION_PENALTY / 2 * (coef**2).sum()
        gradient = features.T @ (np.exp(log_probability) - target) / len(model) + CALIBRATION_PENALTY * coef
        return float(loss), gradient.ravel()

    start = np.vstack([np.eye(count), np.zeros(count)])
    return np.asarray(minimize(loss_and_gradient, start.ravel(), jac=True, method="L-BFGS-B").x).reshape(-1, count)


def _with_intercept(scores: FloatArray) -> FloatArray:
    return np.column_stack([scores, np.ones(len(scores))])

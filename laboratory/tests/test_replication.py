"""Scores of a replication against the same numbers computed with plain fits and loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.batch_prediction import ReplayFeatures
from deconfound_bench.gram_rows import gram_store_by_eigh
from deconfound_bench.replication import FOLDS, Candidate, Replication, Truth, score_candidates
from deconfound_bench.results import Cell
from scipy import sparse

from deconfound.design import Rows, group_folds
from deconfound.reward import FAMILIES, Auto, Cvci, Grounded, ObsOnly, TrainingData
from deconfound.tune import tune

TRAIN_CONTEXTS, TEST_CONTEXTS, MODELS, DRAWS = 10, 6, 5, 2
LOG_ROWS, EXPERIMENT_ROWS = 400, 30
MODIFIERS = 4
SEED = 4


class Study:
    """One small draw as plain sparse rows, and the same draw as a replication on stored rows.

    Models differ in how their outcomes depend on the modifiers, so that ``auto`` has something to find there.
    """

    def __init__(self, *, modified: bool = True) -> None:
        rng = np.random.default_rng(0)
        train, test = TRAIN_CONTEXTS * MODELS * DRAWS, TEST_CONTEXTS * MODELS * DRAWS
        phi = sparse.random(train + test, 300, density=0.06, random_state=rng, format="csr")
        self.phi, self.test_phi = phi[:train], phi[train:]
        self.psi, self.test_psi = rng.standard_normal((train, 3)), rng.standard_normal((test, 3))
        self.row = np.arange(train).reshape(TRAIN_CONTEXTS, MODELS, DRAWS)
        self.test_row = np.arange(test).reshape(TEST_CONTEXTS, MODELS, DRAWS)
        self.modifiers, self.test_modifiers = (
            np.repeat(rng.standard_normal((contexts, MODIFIERS)), MODELS * DRAWS, axis=0) / np.sqrt(MODIFIERS)
            for contexts in (TRAIN_CONTEXTS, TEST_CONTEXTS)
        )
        self.slope = 0.4 * rng.standard_normal((MODELS, MODIFIERS))
        log = rng.integers(train, size=LOG_ROWS)
        log_model = log // DRAWS % MODELS
        log_outcome = self.outcomes(log, log_model, rng)
        log_modifiers = self.modifiers[log] if modified else None
        self.log = Rows(self.phi[log], self.psi[log], log_outcome, log_model, modifiers=log_modifiers)
        self.context = rng.integers(TRAIN_CONTEXTS, size=EXPERIMENT_ROWS)
        self.model = rng.integers(MODELS, size=EXPERIMENT_ROWS)
        self.output = self.row[self.context, self.model, rng.integers(DRAWS, size=EXPERIMENT_ROWS)]
        self.outcome = self.outcomes(self.output, self.model, rng)
        self.truth = Truth(rng.random((TEST_CONTEXTS, MODELS)), rng.random(MODELS))
        kernel = (phi @ phi.T).toarray()
        store, placement = gram_store_by_eigh(kernel[:train, :train])
        self.replication = Replication(
            tuple("abcde"),
            Rows(store.rows(log), self.psi[log], log_outcome, log_model, modifiers=log_modifiers),
            Rows(
                store.rows(self.output),
                self.psi[self.output],
                self.outcome,
                self.model,
                context=self.context,
                modifiers=self.modifiers[self.output] if modified else None,
            ),
            self.output,
            ReplayFeatures(store.coordinates, self.psi, self.modifiers, self.row),
            ReplayFeatures(kernel[train:, :train] @ placement, self.test_psi, self.test_modifiers, self.test_row),
            self.truth,
        )

    def outcomes(self, row, model, rng):
        by_context = np.einsum("ij,ij->i", self.modifiers[row], self.slope[model])
        return np.clip(0.5 + by_context + 0.1 * rng.standard_normal(len(row)), 0.0, 1.0)

    def experiment(self, rows):
        output = self.output[rows]
        return Rows(
            self.phi[output],
            self.psi[output],
            self.outcome[rows],
            self.model[rows],
            context=self.context[rows],
            modifiers=self.modifiers[output],
        )

    def score(self, candidates, size):
        return score_candidates(self.replication, candidates, "twin", Cell(0.0, LOG_ROWS, size, "plain"), SEED)


@pytest.fixture(scope="module")
def study():
    return Study()


def rmse(estimate, truth):
    return np.sqrt(np.mean((estimate - truth) ** 2))


@pytest.mark.parametrize("size", [12, 30])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_scores_agree_with_plain_fits_and_loops(study, family, size):
    (score,) = study.score([Candidate(family())], size)
    tuned = tune(family(), study.log, study.experiment(np.arange(size)), seed=SEED)
    chosen = score.hyperparameters
    assert (chosen.penalty, chosen.mode) == (tuned.estimator.penalty, tuned.mode)

    reward = tuned.fit.predict(Rows(study.test_phi, study.test_psi))
    q = np.array([[np.mean(reward[study.test_row[x, a]]) for a in range(MODELS)] for x in range(TEST_CONTEXTS)])
    regret = [study.truth.q[x].max() - study.truth.q[x, np.argmax(q[x])] for x in range(TEST_CONTEXTS)]
    assert score.regret == pytest.approx(np.mean(regret), abs=1e-12)
    assert score.rmse_context == pytest.approx(rmse(q, study.truth.q), abs=1e-9)
    value = q.mean(axis=0)
    assert score.rmse_model_direct == pytest.approx(rmse(value, study.truth.value), abs=1e-9)
    assert score.top1 == float(np.argmax(value) == np.argmax(study.truth.value))
    assert score.top3 == len(set(np.argsort(-value)[:3]) & set(np.argsort(-study.truth.value)[:3])) / 3
    robust = doubly_robust_by_hand(study, tuned.estimator, size, value)
    assert score.rmse_model_dr == pytest.approx(rmse(robust, study.truth.value), abs=1e-9)


def doubly_robust_by_hand(study, estimator, size, value):
    """The paper's main equation row by row; each row is predicted by a fit without its fold."""
    correction = np.zeros(MODELS)
    for fold in group_folds(study.context[:size], FOLDS, SEED):
        fit = estimator.fit(study.log, study.experiment(fold.train))
        for j in fold.held_out:
            correction[study.model[j]] += MODELS * (study.outcome[j] - fit.predict(study.experiment([j]))[0])
    return value + correction / size


@pytest.mark.parametrize("size", [12, 30])
def test_auto_agrees_with_a_plain_fit_and_its_predictions(study, size):
    """Its variance components must not come from the larger experiment, of which the cell has the first rows.

    The tolerance is that of a likelihood maximized from other rounding errors.
    """
    (score,) = study.score([Candidate(Auto())], size)
    estimator = Auto().resolve(TrainingData(study.log, study.experiment(np.arange(size))))
    fit = estimator.fit(study.log, study.experiment(np.arange(size)))
    q = q_by_hand(study, fit)
    regret = [study.truth.q[x].max() - study.truth.q[x, np.argmax(q[x])] for x in range(TEST_CONTEXTS)]
    assert score.regret == pytest.approx(np.mean(regret), abs=1e-12)
    assert score.rmse_context == pytest.approx(rmse(q, study.truth.q), abs=1e-6)
    value = q.mean(axis=0)
    assert score.rmse_model_direct == pytest.approx(rmse(value, study.truth.value), abs=1e-6)
    robust = doubly_robust_by_hand(study, estimator, size, value)
    assert score.rmse_model_dr == pytest.approx(rmse(robust, study.truth.value), abs=1e-6)
    for part in ("model_effect", "modifier_coef"):
        without = q_by_hand(study, replace(fit, **{part: None}))
        assert abs(rmse(without, study.truth.q) - score.rmse_context) > 1e-4


def q_by_hand(study, fit):
    """Every draw of every model on every test context, one at a time."""
    q = np.zeros((TEST_CONTEXTS, MODELS))
    for (x, a, _), row in np.ndenumerate(study.test_row):
        rows = Rows(study.test_phi[[row]], study.test_psi[[row]], None, [a], modifiers=study.test_modifiers[[row]])
        q[x, a] += fit.predict(rows)[0] / DRAWS
    return q


def test_modifiers_change_no_bit_of_the_six_families_of_the_paper():
    """They change ``auto`` only."""
    candidates = [Candidate(family()) for family in (*FAMILIES, Auto)]
    scores = [
        [replace(score, seconds=0.0) for score in Study(modified=modified).score(candidates, 30)]
        for modified in (True, False)
    ]
    assert scores[0][:-1] == scores[1][:-1]
    assert scores[0][-1] != scores[1][-1]


def test_a_fixed_candidate_is_used_without_tuning(study):
    fixed = Cvci(0.5, 1.0)
    (score,) = study.score([Candidate(fixed, tuned=False)], 30)
    chosen = score.hyperparameters
    assert (chosen.pooling, chosen.penalty, chosen.mode) == (0.5, 1.0, "fixed")
    fit = fixed.fit(study.log, study.experiment(np.arange(30)))
    q = fit.predict(Rows(study.test_phi, study.test_psi))[study.test_row].mean(axis=2)
    assert score.rmse_context == pytest.approx(rmse(q, study.truth.q), abs=1e-9)


def test_scores_do_not_depend_on_the_other_candidates():
    """Otherwise an interrupted and resumed sweep would give other bits."""
    candidates = [Candidate(family()) for family in FAMILIES]
    together = {score.family: score for score in Study().score(candidates, 12)}
    for candidate in candidates:
        (alone,) = Study().score([candidate], 12)
        for metric in ("regret", "rmse_context", "rmse_model_dr"):
            assert getattr(alone, metric) == getattr(together[alone.family], metric)


def test_baselines_with_different_penalties_are_not_confused(study):
    """Products with the log's baseline are cached by its penalty."""
    families = [Grounded(strength=0.0, log_penalty=penalty) for penalty in (0.1, 10.0)]
    candidates = [Candidate(family, tuned=False) for family in families]
    together = [score.rmse_context for score in study.score(candidates, 12)]
    assert together == [study.score([candidate], 12)[0].rmse_context for candidate in candidates]
    assert together[0] != together[1]


def test_obs_only_does_not_depend_on_the_experiment_except_in_doubly_robust_values(study):
    few, many = (study.score([Candidate(ObsOnly())], size)[0] for size in (12, 30))
    for metric in ("regret", "rmse_context", "rmse_model_direct"):
        assert getattr(few, metric) == getattr(many, metric)
    assert few.rmse_model_dr != many.rmse_model_dr

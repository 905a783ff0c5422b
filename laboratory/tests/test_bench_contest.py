"""Marks of a contest against the same numbers worked out the long way."""

from __future__ import annotations

import numpy as np
import pytest
from deconfound_bench.contest import Contest, Replayed, Truth, compete
from deconfound_bench.entries import FOLDS, Contender
from deconfound_bench.gram_rows import gram_store_by_eigh
from scipy import sparse

from deconfound.design import Rows, group_folds
from deconfound.reward import FAMILIES, Cvci, ObsOnly, TrainingData
from deconfound.tune import tune

CONTEXTS, FRESH, MODELS, DRAWS = 10, 6, 5, 2
SEED = 4


class Study:
    """One small draw in plain sparse rows, and the same as a contest on stored rows."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        inside, outside = CONTEXTS * MODELS * DRAWS, FRESH * MODELS * DRAWS
        phi = sparse.random(inside + outside, 300, density=0.06, random_state=rng, format="csr")
        self.phi, self.fresh = phi[:inside], phi[inside:]
        self.psi, self.fresh_psi = rng.standard_normal((inside, 3)), rng.standard_normal((outside, 3))
        self.row = np.arange(inside).reshape(CONTEXTS, MODELS, DRAWS)
        self.fresh_row = np.arange(outside).reshape(FRESH, MODELS, DRAWS)
        log = rng.integers(inside, size=400)
        self.log = Rows(self.phi[log], self.psi[log], rng.random(400))
        self.context, self.model = rng.integers(CONTEXTS, size=30), rng.integers(MODELS, size=30)
        self.drawn = self.row[self.context, self.model, rng.integers(DRAWS, size=30)]
        self.outcome = rng.random(30)
        self.experiment = self.rows(np.arange(30))
        self.truth = Truth(rng.random((FRESH, MODELS)), rng.random(MODELS))
        kernel = (phi @ phi.T).toarray()
        store, place = gram_store_by_eigh(kernel[:inside, :inside])
        stored_log = Rows(store.rows(log), self.psi[log], self.log.require_outcome())
        stored = Rows(store.rows(self.drawn), self.psi[self.drawn], self.outcome, self.model, context=self.context)
        self.contest = Contest(
            tuple("abcde"),
            TrainingData(stored_log, stored),
            self.drawn,
            Replayed(store.coordinates, self.psi, self.row),
            Replayed(kernel[inside:, :inside] @ place, self.fresh_psi, self.fresh_row),
            self.truth,
        )

    def rows(self, at):
        drawn = self.drawn[at]
        return Rows(self.phi[drawn], self.psi[drawn], self.outcome[at], self.model[at], context=self.context[at])


@pytest.fixture(scope="module")
def study():
    return Study()


@pytest.mark.parametrize("size", [12, 30])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_marks_agree_with_plain_fits_and_loops(study, family, size):
    mark = compete(study.contest, [Contender.of(family())], size, SEED)[0]
    tuned = tune(family(), study.log, study.rows(np.arange(size)), seed=SEED)
    assert (mark.choice.penalty, mark.choice.mode) == (tuned.estimator.penalty, tuned.mode)

    reward = tuned.fit.predict(Rows(study.fresh, study.fresh_psi))
    q = np.array([[np.mean(reward[study.fresh_row[x, a]]) for a in range(MODELS)] for x in range(FRESH)])
    best = [study.truth.q[x].max() - study.truth.q[x, np.argmax(q[x])] for x in range(FRESH)]
    assert mark.regret == pytest.approx(np.mean(best), abs=1e-12)
    assert mark.rmse_context == pytest.approx(np.sqrt(np.mean((q - study.truth.q) ** 2)), abs=1e-9)
    value = q.mean(axis=0)
    assert mark.rmse_model_direct == pytest.approx(np.sqrt(np.mean((value - study.truth.value) ** 2)), abs=1e-9)
    assert mark.top1 == float(np.argmax(value) == np.argmax(study.truth.value))
    assert mark.top3 == len(set(np.argsort(-value)[:3]) & set(np.argsort(-study.truth.value)[:3])) / 3
    robust = doubly_robust_by_hand(study, tuned.estimator, size, value)
    assert mark.rmse_model_dr == pytest.approx(np.sqrt(np.mean((robust - study.truth.value) ** 2)), abs=1e-9)


def doubly_robust_by_hand(study, estimator, size, value):
    """The paper's main equation, row by row, every row judged by a fit without its fold."""
    correction = np.zeros(MODELS)
    for fold in group_folds(study.context[:size], FOLDS, SEED):
        fit = estimator.fit(study.log, study.rows(fold.train))
        reward = fit.predict(Rows(study.phi, study.psi))
        for j in fold.held_out:
            correction[study.model[j]] += MODELS * (study.outcome[j] - reward[study.drawn[j]])
    return value + correction / size


def test_a_single_candidate_is_taken_as_it_is(study):
    fixed = Cvci(0.5, 1.0)
    mark = compete(study.contest, [Contender(fixed, (fixed,))], 30, SEED)[0]
    assert (mark.choice.pooling, mark.choice.penalty, mark.choice.mode) == (0.5, 1.0, "fixed")
    fit = fixed.fit(study.log, study.experiment)
    reward = fit.predict(Rows(study.fresh, study.fresh_psi))
    q = reward[study.fresh_row].mean(axis=2)
    assert mark.rmse_context == pytest.approx(np.sqrt(np.mean((q - study.truth.q) ** 2)), abs=1e-9)


def test_marks_do_not_depend_on_who_else_competes():
    """What is left to do after an interruption must not change a bit of it."""
    everyone = [Contender.of(family()) for family in FAMILIES]
    together = {mark.family: mark for mark in compete(Study().contest, everyone, 12, SEED)}
    for one in everyone:
        alone = compete(Study().contest, [one], 12, SEED)[0]
        assert alone.regret == together[alone.family].regret
        assert alone.rmse_context == together[alone.family].rmse_context
        assert alone.rmse_model_dr == together[alone.family].rmse_model_dr


def test_the_log_alone_is_the_same_whatever_the_experiment(study):
    few, many = (compete(study.contest, [Contender.of(ObsOnly())], size, SEED)[0] for size in (12, 30))
    assert (few.regret, few.rmse_context, few.rmse_model_direct) == (
        many.regret,
        many.rmse_context,
        many.rmse_model_direct,
    )
    assert few.rmse_model_dr != many.rmse_model_dr

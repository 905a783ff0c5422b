"""The data-generating process of the controlled validation follows its formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.synthetic import dgp as process
from deconfound_bench.synthetic.constants import GRID, grid_cells, targeted_cells
from deconfound_bench.synthetic.draws import draw_experiment, draw_log
from deconfound_bench.synthetic.pool import LatentPool
from scipy import sparse

SETTING = replace(GRID, embedding=6, labels=5)
MODELS = 7


@pytest.fixture
def dgp():
    return process.draw_dgp(SETTING, MODELS)


@pytest.fixture
def pool():
    """Twelve contexts, two draws per model, standardized phi* and embeddings."""
    rng = np.random.default_rng(3)
    row = np.arange(12 * MODELS * 2).reshape(12, MODELS, 2)
    return LatentPool(
        row, rng.standard_normal((row.size, SETTING.hidden)), rng.standard_normal((12, SETTING.embedding))
    )


def test_the_true_reward_is_the_mean_outcome_over_users_and_noise(dgp, pool):
    """Brute force with 200,000 users and noises per row.

    The standard deviation of an outcome is below 0.125, so a mean of 200,000 differs from its expectation by more than
    five standard errors, 0.0014, with probability below 1e-6.
    """
    rng, draws = np.random.default_rng(0), 200_000
    context = pool.context_of_row()
    expected = process.true_reward(dgp, pool.latent, pool.embedding[context])
    for row in (0, 5, 77, 160):
        embedding = np.repeat(pool.embedding[[context[row]]], draws, axis=0)
        user = process.latent_users(dgp, embedding, rng.standard_normal((draws, SETTING.users)))
        latent = np.repeat(pool.latent[[row]], draws, axis=0)
        outcome = process.outcomes(dgp, latent, user, rng.standard_normal(draws))
        assert outcome.std() < 0.125
        assert abs(outcome.mean() - expected[row]) < 0.0014


def test_the_quadrature_has_converged(dgp, pool, monkeypatch):
    embedding = pool.embedding[pool.context_of_row()]
    expected = process.true_reward(dgp, pool.latent, embedding)
    monkeypatch.setattr(process, "QUADRATURE_NODES", 90)
    np.testing.assert_allclose(process.true_reward(dgp, pool.latent, embedding), expected, atol=1e-12)


def test_a_user_has_unit_variance_and_the_context_explains_its_share(dgp):
    rng = np.random.default_rng(1)
    embedding = rng.standard_normal((400_000, SETTING.embedding))
    user = process.latent_users(dgp, embedding, rng.standard_normal((400_000, SETTING.users)))
    np.testing.assert_allclose(user.var(axis=0), 1.0, atol=0.02)
    explained = (embedding @ dgp.user_mean.T).var(axis=0)
    np.testing.assert_allclose(explained, SETTING.user_context, atol=0.01)


def test_the_projection_adds_each_column_to_one_coordinate_with_a_sign():
    columns = process.project_to_latent(sparse.identity(500, format="csr"), SETTING)
    assert columns.shape == (500, SETTING.hidden)
    assert (np.count_nonzero(columns, axis=1) == 1).all()
    assert set(np.unique(columns)) == {-1.0, 0.0, 1.0}
    # Each coordinate gets 62.5 columns on average; 30 is more than four standard deviations below.
    assert (np.count_nonzero(columns, axis=0) > 30).all()


def test_policies_are_probabilities_and_the_shortlist_has_the_highest_affinities(dgp):
    rng = np.random.default_rng(2)
    by_context = process.context_policy(dgp, rng.standard_normal((50, SETTING.embedding)))
    user = rng.standard_normal((50, SETTING.users))
    by_user = process.user_policy(dgp, user)
    for policy in (by_context, by_user):
        np.testing.assert_allclose(policy.sum(axis=1), 1.0, atol=1e-12)
    affinity = user @ dgp.affinity.T
    for row in range(50):
        shortlist = np.flatnonzero(by_user[row])
        assert len(shortlist) == SETTING.shortlist
        assert affinity[row, shortlist].min() > np.delete(affinity[row], shortlist).max()


def test_models_are_chosen_with_the_given_probabilities():
    """Each frequency of 100,000 choices is within five standard errors, at most 0.008, up to probability 1e-6."""
    rng = np.random.default_rng(4)
    policy = np.array([0.05, 0.0, 0.5, 0.45])
    chosen = process.choose_models(np.tile(policy, (100_000, 1)), rng.random(100_000))
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / 100_000, policy, atol=0.008)
    assert not (chosen == 1).any()
    assert process.choose_models(policy[None], np.array([1.0]))[0] == 3


def test_the_log_mixes_both_policies_in_the_stated_proportion(dgp, pool):
    """Frequencies of 60,000 choices against the mixture averaged over contexts and users, to five standard errors."""
    rows, confounding = 60_000, 0.7
    log = draw_log(dgp, pool, confounding, rows, rows, seed=8)
    rng = np.random.default_rng(9)
    context = rng.integers(12, size=rows)
    user = process.latent_users(dgp, pool.embedding[context], rng.standard_normal((rows, SETTING.users)))
    mixture = (1 - confounding) * process.context_policy(dgp, pool.embedding)[context].mean(axis=0)
    mixture = mixture + confounding * process.user_policy(dgp, user).mean(axis=0)
    np.testing.assert_allclose(np.bincount(log.model, minlength=MODELS) / rows, mixture, atol=5 * 0.5 / 200)


def test_confounding_changes_outcomes_only_through_the_choice(dgp, pool):
    """Where two logs of one seed chose the same output, outcome and labels are equal."""
    weak, strong = (draw_log(dgp, pool, confounding, 3_000, 3_000, seed=1) for confounding in (0.0, 0.99))
    same = weak.row == strong.row
    assert 0.02 < same.mean() < 0.6
    np.testing.assert_array_equal(weak.outcome[same], strong.outcome[same])
    np.testing.assert_array_equal(weak.labels[same], strong.labels[same])


def test_without_confounding_the_choice_is_independent_of_the_user(dgp, pool):
    """Without confounding a model's mean outcome is its mean reward; with confounding some model's is far off.

    Each model has about 20,000 rows and outcomes with a standard deviation below 0.25, so five standard errors are
    0.009. Outcomes are compared with the reward of the rows on which the model was chosen.
    """

    def bias(confounding):
        log = draw_log(dgp, pool, confounding, 140_000, 140_000, seed=2)
        reward = process.true_reward(dgp, pool.latent, pool.embedding[pool.context_of_row()])[log.row]
        count = np.bincount(log.model, minlength=MODELS)
        return np.bincount(log.model, weights=log.outcome - reward, minlength=MODELS) / count

    assert np.abs(bias(0.0)).max() < 0.011
    assert np.abs(bias(0.99)).max() > 0.03


def test_a_shorter_log_is_the_start_of_a_longer_one(dgp, pool):
    long, short = (draw_log(dgp, pool, 0.5, rows, 1_000, seed=3) for rows in (1_000, 100))
    np.testing.assert_array_equal(long.row[:100], short.row)
    np.testing.assert_array_equal(long.outcome[:100], short.outcome)


def test_the_experiment_assigns_models_uniformly_and_independently_of_the_user(dgp, pool):
    """Frequencies of 70,000 draws and mean residuals per model, to five standard errors."""
    experiment = draw_experiment(dgp, pool, 70_000, seed=5)
    np.testing.assert_allclose(np.bincount(experiment.model) / 70_000, 1 / MODELS, atol=0.007)
    reward = process.true_reward(dgp, pool.latent, pool.embedding[pool.context_of_row()])[experiment.row]
    residual = np.bincount(experiment.model, weights=experiment.outcome - reward) / np.bincount(experiment.model)
    assert np.abs(residual).max() < 0.0125
    np.testing.assert_array_equal(pool.context_of_row()[experiment.row], experiment.context)


def test_equal_seeds_give_equal_draws_and_different_seeds_different_ones(dgp, pool):
    first, again, other = (draw_experiment(dgp, pool, 200, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.outcome, again.outcome)
    assert not np.array_equal(first.outcome, other.outcome)


def test_the_grid_is_that_of_the_paper():
    cells = grid_cells()
    assert len(cells) == len(set(cells)) == 24
    assert {cell.confounding for cell in cells} == {0.0, 0.2, 0.5, 0.8, 0.9, 0.99}
    assert {(cell.n_log, cell.n_experiment) for cell in cells} == {
        (2_000, 20),
        (2_000, 100),
        (20_000, 20),
        (20_000, 100),
    }
    assert [cell.n_experiment for cell in targeted_cells()] == [400, 800, 1_600, 3_200]

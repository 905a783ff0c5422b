"""The law of the controlled validation does what its formulas say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.synthetic import law as laws
from deconfound_bench.synthetic.constants import GRID, grid_cells, targeted_cells
from deconfound_bench.synthetic.draws import Written, draw_experiment, draw_log
from scipy import sparse

SETTING = replace(GRID, embedding=6, labels=5)
MODELS = 7


@pytest.fixture
def law():
    return laws.make_law(SETTING, MODELS)


@pytest.fixture
def written():
    """Twelve contexts, two draws a cell, standardised phi* and embeddings."""
    rng = np.random.default_rng(3)
    row = np.arange(12 * MODELS * 2).reshape(12, MODELS, 2)
    return Written(row, rng.standard_normal((row.size, SETTING.hidden)), rng.standard_normal((12, SETTING.embedding)))


def test_the_true_reward_is_what_users_say_on_average(law, written):
    """Brute force: 200,000 users and noises a row.

    An outcome's standard deviation is at most one half, so a mean of 200,000 is off by more than five standard errors,
    0.0056, with probability below 1e-6; its true standard deviation here is near 0.12, which makes 0.0014 the tighter
    bound that is used.
    """
    rng, draws = np.random.default_rng(0), 200_000
    context = written.context()
    expected = laws.true_reward(law, written.hidden, written.embedding[context])
    for row in (0, 5, 77, 160):
        embedding = np.repeat(written.embedding[[context[row]]], draws, axis=0)
        user = laws.users(law, embedding, rng.standard_normal((draws, SETTING.users)))
        hidden = np.repeat(written.hidden[[row]], draws, axis=0)
        said = laws.outcomes(law, hidden, user, rng.standard_normal(draws))
        assert said.std() < 0.125
        assert abs(said.mean() - expected[row]) < 0.0014


def test_quadrature_has_converged(law, written, monkeypatch):
    embedding = written.embedding[written.context()]
    expected = laws.true_reward(law, written.hidden, embedding)
    monkeypatch.setattr(laws, "NODES", 90)
    np.testing.assert_allclose(laws.true_reward(law, written.hidden, embedding), expected, atol=1e-12)


def test_a_user_has_unit_variance_of_which_the_context_explains_its_share(law):
    rng = np.random.default_rng(1)
    embedding = rng.standard_normal((400_000, SETTING.embedding))
    user = laws.users(law, embedding, rng.standard_normal((400_000, SETTING.users)))
    np.testing.assert_allclose(user.var(axis=0), 1.0, atol=0.02)
    explained = (embedding @ law.taste.T).var(axis=0)
    np.testing.assert_allclose(explained, SETTING.user_context, atol=0.01)


def test_the_projection_throws_each_column_into_one_coordinate_with_a_sign():
    columns = laws.project(sparse.identity(500, format="csr"), SETTING)
    assert columns.shape == (500, SETTING.hidden)
    assert (np.count_nonzero(columns, axis=1) == 1).all()
    assert set(np.unique(columns)) == {-1.0, 0.0, 1.0}
    # Each coordinate gets 62.5 columns on average; 30 is more than four standard deviations below.
    assert (np.count_nonzero(columns, axis=0) > 30).all()


def test_policies_are_probabilities_and_the_shortlist_holds_the_best_liked(law):
    rng = np.random.default_rng(2)
    by_context = laws.context_policy(law, rng.standard_normal((50, SETTING.embedding)))
    user = rng.standard_normal((50, SETTING.users))
    by_user = laws.user_policy(law, user)
    for policy in (by_context, by_user):
        np.testing.assert_allclose(policy.sum(axis=1), 1.0, atol=1e-12)
    liking = user @ law.affinity.T
    for row in range(50):
        listed = np.flatnonzero(by_user[row])
        assert len(listed) == SETTING.shortlist
        assert liking[row, listed].min() > np.delete(liking[row], listed).max()


def test_choices_come_with_the_probabilities_they_were_given():
    """Each frequency of 100,000 choices is within five standard errors, at most 0.008, but for 1 in a million."""
    rng = np.random.default_rng(4)
    policy = np.array([0.05, 0.0, 0.5, 0.45])
    chosen = laws.choose(np.tile(policy, (100_000, 1)), rng.random(100_000))
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / 100_000, policy, atol=0.008)
    assert not (chosen == 1).any()
    assert laws.choose(policy[None], np.array([1.0]))[0] == 3


def test_the_log_mixes_both_policies_in_the_stated_proportion(law, written):
    """Frequencies of 60,000 choices against the mixture averaged over contexts and users, to five standard errors."""
    rows, confounding = 60_000, 0.7
    logged = draw_log(law, written, confounding, rows, rows, seed=8)
    rng = np.random.default_rng(9)
    context = rng.integers(12, size=rows)
    user = laws.users(law, written.embedding[context], rng.standard_normal((rows, SETTING.users)))
    mixture = (1 - confounding) * laws.context_policy(law, written.embedding)[context].mean(axis=0)
    mixture = mixture + confounding * laws.user_policy(law, user).mean(axis=0)
    np.testing.assert_allclose(np.bincount(logged.model, minlength=MODELS) / rows, mixture, atol=5 * 0.5 / 200)


def test_confounding_moves_outcomes_only_through_the_choice(law, written):
    """Where two logs chose the same output, paired luck gives the same outcome; where they did not, another."""
    calm, strong = (draw_log(law, written, confounding, 3_000, 3_000, seed=1) for confounding in (0.0, 0.99))
    same = calm.row == strong.row
    assert 0.02 < same.mean() < 0.6
    np.testing.assert_array_equal(calm.outcome[same], strong.outcome[same])
    np.testing.assert_array_equal(calm.labels[same], strong.labels[same])


def test_without_confounding_the_choice_says_nothing_of_the_user(law, written):
    """A model's mean outcome in a calm log is its mean reward there; in a confounded one some model's is far off.

    Each model has about 20,000 rows and outcomes with a standard deviation below 0.25, so five standard errors are
    0.009; models are compared by the reward of the rows they were really chosen on.
    """

    def bias(confounding):
        logged = draw_log(law, written, confounding, 140_000, 140_000, seed=2)
        reward = laws.true_reward(law, written.hidden, written.embedding[written.context()])[logged.row]
        count = np.bincount(logged.model, minlength=MODELS)
        return np.bincount(logged.model, weights=logged.outcome - reward, minlength=MODELS) / count

    assert np.abs(bias(0.0)).max() < 0.011
    assert np.abs(bias(0.99)).max() > 0.03


def test_a_shorter_log_is_the_start_of_a_longer_one(law, written):
    long, short = (draw_log(law, written, 0.5, rows, 1_000, seed=3) for rows in (1_000, 100))
    np.testing.assert_array_equal(long.row[:100], short.row)
    np.testing.assert_array_equal(long.outcome[:100], short.outcome)


def test_the_experiment_draws_models_uniformly_whoever_asks(law, written):
    """Frequencies of 70,000 draws are equal to five standard errors, and no model meets happier users than another."""
    trial = draw_experiment(law, written, 70_000, seed=5)
    np.testing.assert_allclose(np.bincount(trial.model) / 70_000, 1 / MODELS, atol=0.007)
    reward = laws.true_reward(law, written.hidden, written.embedding[written.context()])[trial.row]
    bias = np.bincount(trial.model, weights=trial.outcome - reward) / np.bincount(trial.model)
    assert np.abs(bias).max() < 0.0125
    np.testing.assert_array_equal(written.context()[trial.row], trial.context)


def test_seeds_give_other_draws_and_the_same_seed_the_same(law, written):
    first, again, other = (draw_experiment(law, written, 200, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.outcome, again.outcome)
    assert not np.array_equal(first.outcome, other.outcome)


def test_the_grid_is_the_papers():
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

"""Bounds and weights for missing outcomes against plain twins, and their coverage by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from benchmarks.missing_outcomes import MODELS, SCENARIOS, make_study, measure, simulate_rows, true_values
from deconfound.features import FeatureSpec
from deconfound.features.randomized_rows import RandomizedRows
from deconfound.features.study_arrays import StudyArrays
from deconfound.value import ScoredExperiment, shrink_toward, tuned_doubly_robust
from deconfound.value.unrated_rows import bound_values, estimate_missing_outcomes, rating_weights


def randomized(scenario, seed):
    rng = np.random.default_rng(seed)
    rows = simulate_rows(rng)
    study = make_study(rows, rng.random(len(rows.model)) < SCENARIOS[scenario](rows, rng), rng).in_content_order()
    return RandomizedRows.from_study(study, study.unrated_experiment, StudyArrays.from_study(study, FeatureSpec()))


def test_rated_rows_come_first_with_their_own_statistics():
    rng = np.random.default_rng(1)
    rows = simulate_rows(rng)
    study = make_study(rows, rng.random(len(rows.model)) < 0.3, rng).in_content_order()
    both = RandomizedRows.from_study(study, study.unrated_experiment, StudyArrays.from_study(study, FeatureSpec()))
    assert not both.is_missing[: len(study.experiment)].any()
    assert both.is_missing[len(study.experiment) :].all()
    columns = np.concatenate(
        [t.arrow["feature_output"].to_numpy() for t in (study.experiment, study.unrated_experiment)]
    )
    assert max(abs(np.corrcoef(columns, each)[0, 1]) for each in both.statistics.T) > 0.999


def test_deviations_do_not_depend_on_the_context():
    """The context's own feature is the same for all replayed outputs, so nothing of it is left."""
    rows = randomized("at random", 2)
    constant = np.abs(rows.deviations).max(axis=0) < 1e-9
    assert constant.sum() == 1
    assert np.abs(rows.statistics[:, constant]).max() > 0.1


def test_bounds_are_means_with_missing_outcomes_at_either_end():
    rows = randomized("by outcome", 3)
    lowest, highest = bound_values(MODELS, rows)
    for a in range(len(MODELS)):
        own = rows.model == a
        known = rows.outcome[own & ~rows.is_missing]
        assert lowest.estimate[a] == pytest.approx(known.sum() / own.sum())
        assert highest.estimate[a] == pytest.approx((known.sum() + rows.is_missing[own].sum()) / own.sum())
        assert lowest.estimate[a] <= known.mean() <= highest.estimate[a]


def test_weights_follow_the_probability_of_a_rating():
    """2,400 rows: estimated weights are close to one over the true probability, up to their scale."""
    rng = np.random.default_rng(4)
    parts = [simulate_rows(rng) for _ in range(10)]
    rows = replace(
        parts[0],
        **{
            name: np.concatenate([getattr(p, name) for p in parts])
            for name in ("model", "context", "output", "outcome")
        },
        user=np.arange(2400),
    )
    lost = rng.random(2400) < expit(-1.5 + 1.2 * rows.output)
    study = make_study(rows, lost, rng).in_content_order()
    both = RandomizedRows.from_study(study, study.unrated_experiment, StudyArrays.from_study(study, FeatureSpec()))
    weights = rating_weights(both, 0)
    truth = 1.0 + np.exp(-1.5 + 1.2 * study.experiment.arrow["feature_output"].to_numpy())
    assert np.corrcoef(weights.weight, truth)[0, 1] > 0.95
    assert weights.imbalance < 0.3 * weights.imbalance_before
    assert weights.weight.mean() == pytest.approx(1.0)


def test_too_few_missing_outcomes_have_no_weights():
    rng = np.random.default_rng(5)
    rows = simulate_rows(rng)
    study = make_study(rows, np.arange(len(rows.model)) < 3, rng).in_content_order()
    both = RandomizedRows.from_study(study, study.unrated_experiment, StudyArrays.from_study(study, FeatureSpec()))
    assert rating_weights(both, 0) is None


@pytest.mark.slow
def test_bounds_hold_and_rated_rows_alone_do_not_where_successes_are_lost():
    """60 studies: bounds cover each model in 95 %, so fewer than 52 have a probability below 0.01 (binomial).

    The rated rows alone cover the worst model in less than 80 %: the scenario is one in which they fail.
    """
    truth = true_values()
    measures = [measure(SCENARIOS["by model and outcome"], truth, 700 + i) for i in range(60)]
    assert np.sum([one.bounds for one in measures], axis=0).min() >= 52
    assert np.sum([one.complete_cases for one in measures], axis=0).min() <= 48


def test_weighted_values_use_the_weights():
    """Outputs with a high statistic are liked and rarely rated: rated rows alone give too low a value."""
    rows = randomized("by output", 6)
    rated = ~rows.is_missing
    zeros = np.zeros((int(rated.sum()), len(MODELS)))
    data = ScoredExperiment.from_arrays(MODELS, zeros, zeros[:, 0], rows.model[rated], rows.outcome[rated])
    missing = estimate_missing_outcomes(MODELS, rows, data, 0, is_shrunk=False)
    weights = rating_weights(rows, 0)
    expected = tuned_doubly_robust(replace(data, weight=weights.weight)).estimate
    np.testing.assert_array_equal(missing.weighted.estimate, expected)
    assert (missing.weighted.estimate - tuned_doubly_robust(data).estimate).mean() > 0.005


def test_weighted_values_are_shrunk_as_the_reported_ones_are():
    """A twin: toward the mean prediction, with the centers of intervals where they were."""
    rows = randomized("by output", 6)
    rated = ~rows.is_missing
    means = [rows.outcome[rated & (rows.model == a)].mean() for a in range(len(MODELS))]
    q = np.tile(np.array(means) - 0.02, (int(rated.sum()), 1))
    own = rows.model[rated]
    data = ScoredExperiment.from_arrays(MODELS, q, q[np.arange(len(own)), own], own, rows.outcome[rated])
    shrunk, plain = (
        estimate_missing_outcomes(MODELS, rows, data, 0, is_shrunk=each).weighted for each in (True, False)
    )
    np.testing.assert_allclose(shrunk.estimate, shrink_toward(plain, q[0]).estimate, atol=1e-12)
    np.testing.assert_array_equal(shrunk.center, plain.estimate)
    assert np.abs(shrunk.estimate - plain.estimate).max() > 0.005

"""P(a | context, output): exact unbiasedness by enumeration, and a calibrated classifier."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import deconfound as dc
from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.features import FeatureBlocks, FeatureSpec
from deconfound.features.output_probability import (
    Outputs,
    classified_output_probability,
    exact_output_probability,
    study_outputs,
)
from deconfound.features.study_arrays import ExperimentArrays, ReplayArrays, StudyArrays
from tests.support.study_arrays import random_study


def outputs(*rows: tuple[int, int, int]) -> Outputs:
    context, model, output = (np.array(column) for column in zip(*rows, strict=True))
    return Outputs(context, model, output)


def every_experiment(
    written: FloatArray, propensity: FloatArray, rows: int, draws: int
) -> tuple[Outputs, Outputs, FloatArray]:
    """Every possible experiment of ``rows`` rows on one context with every replay, and the probability of each.

    ``written`` (k, m) has the probability of each output. Each case is a context of its own, so one call serves all.
    """
    models, count = written.shape
    experiment, replay, probability = [], [], []
    row_cases = list(product(product(range(models), range(count)), repeat=rows))
    replay_cases = list(product(range(count), repeat=models * draws))
    for case, (drawn, replayed) in enumerate(product(row_cases, replay_cases)):
        experiment += [(case, a, m) for a, m in drawn]
        replay += [(case, i // draws, m) for i, m in enumerate(replayed)]
        of_rows = np.prod([propensity[a] * written[a, m] for a, m in drawn])
        probability.append(of_rows * np.prod([written[i // draws, m] for i, m in enumerate(replayed)]))
    return outputs(*experiment), outputs(*replay), np.array(probability)


@pytest.mark.parametrize(
    ("written", "propensity", "rows", "draws"),
    [
        ([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], [0.5, 0.5], 1, 1),
        ([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], [0.7, 0.3], 1, 2),
        ([[0.2, 0.8], [0.6, 0.4], [1.0, 0.0]], [0.5, 0.2, 0.3], 1, 2),
        ([[0.2, 0.8], [0.6, 0.4]], [0.5, 0.5], 1, 4),
        ([[0.2, 0.8], [0.6, 0.4]], [0.7, 0.3], 2, 1),
        ([[0.2, 0.8], [0.6, 0.4]], [0.7, 0.3], 2, 2),
    ],
)
def test_the_weights_are_exactly_unbiased_for_any_number_of_draws(
    written: list[list[float]], propensity: list[float], rows: int, draws: int
) -> None:
    """E[P_a / e_a 1{output = m}] is the probability that model a writes m, summed over all possible studies."""
    f, e = np.array(written), np.array(propensity)
    experiment, replay, probability = every_experiment(f, e, rows, draws)
    weight = exact_output_probability(experiment, replay, np.tile(e, (len(experiment.model), 1))) / e
    expected = np.zeros(f.shape)
    for m in range(f.shape[1]):
        chosen = experiment.output == m
        expected[:, m] = probability[experiment.context[chosen]] @ weight[chosen]
    assert probability.sum() == pytest.approx(1)
    np.testing.assert_allclose(expected, rows * f, atol=1e-12)


def test_counting_the_row_on_top_of_all_draws_would_be_biased() -> None:
    """The obvious count, T_a / N_a with the row added to its own model's draws, fails the identity above."""
    f, e = np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([0.5, 0.5])
    experiment, replay, probability = every_experiment(f, e, rows=1, draws=2)
    expected = np.zeros(2)
    for case, (a, m) in enumerate(zip(experiment.model, experiment.output, strict=True)):
        here = replay.context == case
        own = np.arange(2) == a
        counts = np.array([(replay.output[here & (replay.model == b)] == m).sum() for b in range(2)])
        share = (counts + own) / (2 + own)
        expected += (m == 0) * probability[case] * share / share.sum() / 0.5
    assert np.abs(expected - f[:, 0]).max() > 0.005


def test_probabilities_of_a_small_replay_by_hand() -> None:
    """Model 0 drew x, y and the row is x: half the time the replaced draw is x (T = 1), half the time y (T = 2)."""
    replay = outputs((0, 0, 10), (0, 0, 11), (0, 1, 10), (0, 1, 12), (1, 0, 10), (1, 1, 10))
    rows = outputs((0, 0, 10), (0, 1, 13), (1, 5, 10))
    e = np.tile([0.5, 0.5], (3, 1))
    result = exact_output_probability(rows, replay, e)
    # The second row adds one draw to model 1: N = 2 for model 0, N = 3 for model 1, of which one is x.
    t1, t2 = np.array([1 / 2, 1 / 3]), np.array([2 / 2, 1 / 3])
    np.testing.assert_allclose(result[0], 0.5 * t1 / t1.sum() + 0.5 * t2 / t2.sum())
    np.testing.assert_allclose(result[1:], [[0, 1], [0, 0]])


def test_models_that_always_write_the_same_need_one_draw() -> None:
    replay = outputs((0, 0, 7), (0, 1, 7), (0, 2, 8))
    result = exact_output_probability(outputs((0, 0, 7)), replay, np.array([[0.5, 0.25, 0.25]]))
    np.testing.assert_allclose(result, [[2 / 3, 1 / 3, 0]])


def test_unique_outputs_give_the_indicator_of_the_own_model_exactly() -> None:
    rng = np.random.default_rng(0)
    model = rng.integers(3, size=20)
    rows = Outputs(np.arange(20), model, np.arange(20))
    replay = Outputs(np.repeat(np.arange(20), 6), np.tile(np.repeat(np.arange(3), 2), 20), 100 + np.arange(120))
    result = exact_output_probability(rows, replay, np.full((20, 3), 1 / 3))
    np.testing.assert_array_equal(result, (model[:, None] == np.arange(3)).astype(float))


def test_a_context_without_replay_of_a_model_is_refused() -> None:
    with pytest.raises(UsageError, match="Every model needs a replayed output"):
        exact_output_probability(outputs((0, 0, 1)), outputs((0, 0, 1)), np.full((1, 2), 0.5))


def study(latency: list[float] | None = None) -> dc.Study:
    rows = [("c1", "a", "yes"), ("c1", "b", "yes"), ("c2", "a", "no"), ("c2", "b", "yes")]

    def table(chosen: list[int], **more: object) -> pa.Table:
        columns = dict(zip(("context", "model", "output"), zip(*(rows[i] for i in chosen), strict=True), strict=True))
        extra = {} if latency is None else {"feature_latency": [latency[i] for i in chosen]}
        return pa.table({name: list(values) for name, values in columns.items()} | extra | more)

    every = [0, 1, 2, 3]
    return dc.load(
        log=table(every, outcome=[1.0, 0.0, 1.0, 0.0]),
        experiment=table([3, 0, 1, 2], outcome=[0.1, 0.2, 0.3, 0.4]),
        replay=table(every),
    )


def test_outputs_of_a_study_are_equal_if_their_texts_are() -> None:
    one = study()
    arrays = StudyArrays.from_study(one, FeatureSpec(buckets=64))
    experiment, replay = study_outputs(one, arrays)
    written = {(c, a): m for c, a, m in zip(replay.context, replay.model, replay.output, strict=True)}
    own = [written[c, a] for c, a in zip(experiment.context, experiment.model, strict=True)]
    assert own == experiment.output.tolist()
    assert sorted(written[c, 0] == written[c, 1] for c in (0, 1)) == [False, True]
    probability = exact_output_probability(experiment, replay, np.full((4, 2), 0.5))
    shared = np.array([written[c, 0] == written[c, 1] for c in experiment.context])
    assert (probability[shared].max(axis=1) == 0.5).all()
    assert (probability[~shared].max(axis=1) == 1).all()


def test_outputs_that_differ_in_a_column_are_different() -> None:
    one = study(latency=[0.1, 0.2, 0.3, 0.4])
    experiment, replay = study_outputs(one, StudyArrays.from_study(one, FeatureSpec(buckets=64)))
    assert len(np.unique(replay.output)) == 4
    assert set(experiment.output) == set(replay.output)


def gaussian_study(contexts: int, distance: float, seed: int = 0) -> StudyArrays:
    """Two models whose outputs are normal with means 0 and ``distance`` in one of three features."""
    rng, empty = np.random.default_rng(seed), random_study(0.0, 0.0)

    def blocks(model: FloatArray) -> FeatureBlocks:
        features = rng.standard_normal((len(model), 3))
        features[:, 0] += distance * model
        return FeatureBlocks(np.arange(len(model)), sparse.csr_matrix((len(model), 1)), features / np.sqrt(2), None)

    context, model = np.repeat(np.arange(contexts), 4), np.tile([0, 0, 1, 1], contexts)
    drawn, own = rng.integers(2, size=contexts), np.arange(contexts)
    half = np.full(contexts, 0.5)
    experiment = ExperimentArrays(blocks(drawn), half, drawn, own, own, half, own)
    replay = ReplayArrays(blocks(model), tuple(map(str, range(contexts))), context, model, 2)
    return replace(empty, experiment=experiment, replay=replay)


def test_the_classifier_finds_the_probability_that_follows_from_the_densities() -> None:
    """With unit variances the log odds of model 1 are d x - d^2 / 2, plus those of the propensities."""
    arrays = gaussian_study(contexts=400, distance=1.5)
    x = np.sqrt(2) * arrays.experiment.blocks.dense[:, 0]
    for share in (0.5, 0.8):
        propensities = np.tile([1 - share, share], (400, 1))
        result = classified_output_probability(arrays, propensities)[:, 1]
        expected = 1 / (1 + np.exp(-(1.5 * x - 1.5**2 / 2)) * (1 - share) / share)
        assert np.abs(result - expected).mean() < 0.03


def test_the_classifier_is_calibrated_and_rows_of_other_models_get_zeros() -> None:
    """Mean of 1{model} - P over 600 rows: standard error at most 0.5 / sqrt(600) = 0.02; bound 4.5 of them."""
    arrays = gaussian_study(contexts=600, distance=0.7, seed=1)
    result = classified_output_probability(arrays, np.full((600, 2), 0.5))
    assert abs((arrays.experiment.model == 1).mean() - result[:, 1].mean()) < 0.09
    np.testing.assert_allclose(result.sum(axis=1), 1)
    model = np.where(np.arange(600) < 3, 2, arrays.experiment.model)
    other = replace(arrays, experiment=replace(arrays.experiment, model=model))
    assert not classified_output_probability(other, np.full((600, 2), 0.5))[:3].any()

"""The scored experiment: defaults, checks, subsets of rows, and clusters."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from deconfound.design import UNKNOWN_MODEL
from deconfound.errors import UsageError
from deconfound.value import ScoredExperiment
from tests.support.experiments import MODELS, predicted_experiment


def test_columns_left_out_mean_a_uniform_draw_single_rows_and_equal_weights() -> None:
    t = predicted_experiment()
    data = ScoredExperiment.from_arrays(list(MODELS), t.q, t.prediction, t.model, t.outcome)
    assert data.models == MODELS
    assert (data.propensity == 1 / 3).all()
    assert data.cluster.tolist() == list(range(60))
    assert (data.weight == 1).all()
    assert data.compared.all()


def test_codes_outside_the_models_are_rows_that_are_not_compared() -> None:
    t = predicted_experiment()
    other = np.where(np.arange(60) < 20, 3 + np.arange(60), t.model)
    other[20] = -7
    data = ScoredExperiment.from_arrays(MODELS, t.q, t.prediction, other, t.outcome, propensity=t.propensity)
    assert (data.model[:21] == UNKNOWN_MODEL).all()
    assert data.compared.tolist() == [False] * 21 + [True] * 39
    for codes in (other, np.where(np.arange(60) == 5, -1, t.model)):
        with pytest.raises(UsageError, match="not compared"):
            ScoredExperiment.from_arrays(MODELS, t.q, t.prediction, codes, t.outcome)


@pytest.mark.parametrize(
    ("column", "wrong", "message"),
    [
        ("q", lambda t: np.where(t.q > 0.9, np.nan, t.q), "q contains NaN"),
        ("q", lambda t: t.q[:, :2], "3 columns"),
        ("outcome", lambda t: np.append(t.outcome[1:], np.inf), "outcome contains NaN or infinity"),
        ("prediction", lambda t: t.prediction[1:], "prediction has 59 entries"),
        ("model", lambda t: t.model[1:], "model has 59 entries"),
        ("cluster", lambda t: t.cluster[1:], "cluster has 59 entries"),
        ("propensity", lambda t: np.where(t.model == 1, 0.0, 0.5), "propensity"),
        ("propensity", lambda t: t.propensity + 1, "propensity"),
        ("propensity", lambda t: t.propensity * np.nan, "propensity"),
        ("weight", lambda t: -t.weight, "weight"),
        ("weight", lambda t: 0 * t.weight, "weight"),
    ],
)
def test_a_wrong_column_is_refused_by_name(column, wrong, message) -> None:
    t = predicted_experiment()
    with pytest.raises(UsageError, match=message):
        replace(t, **{column: wrong(t)})


def test_an_experiment_without_rows_is_refused() -> None:
    t = predicted_experiment()
    with pytest.raises(UsageError, match="no rows"):
        t.take(np.zeros(0, dtype=np.int64))


def test_rows_are_taken_from_every_column_and_may_repeat() -> None:
    t = predicted_experiment()
    rows = np.array([5, 5, 2])
    for field in fields(ScoredExperiment):
        if field.name != "models":
            np.testing.assert_array_equal(getattr(t.take(rows), field.name), getattr(t, field.name)[rows])
    mask = t.model == 1
    np.testing.assert_array_equal(t.take(mask).outcome, t.outcome[mask])
    assert t.n_clusters == len(set(t.cluster.tolist()))


def test_two_crossed_ways_of_clustering_are_two_columns() -> None:
    t = predicted_experiment()
    data = replace(t, cluster=np.column_stack([np.arange(60) % 7, np.arange(60) // 12]))
    assert data.n_clusters == 5
    np.testing.assert_array_equal(data.take(np.array([3, 59])).cluster, [[3, 0], [3, 4]])
    assert replace(t, cluster=np.column_stack([t.cluster, np.arange(60)])).n_clusters == t.n_clusters
    with pytest.raises(UsageError, match="cluster has 59 entries"):
        replace(t, cluster=data.cluster[1:])
    with pytest.raises(UsageError, match="at most 2 columns"):
        replace(t, cluster=np.zeros((60, 3), dtype=np.int64))

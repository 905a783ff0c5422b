"""Propensities: of the row's model, of every model, or both."""

from __future__ import annotations

import pytest

from deconfound.errors import DataError
from deconfound.loading import load
from tests.support.studies import good_with, tables

OF_MODELS = {"propensity_ant": 0.2, "propensity_bee": 0.3, "propensity_cat": 0.5}


def test_the_propensity_of_a_row_is_that_of_its_model():
    good = good_with(experiment=lambda row: row.update(propensity_ant=0.2, propensity_bee=0.3, propensity_cat=0.5))
    assert load(**tables(good)).experiment.arrow["propensity"].to_pylist() == [0.2, 0.3, 0.5] * 2
    good = good_with(experiment=lambda row: row.update(propensity_score=0.25))
    assert set(load(**tables(good)).experiment.arrow["propensity"].to_pylist()) == {0.25}


def test_propensities_rounded_to_two_decimals_may_sum_to_0_99():
    good = good_with(experiment=lambda row: row.update(propensity_ant=0.33, propensity_bee=0.33, propensity_cat=0.33))
    assert load(**tables(good)).experiment.arrow["propensity"][0].as_py() == 0.33


def test_the_propensities_of_all_models_are_retained_as_numbers():
    experiment = load(**tables(good_with(experiment=lambda row: row.update(OF_MODELS)))).experiment
    propensities = experiment.propensities()
    assert list(propensities) == ["ant", "bee", "cat"]
    assert [column.dtype.kind for column in propensities.values()] == ["f"] * 3
    assert [set(column.tolist()) for column in propensities.values()] == [{0.2}, {0.3}, {0.5}]
    assert not load(**tables(good_with(experiment=lambda row: row.update(propensity=0.3)))).experiment.propensities()


def test_a_mapped_column_is_the_propensity_of_its_model():
    good = good_with(experiment=lambda row: row.update(p_ant="0.2", propensity_bee=0.3, propensity_cat=0.5))
    experiment = load(**tables(good), columns={"propensity_ant": "p_ant"}).experiment
    assert set(experiment.propensities()["ant"].tolist()) == {0.2}
    assert experiment.arrow["propensity"].to_pylist() == [0.2, 0.3, 0.5] * 2


def test_a_model_that_is_not_compared_may_be_impossible_in_some_rows():
    good = good_with(experiment=lambda row: row.update(OF_MODELS))
    for row in good.experiment:
        if row["model"] != "cat":
            row.update(propensity_ant=0.5, propensity_bee=0.5, propensity_cat=0.0)
    with pytest.raises(DataError) as caught:
        load(**tables(good))
    (problem,) = caught.value.problems
    assert problem.where == "experiment (Table) row 1"
    assert problem.what.startswith("propensity_cat is 0 (4 rows)")
    assert "--models" in problem.fix
    study = load(**tables(good), models=["ant", "bee"])
    assert study.experiment.propensities()["cat"].tolist() == [0.0, 0.0, 0.5] * 2

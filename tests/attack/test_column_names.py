"""Columns whose names are almost those of the documentation: they are used, refused or reported, never ignored."""

from __future__ import annotations

import pytest

from deconfound.loading import load
from tests.support.studies import ROLES, good_with, refused, tables


def with_column(role, name, value):
    return tables(good_with(**{role: lambda row: row.update({name: value})}))


PREFIX_VARIANTS = ("Propensity_", " propensity_", "propensity-", "PROPENSITY ", "\tpropensity_")


@pytest.mark.parametrize("prefix", PREFIX_VARIANTS)
def test_a_prefix_may_differ_in_case_spaces_and_hyphens(prefix):
    values = {"ant": 0.5, "bee": 0.3, "cat": 0.2}
    good = good_with(experiment=lambda row: row.update({prefix + name: value for name, value in values.items()}))
    study = load(**tables(good))
    assert study.experiment.propensities().keys() == values.keys()
    assert study.experiment.unused_columns == ()
    assert any("propensity_ant is read from column" in finding.message for finding in study.findings)


@pytest.mark.parametrize("name", ["Label_x", "label-x", " Label x"])
def test_labels_too(name):
    assert load(**with_column("log", name, 1)).label_names == ("label_x",)


def test_features_too_and_what_follows_the_prefix_stays_as_it_is():
    good = good_with(**dict.fromkeys(ROLES, lambda row: row.update({"Feature-My X": 1.5})))
    assert load(**tables(good)).feature_names == ("feature_My X",)


def test_two_columns_for_one_prefixed_name_are_refused():
    good = good_with(log=lambda row: row.update({"label_x": 1, "Label-x": 0}))
    assert "several columns could be the label_x: label_x, Label-x" in refused(**tables(good))
    study = load(**tables(good), columns={"label_x": "Label-x"})
    assert set(study.log.arrow["label_x"].to_pylist()) == {0.0}


@pytest.mark.parametrize(
    ("role", "name", "similar"),
    [
        ("experiment", "propensty_ant", "propensity_*"),
        ("log", "lable_x", "label_*"),
        ("replay", "Features_x", "feature_*"),
        ("log", "clusters", "cluster"),
        ("replay", "draws", "draw"),
    ],
)
def test_unused_columns_with_almost_a_known_name_are_reported(role, name, similar):
    good = good_with(**{role: lambda row: row.update({name: 1})})
    for row in good.replay:
        del row["draw"]
    (finding,) = [f for f in load(**tables(good)).findings if f.check == "unused columns"]
    assert finding.verdict == "warn"
    assert f"{name} (similar to {similar})" in finding.message


@pytest.mark.parametrize("name", ["future_x", "score", "id", "output_tokens", "model_version", "propensity_score"])
def test_other_unused_columns_are_not(name):
    assert not [f for f in load(**with_column("log", name, 1)).findings if f.check == "unused columns"]

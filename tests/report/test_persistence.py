"""Saved results: read back in full, equal for equal seeds, refused if damaged."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import deconfound as dc
from deconfound.bundle import load_bundle, save_bundle
from deconfound.findings import Finding, Notice
from deconfound.report.persistence import FEATURIZER, REWARD, result_path
from deconfound.reward import FAMILIES
from deconfound.value.efficient_summary import EfficientSummary
from deconfound.value.population import Population
from tests.support.results import demo_result, prepared_demo, small_demo
from tests.support.short_answers import answer_result

FILES = ("result.json", "result-reward-*.npz", "result-featurizer-*.npz")


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


@pytest.fixture
def folder(result: dc.Result, tmp_path: Path) -> Path:
    """A saved result."""
    result.save(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_saved_result_is_read_back_with_the_same_recommendations(result, folder):
    loaded = dc.Result.load(folder)
    assert loaded.summary(verbose=True) == result.summary(verbose=True)
    assert loaded.document() == result.document()
    assert loaded.recommend(small_demo().replay) == result.recommendations


@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_every_family_is_read_back_with_its_rewards(family, tmp_path):
    result = demo_result(family)
    result.save(tmp_path)
    loaded = dc.Result.load(tmp_path)
    assert loaded.family == result.family
    assert loaded.findings == result.findings
    assert loaded.recommend(small_demo().replay) == result.recommendations


def test_numbers_that_are_not_finite_are_read_back_exactly(result, tmp_path):
    """NaN, both infinities and None stay apart in values, findings, routing and log bias."""
    estimate, covariance = result.values.estimate.copy(), result.values.covariance.copy()
    estimate[0], covariance[0, 0], covariance[1, 1] = np.nan, np.inf, np.inf
    untested = Finding("replay draws", "cannot tell", Notice("m."), "A2", math.nan, None, math.inf)
    biases = (replace(result.log_bias.biases[0], low=-math.inf, high=math.nan), *result.log_bias.biases[1:])
    odd = replace(
        result,
        values=replace(result.values, estimate=estimate, covariance=covariance),
        findings=(*result.findings, untested),
        routing=replace(result.routing, gain=math.nan, gain_low=-math.inf),
        log_bias=replace(result.log_bias, biases=biases),
    )
    odd.save(tmp_path)
    loaded = dc.Result.load(tmp_path)
    for part in ("findings", "routing", "log_bias"):
        assert repr(getattr(loaded, part)) == repr(getattr(odd, part)), part
    np.testing.assert_array_equal(loaded.values.estimate, estimate)
    np.testing.assert_array_equal(loaded.values.covariance, covariance)
    json.loads((tmp_path / "result.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


@pytest.mark.parametrize("method", ["efficient", "doubly robust"])
def test_what_shared_outputs_add_is_read_back(method, tmp_path):
    result = answer_result(method)
    result.save(tmp_path)
    loaded = dc.Result.load(tmp_path)
    assert result.efficient is not None
    assert loaded.document() == result.document()
    assert loaded.summary(verbose=True) == result.summary(verbose=True)
    assert loaded.efficient.result.uses_shared_outputs.dtype == np.bool_


def test_numbers_of_shared_outputs_that_are_not_finite_are_read_back_exactly(tmp_path):
    result = answer_result()
    found = result.efficient.result
    exclusion = replace(found.exclusion, p_value=math.nan, bias_standard_error=np.array([0.1, np.inf, np.nan]))
    widening, own = np.array([1.0, np.nan, np.inf]), np.array([np.nan, 0.5, 1.0])
    values = replace(found.values, covariance=np.diag([np.inf, 0.1, np.inf]))
    odd = replace(
        result.efficient,
        overlap=replace(result.efficient.overlap, own_probability=own),
        result=replace(found, exclusion=exclusion, widening=widening, values=values),
    )
    replace(result, efficient=odd).save(tmp_path)
    loaded = dc.Result.load(tmp_path).efficient
    np.testing.assert_array_equal(loaded.result.widening, widening)
    np.testing.assert_array_equal(loaded.overlap.own_probability, own)
    np.testing.assert_array_equal(loaded.result.values.covariance, values.covariance)
    assert repr(loaded.result.exclusion) == repr(exclusion)


def test_a_missing_summary_of_shared_outputs_stays_apart_from_one_without_numbers(result, tmp_path):
    assert result.efficient is None
    unknown = replace(result, efficient=EfficientSummary.unknown_propensities())
    unknown.save(tmp_path / "unknown")
    result.save(tmp_path / "none")
    assert dc.Result.load(tmp_path / "unknown").document() == unknown.document()
    assert dc.Result.load(tmp_path / "unknown").efficient.obstacle == "unknown propensities"
    assert dc.Result.load(tmp_path / "none").efficient is None


def test_saving_a_loaded_result_gives_the_same_bytes(folder, tmp_path):
    before = contents(folder)
    dc.Result.load(folder).save(tmp_path / "again")
    assert contents(tmp_path / "again") == before


def test_costs_are_saved(result, tmp_path):
    cost = np.linspace(0.1, 0.6, len(result.models))
    net = replace(result, values=result.values.net_of(cost), policy=replace(result.policy, cost=cost))
    net.save(tmp_path)
    loaded = dc.Result.load(tmp_path)
    assert loaded.summary() == net.summary()
    assert "net of cost" in loaded.summary()
    np.testing.assert_array_equal(loaded.values.cost, cost)
    np.testing.assert_array_equal(loaded.values.interval(), net.values.interval())
    np.testing.assert_array_equal(loaded.policy.cost, net.policy.cost)


def test_the_same_seed_gives_the_same_bytes(folder, tmp_path):
    before = contents(folder)
    again = dc.evaluate(prepared_demo().study)
    again.save(tmp_path / "again")
    assert contents(tmp_path / "again") == before


def test_a_truncated_file_is_refused_with_the_command_that_writes_it(folder):
    (reward,) = folder.glob("result-reward-*.npz")
    reward.write_bytes(reward.read_bytes()[:1000])
    with pytest.raises(dc.DataError, match=r"Run `deconfound evaluate"):
        dc.Result.load(folder)


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file_is_named(folder, file):
    (path,) = folder.glob(file)
    path.unlink()
    with pytest.raises(dc.DataError, match=rf"{path.name}: no such file"):
        dc.Result.load(folder)


def test_another_schema_is_refused(folder):
    path = result_path(folder)
    bundle = load_bundle(path, (REWARD, FEATURIZER))
    save_bundle(path, replace(bundle, document={**bundle.document, "schema": 2}))
    with pytest.raises(dc.DataError, match="schema 2"):
        dc.Result.load(folder)


def test_the_scale_and_the_population_are_saved(result, tmp_path):
    target = Population("target", "target.csv", 400, 360, 142.4, 20)
    stars = replace(result, outcome_range=(1.0, 5.0), population=target)
    stars.save(tmp_path)
    loaded = dc.Result.load(tmp_path)
    assert (loaded.outcome_range, loaded.population) == ((1.0, 5.0), target)
    assert loaded.summary(verbose=True) == stars.summary(verbose=True)

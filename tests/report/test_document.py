"""A result as JSON: every field, and null where there is no number."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.decide.routing import RoutingGain
from deconfound.report.attribution_text import explain_log_weight
from deconfound.report.decision_text import log_bias_text
from deconfound.report.document import (
    attribution_document,
    document,
    read_attribution,
    read_log_bias,
    read_routing,
)
from deconfound.report.json_text import dump_json
from deconfound.report.recommendation_counts import recommendation_counts
from deconfound.report.scale import UNIT, Scale
from deconfound.report.values_document import read_values, values_document
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES
from deconfound.value import Values
from deconfound.value.log_bias import LogBias
from tests.support.results import demo_result

SENTENCES = ("summary", "explanation", "message", "remedy", "answer", "sections", "value_table")


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


@pytest.fixture(scope="module")
def content(result: dc.Result) -> dict[str, object]:
    return json.loads(dump_json(document(result)))


def inestimable(values: Values) -> Values:
    """The first model without an estimate, with an infinite variance."""
    estimate, covariance = values.estimate.copy(), values.covariance.copy()
    estimate[0], covariance[0, 0] = np.nan, np.inf
    return replace(values, estimate=estimate, covariance=covariance)


def test_the_written_file_is_strict_json_with_the_whole_document(result, content, tmp_path):
    result.to_json(tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == content
    assert set(content) == set(result.document())


def test_the_answer_is_in_the_document(result, content):
    assert content["best"] == content["values"]["table"][0]["model"] == result.values.ranking()[0]
    assert content["best_set"] == list(result.values.best_set())
    np.testing.assert_allclose(content["simultaneous_intervals"], result.values.interval(simultaneous=True))
    assert len(content["contrasts"]) == len(result.contrasts())
    assert content["contrasts"][0]["significant"] == result.contrasts()[0].significant
    assert (content["level"], content["seed"], content["models"]) == (0.95, 0, list(result.models))


def test_the_family_has_its_name_and_hyperparameters(result, content):
    family = content["family"]
    assert family["name"] == "auto"
    assert family["hyperparameters"] == result.family.estimator.to_document()
    assert family["surface_share"] == result.family.surface_share
    assert family["psi_source"] == result.featurizer.psi_source


def test_every_table_has_its_size_and_origin(result, content):
    assert list(content["counts"]) == ["log", "experiment", "replay"]
    for name, counts in content["counts"].items():
        table = getattr(result.counts, name)
        assert set(counts) == {each.name for each in fields(table)}
        assert counts["rows"] == sum(counts["rows_per_model"]) == table.rows


def test_log_bias_and_routing_have_their_verdicts_and_sentences(result, content):
    for name, field, kind in (("log_bias", result.log_bias, LogBias), ("routing", result.routing, RoutingGain)):
        assert set(content[name]) == {each.name for each in fields(kind)} | {"summary"}
        assert content[name]["verdict"] == field.verdict
        assert field.summary.startswith(content[name]["summary"])


def test_the_attribution_has_every_share_and_its_explanation(result, content):
    stored = content["attribution"]
    shares = [[stored["shares"][source][view] for view in FEATURE_VIEWS] for source in SOURCES]
    np.testing.assert_array_equal(shares, result.attribution.shares)
    assert stored["explanation"] == explain_log_weight(result.attribution)
    assert document(demo_result("cvci"))["attribution"] is None


def test_recommendations_are_counted_by_model_and_verdict(result):
    clear = replace(result.recommendations[0], model="oak", verdict="clear")
    unclear = replace(clear, model="fir", verdict="cannot tell")
    assert recommendation_counts(replace(result, recommendations=(clear, clear, unclear))) == {
        "contexts": 3,
        "cannot_tell": 1,
        "clear": {"oak": 2},
        "most_likely": {"fir": 1, "oak": 2},
        "assumes_small_differences": True,  # contexts recur in its log, not in its experiment
    }


def test_every_part_can_be_read_back(result, content):
    values = read_values(content["values"], result.models)
    for each in fields(Values):
        np.testing.assert_array_equal(getattr(values, each.name), getattr(result.values, each.name))
    assert repr(read_routing(content["routing"])) == repr(result.routing)  # NaN does not equal itself
    assert read_log_bias(content["log_bias"]) == result.log_bias
    attribution = read_attribution(content["attribution"])
    np.testing.assert_array_equal(attribution.shares, result.attribution.shares)
    np.testing.assert_array_equal(attribution.bootstrap_sd, result.attribution.bootstrap_sd)
    assert attribution.variance_components == result.attribution.variance_components
    assert read_attribution(attribution_document(None, UNIT)) is None


def test_a_number_that_cannot_be_estimated_is_null_and_is_read_back(result):
    values = inestimable(result.values)
    stored = json.loads(dump_json(values_document(values, 0.95)))
    assert stored["estimate"][0] is None
    assert stored["covariance"][0][0] is None
    read = read_values(stored, result.models)
    assert math.isnan(read.estimate[0])
    assert read.covariance[0, 0] == np.inf
    np.testing.assert_array_equal(read.estimate[1:], values.estimate[1:])
    routing = replace(result.routing, gain=math.nan)
    stored = json.loads(dump_json(document(replace(result, values=values, routing=routing))))
    assert stored["routing"]["gain"] is None
    assert math.isnan(read_routing(stored["routing"]).gain)


def test_numbers_stay_on_a_scale_from_0_to_1_beside_the_range(result, content):
    """Sentences are on the user's scale; every number is the same."""
    stars = json.loads(dump_json(document(replace(result, outcome_range=(1.0, 5.0)))))
    assert (content["scale"], content["outcome_range"]) == ("0 to 1", [0.0, 1.0])
    assert without_sentences(stars) == without_sentences({**content, "outcome_range": [1.0, 5.0]})
    assert stars["log_bias"]["summary"] == log_bias_text(result.log_bias, Scale(1.0, 5.0))


def without_sentences(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_sentences(part) for key, part in value.items() if key not in SENTENCES}
    return [without_sentences(part) for part in value] if isinstance(value, list) else value


def test_the_population_is_data(result, content):
    assert content["population"] == {
        "kind": "experiment",
        "source": result.counts.experiment.source,
        "contexts": result.counts.experiment.contexts,
        "experiment_rows": result.counts.experiment.rows,
        "effective_rows": result.counts.experiment.rows,
        "unused_extra_contexts": 0,
    }


def test_costs_are_in_the_document_with_net_values(result):
    cost = np.full(len(result.models), 0.25)
    net = json.loads(dump_json(document(replace(result, values=result.values.net_of(cost)))))
    assert net["values"]["cost"] == cost.tolist()
    np.testing.assert_allclose(net["values"]["estimate"], result.values.estimate - cost)
    assert net["raw_log"]["cost"] is None

"""The JSON of a result against its published schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import deconfound as dc
from deconfound.report.document import SCHEMA
from deconfound.report.json_text import dump_json
from tests.support.results import demo_result
from tests.support.segmented import segmented_result
from tests.support.short_answers import answer_result

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas" / f"result-{SCHEMA}.json"


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def without_estimate(result: dc.Result) -> dc.Result:
    """One model has no randomized rows, and the result has costs."""
    covariance = result.values.covariance.copy()
    covariance[0, :] = covariance[:, 0] = 0.0
    covariance[0, 0] = np.inf
    return replace(result, values=replace(result.values, covariance=covariance).net_of(np.full(len(covariance), 0.1)))


@pytest.mark.parametrize(
    "make",
    [
        demo_result,
        lambda: demo_result("cvci"),
        lambda: without_estimate(demo_result()),
        answer_result,
        segmented_result,
    ],
    ids=["auto", "a family without attribution", "a model without estimate", "efficient", "segments"],
)
def test_results_follow_the_schema(validator, make):
    validator.validate(json.loads(dump_json(make().document())))


@pytest.mark.parametrize(
    "damage",
    [{"schema": 6}, {"sensitivity": None}, {"more": 1}, {"findings": [{"check": "a"}]}, {"level": "high"}],
    ids=lambda damage: next(iter(damage)),
)
def test_the_schema_refuses_what_is_missing_unknown_or_wrong(validator, damage):
    document = {**json.loads(dump_json(demo_result().document())), **damage}
    assert not validator.is_valid(document)

"""Saved segments: read back in full, and refused where no evaluation can have written them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deconfound as dc
from deconfound.bundle import Bundle, load_bundle, save_bundle
from deconfound.report.persistence import FEATURIZER, REWARD, result_path
from tests.support.segmented import segmented_result


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("segments")
    segmented_result().save(folder)
    return folder


def test_segments_are_read_back(saved):
    result, loaded = segmented_result(), dc.Result.load(saved)
    assert loaded.document() == result.document()
    assert loaded.summary(verbose=True) == result.summary(verbose=True)
    first, again = result.segments[1].segments[0], loaded.segments[1].segments[0]
    np.testing.assert_array_equal(first.values.covariance, again.values.covariance)
    assert (first.best_set, first.other_best, first.contexts) == (again.best_set, again.other_best, again.contexts)


def column(document: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in document["segments"] if one["column"] == "language")


FORGED = {
    "no list": lambda d: d.update(segments=3),
    "two columns of one name": lambda d: d["segments"].append(column(d)),
    "many columns": lambda d: d.update(segments=[{**column(d), "column": f"c{n}"} for n in range(21)]),
    "no segments": lambda d: column(d).update(segments=[]),
    "many segments": lambda d: column(d).update(
        segments=[{**column(d)["segments"][0], "name": str(n)} for n in range(30)]
    ),
    "two segments of one name": lambda d: column(d)["segments"][0].update(name=column(d)["segments"][1]["name"]),
    "another best model": lambda d: column(d).update(overall_best="ant"),
    "a level of its own": lambda d: column(d).update(level=0.9),
    "a p-value of two": lambda d: column(d).update(p_value=2.0),
    "a text as p-value": lambda d: column(d).update(p_value="0.1"),
    "negative rows": lambda d: column(d)["segments"][0].update(rows=-1),
    "too many rows": lambda d: column(d)["segments"][0].update(rows=10**9),
    "more contexts than rows": lambda d: column(d)["segments"][0].update(contexts=10**6),
    "a share of two": lambda d: column(d)["segments"][0].update(share=2.0),
    "unknown best": lambda d: column(d)["segments"][0].update(best_set=["nobody"]),
    "no best": lambda d: column(d)["segments"][0].update(best_set=[]),
    "a claim against its set": lambda d: column(d)["segments"][0].update(other_best=True),
    "an interval of one": lambda d: column(d)["segments"][0].update(interval=[[0.0, 1.0]]),
    "an interval outside": lambda d: column(d)["segments"][0].update(interval=[[0.0, 9.0]] * 2),
    "an interval upside down": lambda d: column(d)["segments"][0].update(interval=[[0.9, 0.1]] * 2),
    "an impossible value": lambda d: column(d)["segments"][0]["values"].update(estimate=[9.0, 0.1]),
    "a number as name": lambda d: column(d)["segments"][0].update(name=3),
}


@pytest.mark.parametrize("kind", FORGED)
def test_segments_that_no_evaluation_writes_are_damage(saved, tmp_path, kind):
    bundle = load_bundle(result_path(saved), (REWARD, FEATURIZER))
    document = json.loads(json.dumps(bundle.document))
    FORGED[kind](document)
    save_bundle(result_path(tmp_path), Bundle(document, bundle.parts))
    with pytest.raises(dc.DataError, match="it is not a saved"):
        dc.Result.load(tmp_path)

"""Experiments of more rows than inner products are computed for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.evaluation_options import EvaluationOptions
from deconfound.evidence import require_feasible_size
from deconfound.features import FeatureSpec
from deconfound.long_experiment import (
    LONG_EXPERIMENT,
    LONG_EXPERIMENT_WIDTH,
    MAX_KERNEL_ROWS,
    MAX_UNSUMMED_ROWS,
    features_for,
    long_experiment_findings,
)
from deconfound.reward import Auto, ExpOnly

MODELS = np.array(["ant", "bee", "cat"])
WORDS = np.array(["plain", "short", "kind", "long", "clear", "odd", "brief", "calm"])
GOOD = np.array([0.3, 0.0, 0.1, -0.2, 0.2, -0.3, 0.0, 0.1])


def small_texts(rng: np.random.Generator, count: int) -> tuple[list[str], np.ndarray]:
    """Outputs of three words, and how good they are."""
    drawn = rng.integers(len(WORDS), size=(count, 3))
    return [" ".join(WORDS[row]) for row in drawn], GOOD[drawn].mean(axis=1)


def table(rng: np.random.Generator, contexts: np.ndarray, model: np.ndarray, *, outcome: bool) -> pa.Table:
    outputs, good = small_texts(rng, len(model))
    chance = 0.5 + good + 0.1 * (model - 1)
    columns = {"context_id": contexts, "context": contexts, "model": MODELS[model], "output": outputs}
    return pa.table(columns | ({"outcome": (rng.random(len(model)) < chance) * 1.0} if outcome else {}))


@pytest.fixture(scope="module")
def study() -> dc.Study:
    rng, rows = np.random.default_rng(0), MAX_KERNEL_ROWS + 100
    contexts = np.array([f"question {number}" for number in range(rows)])
    others = np.array([f"request {number}" for number in range(500)])
    return dc.load(
        log=table(rng, others, rng.integers(3, size=500), outcome=True),
        experiment=table(rng, contexts, rng.integers(3, size=rows), outcome=True),
        replay=table(rng, np.repeat(contexts, 3), np.tile(np.arange(3), rows), outcome=False),
    )


def test_a_long_experiment_is_evaluated_with_every_row_and_says_so(study):
    """Each model has over 1,000 rows, so its value has a standard error of at most 0.015: five of them are 0.075."""
    options = EvaluationOptions(features=FeatureSpec(buckets=64), refits=2)
    result = dc.evaluate(study, options=options)
    (finding,) = (finding for finding in result.findings if finding.check == LONG_EXPERIMENT)
    assert "3,100 rows, more than 3,000" in finding.message
    assert "hashed into 64 columns" in finding.message
    np.testing.assert_allclose(result.values.estimate, [0.425, 0.525, 0.625], atol=0.075)


def test_the_text_is_narrower_only_beside_a_long_experiment():
    spec = FeatureSpec()
    assert features_for(MAX_KERNEL_ROWS, spec) is spec
    assert features_for(MAX_KERNEL_ROWS + 1, spec).buckets == LONG_EXPERIMENT_WIDTH
    assert features_for(MAX_KERNEL_ROWS + 1, FeatureSpec(buckets=100)).buckets == 100


def test_a_short_experiment_and_one_without_text_have_nothing_to_say():
    assert not long_experiment_findings(MAX_KERNEL_ROWS, FeatureSpec(source="text"))
    assert not long_experiment_findings(MAX_KERNEL_ROWS + 1, FeatureSpec(source="columns"))


@pytest.mark.parametrize("family", [Auto(), ExpOnly()])
def test_very_long_experiments_are_refused(study, family, monkeypatch):
    require_feasible_size(study, family)
    monkeypatch.setattr(type(family), "max_experiment_rows", 2_000)
    with pytest.raises(dc.UsageError, match=r"3,100 randomized rows .* at most 2,000\. Evaluate a random sample"):
        require_feasible_size(study, family)


def test_many_models_allow_fewer_rows(study, monkeypatch):
    monkeypatch.setattr("deconfound.long_experiment.MAX_MODELS", 2)
    require_feasible_size(study, Auto())
    monkeypatch.setattr("deconfound.long_experiment.MAX_UNSUMMED_ROWS", 3_000)
    with pytest.raises(dc.UsageError, match="at most 3,000 with so many models or feature columns"):
        require_feasible_size(study, Auto())
    assert MAX_UNSUMMED_ROWS > MAX_KERNEL_ROWS

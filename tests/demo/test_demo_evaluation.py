"""On the demo the log ranks the wrong model first and the evaluation the right one; its numbers are pinned."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import deconfound as dc
from deconfound.demo import make_demo
from deconfound.demo.compare import TruthComparison

PINNED = json.loads((Path(__file__).parent / "pinned" / "seed_0.json").read_text(encoding="utf-8"))
RTOL = 1e-5  # SciPy 1.12 and the locked version end the search for variance components 1e-6 apart


def evaluate(seed: int) -> tuple[dc.Result, dict[str, float]]:
    demo = make_demo(seed)
    return dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay)), demo.true_values


@pytest.fixture(scope="module")
def evaluated() -> tuple[dc.Result, dict[str, float]]:
    return evaluate(0)


def test_on_the_demo_the_log_is_wrong_and_the_evaluation_right(evaluated):
    comparison = TruthComparison.from_result(*evaluated)
    assert comparison.raw_log.true_rank > 1
    assert comparison.evaluation.true_rank == 1
    assert comparison.evaluation.rmse < comparison.experiment.rmse < comparison.raw_log.rmse
    assert next(iter(comparison.truth)) == comparison.evaluation.best


def test_the_numbers_of_the_demo_do_not_move(evaluated):
    """A change that is meant to move a number regenerates the pinned file and says so in its message."""
    result, truth = evaluated
    assert list(result.models) == PINNED["models"]
    close([truth[name] for name in PINNED["truth"]], list(PINNED["truth"].values()))
    for name in ("values", "direct", "experiment", "raw_log"):
        values = getattr(result, name)
        close(values.estimate, PINNED[name]["estimate"])
        close(values.standard_error, PINNED[name]["standard_error"])
    close(result.values.interval(simultaneous=True), PINNED["simultaneous_intervals"])
    close([contrast.p_value for contrast in result.contrasts()], PINNED["contrast_p_values"])
    close([getattr(result.routing, name) for name in PINNED["routing"]], list(PINNED["routing"].values()))
    close([bias.estimate for bias in result.log_bias.biases], PINNED["log_bias"])
    components = result.attribution.variance_components
    close([getattr(components, name) for name in PINNED["variance_components"]], PINNED["variance_components"].values())
    first = result.recommendations[: len(PINNED["recommendations"])]
    for row, pinned in zip(first, PINNED["recommendations"], strict=True):
        assert row.context_id == pinned["context_id"]
        close(
            [row.q, row.margin, row.error_probability_bound],
            [pinned[n] for n in ("q", "margin", "error_probability_bound")],
        )


def close(actual: object, expected: object) -> None:
    np.testing.assert_allclose(np.array(list(actual)), np.array(list(expected)), rtol=RTOL, atol=RTOL)


def test_a_demo_without_violations_shows_no_warning(evaluated):
    result, _ = evaluated
    assert [finding.check for finding in result.findings if finding.verdict in ("warn", "fail")] == []


@pytest.mark.slow
def test_the_evaluation_corrects_the_log_on_at_least_95_of_100_other_seeds():
    """`benchmarks/evaluation.py` prints the count."""
    comparisons = [TruthComparison.from_result(*evaluate(seed)) for seed in range(1, 101)]
    assert sum(one.raw_log.true_rank > 1 and one.evaluation.true_rank == 1 for one in comparisons) >= 95

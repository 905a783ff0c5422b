"""The demo's promise: the log is wrong about the best model and the evaluation is right."""

from __future__ import annotations

import pytest

import deconfound as dc
from deconfound.demo import make_demo


def favourites(seed: int) -> tuple[str, str, str]:
    """Best model in truth, by the raw log, and by the evaluation."""
    demo = make_demo(seed)
    result = dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay))
    truth = max(zip(demo.value, demo.models, strict=True))[1]
    return truth, result.raw_log.ranking()[0], result.values.ranking()[0]


def test_on_the_demo_the_log_is_wrong_and_the_evaluation_is_right():
    truth, log, together = favourites(0)
    assert log != truth
    assert together == truth


@pytest.mark.slow
def test_the_same_holds_for_at_least_95_of_100_other_seeds():
    """`benchmarks/evaluation.py` prints the count; this fails if it drops below the promise."""
    outcomes = [favourites(seed) for seed in range(1, 101)]
    assert sum(log != truth and together == truth for truth, log, together in outcomes) >= 95

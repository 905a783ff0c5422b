"""On the demo the log ranks the wrong model first and the evaluation the right one."""

from __future__ import annotations

import pytest

import deconfound as dc
from deconfound.demo import make_demo
from deconfound.demo.compare import TruthComparison


def compare(seed: int) -> TruthComparison:
    demo = make_demo(seed)
    result = dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay))
    return TruthComparison.from_result(result, demo.true_values)


def test_on_the_demo_the_log_is_wrong_and_the_evaluation_right():
    comparison = compare(0)
    assert comparison.raw_log.true_rank > 1
    assert comparison.evaluation.true_rank == 1
    assert comparison.evaluation.rmse < comparison.experiment.rmse < comparison.raw_log.rmse
    assert next(iter(comparison.truth)) == comparison.evaluation.best


@pytest.mark.slow
def test_the_evaluation_corrects_the_log_on_at_least_95_of_100_other_seeds():
    """`benchmarks/evaluation.py` prints the count."""
    comparisons = [compare(seed) for seed in range(1, 101)]
    assert sum(one.raw_log.true_rank > 1 and one.evaluation.true_rank == 1 for one in comparisons) >= 95

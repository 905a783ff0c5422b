"""How a result was computed, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.report.method_text import method_lines, reward_inputs
from tests.support.results import demo_result, load_demo, small_demo
from tests.support.short_answers import answer_result


@pytest.fixture(scope="module")
def without_text() -> dc.Result:
    """The small demo described by two feature columns."""
    rng, demo, tables = np.random.default_rng(0), small_demo(), {}
    for name in ("log", "experiment", "replay"):
        table = getattr(demo, name)
        dropped = [c for c in table.column_names if c in ("context", "output") or c.startswith("label_")]
        table = table.drop_columns(dropped)
        for feature in ("feature_a", "feature_b"):
            table = table.append_column(feature, pa.array(rng.standard_normal(len(table))))
        tables[name] = table
    return dc.evaluate(load_demo(demo, **tables), options=dc.EvaluationOptions(refits=2))


def test_a_study_without_text_does_not_mention_text(without_text):
    lines = " ".join(method_lines(without_text))
    assert reward_inputs(without_text.featurizer) == "the feature_* columns"
    assert "SD of reward columns" in lines
    assert "SD of reward model by context" in lines
    assert not {"text", "words", "psi", "phi", "proxies from"} & set(lines.replace(",", "").split())


def test_a_study_with_text_names_everything_that_the_reward_reads():
    inputs = reward_inputs(demo_result().featurizer)
    assert inputs == (
        "the words of context and output, what the log's labels show and statistics of the output such as its length"
    )


def test_values_are_described_by_their_method():
    result = demo_result()
    assert any("doubly robust" in line and "moved toward" in line for line in method_lines(result))
    assert not any("moved toward" in line for line in method_lines(replace(result, values=result.experiment)))
    assert any("(direct)" in line for line in method_lines(replace(result, values=result.direct)))


def test_efficient_and_paper_values_are_described_by_their_method():
    efficient, rejected = answer_result(), answer_result(direct_effect=-0.25)
    assert any("(efficient)" in line and "moved toward" in line for line in method_lines(efficient))
    assert any("(doubly robust)" in line for line in method_lines(rejected))
    paper = replace(efficient, values=replace(efficient.values, method="paper"))
    assert any("paper's doubly robust formula" in line for line in method_lines(paper))


def test_a_tuned_family_lists_its_hyperparameters():
    result = demo_result("grounded")
    settings = method_lines(result)[-1]
    assert "log penalty" in settings
    assert f"seed {result.seed}" in settings

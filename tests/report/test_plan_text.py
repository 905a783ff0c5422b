"""Plans as text, JSON and figures."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from deconfound.formatting import TERMINAL_WIDTH
from deconfound.planning import AssumedInputs, PlanInputs, plan
from deconfound.report.plan_document import plan_document, plan_findings
from deconfound.report.plan_figure import plan_figure
from deconfound.report.plan_text import plan_text
from tests.support.plan_inputs import plan_inputs
from tests.support.snapshots import assert_matches_snapshot


def log_inputs() -> PlanInputs:
    """Three models, the last one without log rows."""
    inputs = plan_inputs((0.03, 0.04, 0.05), (0.7, 0.6, 0.5), 0.01, 0.001)
    return replace(inputs, source="log", source_name="log.csv", rows_per_model=(400, 90, 0))


def pilot_inputs() -> PlanInputs:
    """Two models with very different variances, the second with few rows; users repeat."""
    inputs = plan_inputs((0.01, 0.16), (0.5, 0.5), 0.01, 0.001)
    return replace(
        inputs,
        outcome_variance=1.5 * inputs.outcome_variance,
        residual_variance=1.5 * inputs.residual_variance,
        source="pilot",
        source_name="pilot.csv",
        rows_per_model=(40, 8),
        pilot_rows=48,
    )


def render(inputs: PlanInputs | AssumedInputs, *, tolerance: float = 0.0, **goals: float) -> str:
    planned = plan(inputs, tolerance=tolerance)
    answers = [
        planned.rows_for(**{kind: target}, allocation=allocation)
        for kind, target in goals.items()
        for allocation in ("equal", "optimal")
    ]
    propensity = answers[-1].propensity if answers else None
    return plan_text(planned, answers, planned.table(propensity=propensity), show_bars=True)


def test_the_text_matches_its_snapshot():
    """One plan for each source of inputs; between them they contain every sentence."""
    texts = [
        render(AssumedInputs(4, 0.4), width=0.1),
        render(log_inputs()),
        render(pilot_inputs(), width=0.05, best=0.9, tolerance=0.02),
        render(AssumedInputs(2, 0.5, 0.3), regret=0.01),
    ]
    text = "\n----\n\n".join(texts)
    assert max(len(line) for line in text.splitlines()) <= TERMINAL_WIDTH
    assert_matches_snapshot(text, "plan")


def test_the_answer_comes_first_and_the_bars_are_optional():
    planned = plan(AssumedInputs(8, 0.4))
    answer = planned.rows_for(width=0.1)
    text = plan_text(planned, [answer], planned.table(), show_bars=False)
    assert f"{answer.expected.total_rows:,}" in text.splitlines()[0]
    assert "#" not in text


def test_the_document_contains_every_number_and_is_valid_json():
    planned = plan(pilot_inputs(), tolerance=0.01)
    answer = planned.rows_for(best=0.7, allocation="optimal")
    document = json.loads(json.dumps(plan_document(planned, [answer], planned.table()), allow_nan=False))
    assert document["schema"] == 4
    assert document["tolerance"] == 0.01
    assert document["inputs"]["source"] == "pilot"
    assert document["inputs"]["design_effect"] == pytest.approx(1.5)
    assert document["inputs"]["outcome_sd"] == pytest.approx(np.sqrt([0.02, 0.17]))
    assert document["inputs"]["residual_sd"] == pytest.approx(np.sqrt([0.01, 0.16]))
    assert document["answers"][0]["expected"]["total_rows"] == answer.expected.total_rows
    assert document["answers"][0]["propensity"] == answer.propensity.tolist()
    assert [row["expected"]["rms_width"] for row in document["table"]] == [
        row.expected.rms_width for row in planned.table()
    ]
    assert [finding["check"] for finding in document["findings"]] == ["small pilot"]


@pytest.mark.parametrize(
    ("inputs", "checks"),
    [
        (plan_inputs(), []),
        (log_inputs(), ["no pilot", "models without log rows"]),
        (replace(log_inputs(), rows_per_model=(400, 90, 2)), ["no pilot"]),
        (pilot_inputs(), ["small pilot"]),
        (replace(pilot_inputs(), rows_per_model=(10, 10)), []),
    ],
)
def test_findings_report_missing_and_small_samples(inputs, checks):
    findings = plan_findings(inputs)
    assert [finding.check for finding in findings] == checks
    assert all(finding.verdict == "warn" for finding in findings)


def test_control_characters_in_model_names_are_escaped():
    """Names appear in row counts, propensities, warnings and beside the widest interval."""
    hostile = replace(pilot_inputs(), models=("\x1b[31mant", "\x1b[32mbee"))
    text = render(hostile, width=0.05)
    assert "\x1b" not in text
    assert text.count("\\x1b[32mbee") == 6  # the widest interval twice, its rows, its propensity twice, the warning


@pytest.mark.parametrize(("image_format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_figure_is_the_same_file_every_time(image_format, start):
    planned = plan(AssumedInputs(4, 0.3))
    first, second = (plan_figure(planned.level, planned.table(), image_format) for _ in range(2))
    assert first == second
    assert first.startswith(start)

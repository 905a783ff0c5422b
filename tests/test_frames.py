"""Rows of a result as data frames, as tables of notebooks and as figures."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pandas as pd
import polars as pl
import pytest

import deconfound as dc
from deconfound.findings import Finding, Notice
from deconfound.frames import MAX_SHOWN_ROWS, Records, html_table, to_frame
from tests.support.results import demo_result

ATTACK = "<script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


def test_values_contrasts_recommendations_and_findings_become_frames(result):
    frames = [each.to_frame() for each in (result.values, result.contrasts(), result.recommendations, result.findings)]
    assert all(isinstance(frame, pd.DataFrame) for frame in frames)  # pandas is imported here, and comes first
    values, contrasts, recommendations, findings = frames
    assert list(values["model"]) == list(result.values.ranking())
    assert list(contrasts["significant"]) == [pair.significant for pair in result.contrasts()]
    assert list(recommendations["context_id"]) == [row.context_id for row in result.recommendations]
    assert list(findings["message"]) == [finding.message for finding in result.findings]


def test_polars_is_used_where_pandas_is_not(result, monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas")
    frame = result.findings.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == len(result.findings)


def test_without_either_library_the_error_names_one():
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['polars'] = None\n"
        "import deconfound.frames as records\n"
        "records.find_spec = lambda name: None\n"
        "for name in ('pandas', 'polars'): del sys.modules[name]\n"
        "try: records.to_frame([])\n"
        "except records.UsageError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install pandas" in done.stdout


def test_an_empty_table_is_a_frame_and_a_sentence():
    assert len(to_frame([])) == 0
    assert Records[Finding]().to_frame().empty
    assert html_table([]) == "<p>No rows.</p>"


def test_plain_tuples_given_to_a_result_become_records(result):
    changed = replace(result, findings=result.findings[:2])
    assert len(changed.findings.to_frame()) == 2


def test_notebooks_show_tables_and_the_answer_without_running_anything(result):
    finding = Finding(ATTACK, "fail", Notice(ATTACK, ATTACK), "A2")
    hostile = replace(result, findings=(finding,), outcome_unit=ATTACK)
    for html in (hostile._repr_html_(), hostile.findings._repr_html_(), hostile.values._repr_html_()):
        assert "<script" not in html
        assert "\u202e" not in html
    assert "Assumption check failed" in hostile._repr_html_()
    assert result.values.ranking()[0] in result._repr_html_()
    long = Records(result.recommendations)._repr_html_()
    assert f"and {len(result.recommendations) - MAX_SHOWN_ROWS} more" in long


@pytest.mark.parametrize("name", ["values", "contrasts", "log_bias", "precision"])
@pytest.mark.parametrize("outcome_range", [(0.0, 1.0), (60.0, 0.0)], ids=["more is better", "less is better"])
def test_every_plot_is_a_figure_with_all_names(result, name, outcome_range):
    figure = getattr(replace(result, outcome_range=outcome_range), f"plot_{name}")()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == (len(result.contrasts()) if name == "contrasts" else len(result.models))
    assert all(any(model in label for label in labels) for model in result.models)


def test_the_plot_of_the_values_has_a_mark_for_value_and_log_of_each_model(result):
    axes = result.plot_values().axes[0]
    places = sorted(float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "o")
    assert places == pytest.approx(sorted(float(row["estimate"]) for row in result.values.table()))
    assert sum(line.get_marker() == "D" for line in axes.lines) == len(result.models)

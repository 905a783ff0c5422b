"""With costs, numbers that stand beside each other are of the same kind, and every kind has its name."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.report.page.explore_data import explore_data
from deconfound.report.page.notebook import notebook_html
from deconfound.report.page.render_page import render_html
from deconfound.report.page.value_chart import ValueChart
from deconfound.report.text import value_rows
from tests.support.results import demo_result


@pytest.fixture(scope="module")
def net() -> dc.Result:
    """The demo, with costs that reverse the order of the log's two first models."""
    result = demo_result()
    cost = np.zeros(len(result.models))
    first, second, *_ = result.raw_log.ranking()
    means = dict(zip(result.models, result.raw_log.estimate, strict=True))
    cost[result.models.index(first)] = means[first] - means[second] + 0.001
    return replace(result, values=result.values.net_of(cost))


def test_the_picture_of_the_log_is_net_of_cost_and_says_so(net):
    chart = ValueChart.from_result(net)
    expected = net.raw_log.estimate - net.values.cost
    shown = {mark.name: float(mark.log_text) for mark in chart.marks}
    assert [shown[name] for name in net.models] == pytest.approx(expected, abs=5e-4)
    assert net.document()["net_raw_log"] == pytest.approx(expected)
    assert "<th>raw log, net of cost</th>" in notebook_html(net)
    page = render_html(net)
    assert page.count("raw log, net of cost") == 2  # legend and column
    assert demo_result().document()["net_raw_log"] is None


def test_ranks_of_the_log_are_those_of_the_numbers_beside_them(net):
    marks = sorted(ValueChart.from_result(net).marks, key=lambda mark: mark.log_rank)
    numbers = [float(mark.log_text) for mark in marks]
    assert numbers == sorted(numbers, reverse=True)


def test_columns_before_cost_say_so(net):
    headings, first, *_ = value_rows(net)
    assert headings[4:6] == ("cost", "gross value")
    assert "gross values and the columns after them are before cost" in " ".join(net.summary().split())
    title = ValueChart.from_result(net).marks[0].title
    assert f"cost {first[4]}, gross value {first[5]}, raw log {first[6]}" in title


def test_the_explorer_names_net_values(net):
    for result, name in ((net, "net value"), (demo_result(), "value")):
        data = explore_data(result, None)
        assert data is not None
        assert json.loads(data.json)["valueName"] == name
        assert f'data-sort="value">{name}</button>' in render_html(result)

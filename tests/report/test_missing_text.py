"""Missing outcomes in the report: one table in the order of the values, and a sentence in the answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

import deconfound as dc
from deconfound.report.missing_text import MISSING_OUTCOMES, missing_outcome_lines, missing_outcome_rows
from deconfound.report.page.render_page import render_html
from deconfound.report.text import answer_lines
from deconfound.value.unrated_rows import MissingOutcomes
from tests.support.results import demo_result


@pytest.fixture(scope="module")
def result() -> dc.Result:
    """Of every ten randomized rows, two have no outcome."""
    demo = demo_result()
    values, count = demo.values, len(demo.models)
    missing = MissingOutcomes(demo.models, (10,) * count, (2,) * count, values, values, values, 0.9, 0.05)
    return replace(demo, missing=missing)


def test_one_row_per_model_in_the_order_of_the_values(result):
    headings, *rows = missing_outcome_rows(result)
    assert headings == ("model", "missing", "bounds", "weighted value", "95 % interval")
    assert [row[0] for row in rows] == list(result.values.ranking())
    assert {row[1] for row in rows} == {"2 of 10"}
    assert [row[3] for row in rows] == [f"{row['estimate']:.3f}" for row in result.values.table()]
    assert not any(line.startswith("- ") for line in missing_outcome_lines(result))
    without = replace(result, missing=replace(result.missing, weighted=None))
    assert missing_outcome_rows(without)[0] == headings[:3]
    assert missing_outcome_rows(demo_result()) == []


def test_the_answer_names_the_share_of_missing_outcomes(result):
    sentence = f'20.0 % of the randomized rows have no outcome: see "{MISSING_OUTCOMES}".'
    assert sentence in answer_lines(result)
    assert sentence not in answer_lines(demo_result())
    page = render_html(result)
    assert page.count("<td><bdi>2 of 10</bdi></td>") == len(result.models)
    assert result.document()["sections"][0]["rows"] == [list(row) for row in missing_outcome_rows(result)]

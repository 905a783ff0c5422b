"""Names that look alike: each has its own row, sentence and number, in the text, on the page and in lists."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deconfound as dc
from deconfound.escaping import escape_json, escape_line, escape_lines, escape_name
from deconfound.formatting import join_names, join_noted_names, quote
from deconfound.report.page.render_page import render_html
from deconfound.report.scale import UNIT
from deconfound.report.text import comparison, summary, value_rows
from tests.support.results import demo_result

LOOK_ALIKES = ("ant\u200b", "ant\\u200b", "ant", "ant ", " ant", "ant\\x20")
LONG = "organization/a-family-of-models-with-a-long-name/instruct-version-"


def with_models(result: dc.Result, names: tuple[str, ...]) -> dc.Result:
    """The same result in which the models have other names."""
    new_name = dict(zip(result.models, names, strict=True))
    values = {
        each: replace(getattr(result, each), models=names) for each in ("values", "direct", "experiment", "raw_log")
    }
    rows = tuple(
        replace(row, model=new_name[row.model], runner_up=new_name[row.runner_up]) for row in result.recommendations
    )
    bias = result.log_bias
    log_bias = replace(
        bias,
        biases=tuple(replace(each, model=new_name[each.model]) for each in bias.biases),
        overrated=tuple(new_name[each] for each in bias.overrated),
        underrated=tuple(new_name[each] for each in bias.underrated),
        best_set=tuple(new_name[each] for each in bias.best_set),
        log_best_model=new_name[bias.log_best_model],
    )
    routing = replace(result.routing, best=new_name[result.routing.best])
    return replace(result, recommendations=rows, log_bias=log_bias, routing=routing, **values)


@pytest.fixture(scope="module")
def look_alikes() -> dc.Result:
    result = demo_result()
    return with_models(result, LOOK_ALIKES[: len(result.models)])


class Cells(HTMLParser):
    """The rows of the page's table of values, and the names beside the first picture."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.labels: list[str] = []
        self.tag = ""
        table, first = html.index('id="value-table"'), html.index("<bdi>")
        self.feed(html[first : html.index("</tbody>", first)])
        self.in_table = True
        self.feed(html[html.index("<tbody>", table) : html.index("</tbody>", table)])

    in_table = False

    def handle_starttag(self, tag, _attrs):
        self.tag = tag
        if tag == "tr" and self.in_table:
            self.rows.append([])
        elif tag == "td" and self.in_table:
            self.rows[-1].append("")
        elif tag == "bdi":
            self.labels.append("")

    def handle_endtag(self, _tag):
        self.tag = ""

    def handle_data(self, data):
        if self.tag == "td" and self.in_table:
            self.rows[-1][-1] += data
        elif self.tag == "bdi":
            self.labels[-1] += data


def test_each_row_of_the_table_has_a_name_and_the_numbers_of_that_model(look_alikes):
    rows = value_rows(look_alikes)[1:]
    assert len({row[1] for row in rows}) == len(rows)
    by_name = {row[1]: row for row in rows}
    for i, name in enumerate(look_alikes.models):
        row = by_name[escape_name(name)]
        assert row[2] == UNIT.value(float(np.clip(look_alikes.values.estimate[i], 0, 1)))
        assert row[4] == UNIT.value(float(look_alikes.raw_log.estimate[i]))


def test_the_page_has_the_rows_of_the_text_and_a_label_of_its_own_for_each_model(look_alikes):
    cells = Cells(render_html(look_alikes))
    assert [tuple(row) for row in cells.rows if row] == value_rows(look_alikes)[1:]
    assert len(set(cells.labels)) == len(look_alikes.models)


def test_long_names_have_labels_of_their_own_in_the_plot():
    result = demo_result()
    long = with_models(result, tuple(f"{LONG}{k}" for k in range(len(result.models))))
    assert len(set(Cells(render_html(long)).labels)) == len(result.models)


def test_tables_lines_and_comparisons_name_every_model_differently(look_alikes):
    for text in (summary(look_alikes, verbose=True), comparison([look_alikes])):
        lines = text.splitlines()
        for name in look_alikes.models:
            shown = f"  {escape_name(name)}  "
            assert sum(shown in line for line in lines) == 1, shown


def test_sentences_name_the_model_whole():
    result = demo_result()
    long = with_models(result, tuple(f"{LONG}{k}" for k in range(len(result.models))))
    long = replace(long, routing=replace(long.routing, gain=0.01))
    text = " ".join(summary(long).split())
    assert f'"{long.routing.best}"' in text
    assert f'"{long.log_bias.log_best_model}"' in text


def test_lists_never_show_two_names_alike():
    names = [*LOOK_ALIKES[:4], f"{LONG}1{'x' * 40}same-end-of-20-chars", f"{LONG}2{'x' * 40}same-end-of-20-chars"]
    shown = join_names(names).split(", ")
    assert len(set(shown)) == len(names)
    assert join_names(["y" * 50 + "z" * 50]) == "y" * 40 + "…" + "z" * 20


def test_a_count_is_never_cut():
    assert join_noted_names([("m" * 57, ": 40")]) == "m" * 57 + ": 40"
    assert join_noted_names([("m" * 100, " (1,234)")]).endswith("m (1,234)")
    assert join_noted_names((f"m{k}", f": {k}") for k in range(10)).endswith("m7: 7 and 2 more")


def test_counts_by_model_survive_long_names():
    row = {"context": "question", "output": "answer"}
    log = [{**row, "model": "m" * 58, "outcome": None if k < 40 else 1} for k in range(41)]
    experiment = [{**row, "model": ("m" * 58, "bee")[k % 2], "outcome": k % 2} for k in range(8)]
    replay = [{**row, "model": name} for name in ("m" * 58, "bee")]
    tables = {"log": log, "experiment": experiment, "replay": replay}
    study = dc.load(**{role: pa.Table.from_pylist(rows) for role, rows in tables.items()}, drop_missing=True)
    assert any("m: 40)" in finding.message for finding in study.findings)


@given(st.text(), st.text())
def test_different_names_look_different_and_are_visible(one, other):
    assert (escape_name(one) == escape_name(other)) == (one == other)
    assert (quote(one, whole=True) == quote(other, whole=True)) == (one == other)
    assert escape_name(one).isprintable()


@given(st.text(st.characters()))
def test_escaping_a_second_time_changes_nothing(text):
    assert escape_line(escape_line(text)) == escape_line(text)
    assert escape_lines(escape_lines(text)) == escape_lines(text)
    assert escape_lines(text).count("\n") == text.count("\n")
    assert escape_json(escape_json(text)) == escape_json(text)


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u200d", "\u202e", "\u2066", "\u061c", "\x85", "\x9b", "\u3164", "\ufe0f"]
)
def test_what_shows_nothing_is_escaped(hidden):
    assert hidden not in escape_name(f"a{hidden}b")
    assert hidden not in escape_lines(f"a{hidden}b")
    assert hidden not in escape_json(f'"a{hidden}b"')

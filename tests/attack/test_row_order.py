"""The order of rows and columns in the files changes no number, no verdict and no row number in a message."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deconfound as dc
from deconfound.data import Experiment
from deconfound.data.row_order import content_order, take_rows
from deconfound.demo import make_demo
from deconfound.diagnose import check
from deconfound.loading import load_replay
from deconfound.planning import load_log_and_replay, plan
from tests.support.results import demo_result, load_demo, small_demo

TABLES = ("log", "experiment", "replay")


def shuffle(table: pa.Table, seed: int) -> pa.Table:
    """The same table with other orders of rows and columns."""
    rng = np.random.default_rng(seed)
    names = [table.column_names[i] for i in rng.permutation(table.num_columns)]
    return table.take(rng.permutation(table.num_rows)).select(names)


def shuffled(demo, seed: int) -> dict[str, pa.Table]:
    return {name: shuffle(getattr(demo, name), seed + i) for i, name in enumerate(TABLES)}


def assert_same_answer(again: dc.Result, result: dc.Result) -> None:
    for name in ("values", "direct", "experiment", "raw_log"):
        one, other = getattr(again, name), getattr(result, name)
        np.testing.assert_array_equal(one.estimate, other.estimate)
        np.testing.assert_array_equal(one.covariance, other.covariance)
        np.testing.assert_array_equal(one.interval(), other.interval())
    assert again.findings == result.findings
    assert again.recommendations == result.recommendations
    assert repr(again.routing) == repr(result.routing)  # a gain of NaN equals itself
    assert again.summary(verbose=True) == result.summary(verbose=True)


@pytest.mark.slow
def test_shuffled_rows_and_columns_of_the_whole_demo_give_the_same_answer_to_the_last_digit():
    demo = make_demo(0)
    assert_same_answer(dc.evaluate(load_demo(demo, **shuffled(demo, 1))), dc.evaluate(load_demo(demo)))


@pytest.mark.parametrize("family", ["auto", "cvci", "grounded"])
def test_shuffled_tables_give_every_family_the_same_answer(family):
    again = dc.evaluate(load_demo(small_demo(), **shuffled(small_demo(), 2)), family)
    assert_same_answer(again, demo_result(family))


def test_a_shuffled_target_gives_the_same_checks():
    demo = small_demo()
    target = demo.log.select(["context", "cluster"])
    study = load_demo(demo)
    assert check(study, target=shuffle(target, 3)) == check(study, target=target)


def test_shuffled_tables_give_the_same_plan():
    demo = small_demo()
    plans = [plan(load_log_and_replay(log=t["log"], replay=t["replay"])) for t in (tables_of(demo), shuffled(demo, 4))]
    assert repr(plans[0].inputs) == repr(plans[1].inputs)


def tables_of(demo) -> dict[str, pa.Table]:
    return {name: getattr(demo, name) for name in TABLES}


def test_a_shuffled_replay_of_new_contexts_gets_the_same_recommendations():
    replay = small_demo().replay
    result = demo_result()
    assert result.recommend(shuffle(replay, 5)) == result.recommend(replay)


def test_unnumbered_draws_may_come_in_any_order():
    """The draws are numbered by their place in the file, which is no content."""
    rows = pa.table({"context": ["a"] * 4, "model": ["ant", "bee"] * 2, "output": ["w", "x", "y", "z"]})
    one, other = (load_replay(table).in_content_order().arrow for table in (rows, shuffle(rows, 1)))
    assert one.drop_columns(["draw"]).equals(other.drop_columns(["draw"]))


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["", "x", "é"]), st.sampled_from([0.0, -0.0, 1.0])),
        min_size=1,
        max_size=12,
    ),
    random=st.randoms(use_true_random=False),
)
def test_the_order_is_that_of_the_content(rows, random):
    def ordered(values):
        names = ("model", "output", "outcome")
        table = pa.table({name: list(column) for name, column in zip(names, zip(*values, strict=True), strict=True)})
        return take_rows(table, content_order(table)).to_pylist()

    assert ordered(random.sample(rows, len(rows))) == ordered(rows)


def test_renaming_the_models_moves_no_row_that_differs_in_anything_else():
    table = pa.table({"model": ["ant", "bee"] * 20, "output": [str(i) for i in range(40)]})
    renamed = table.set_column(0, "model", pa.array(["bee", "ant"] * 20))
    np.testing.assert_array_equal(content_order(table), content_order(renamed))


def test_of_rows_that_differ_only_in_the_model_no_model_comes_first_everywhere():
    rows = [{"context_id": str(i), "model": model, "output": "yes"} for i in range(200) for model in ("ant", "bee")]
    table = pa.Table.from_pylist(rows)
    ordered = take_rows(table, content_order(table))
    first = [row["model"] for row in dedupe(ordered.to_pylist(), "context_id")]
    assert 60 < first.count("ant") < 140  # 100 expected, six standard deviations of 7


def test_the_first_output_of_a_context_is_not_the_smallest():
    """Some checks take one row per context; in alphabetical order they would take a special one."""
    rng = np.random.default_rng(0)
    outputs = [f"{value:.6f}" for value in rng.random(800)]
    table = pa.table({"context_id": [str(i // 4) for i in range(800)], "output": outputs})
    first = dedupe(take_rows(table, content_order(table)).to_pylist(), "context_id")
    mean = np.mean([float(row["output"]) for row in first])
    assert abs(mean - 0.5) < 6 * np.sqrt(1 / 12 / 200)


def dedupe(rows, key):
    return list({row[key]: row for row in reversed(rows)}.values())


def test_rows_keep_the_numbers_of_the_file():
    table = pa.table({"context_id": list("cab"), "model": list("xyz"), "outcome": [0.0, 0.5, 1.0]})
    ordered = Experiment(table, "experiment.csv").in_content_order()
    places = {ordered.arrow["model"][row].as_py(): ordered.locate(row) for row in range(3)}
    assert places == {"x": "experiment.csv row 1", "y": "experiment.csv row 2", "z": "experiment.csv row 3"}


def test_a_large_text_column_is_reordered_in_pieces(monkeypatch):
    monkeypatch.setattr("deconfound.data.row_order.LARGE_COLUMN_BYTES", 1)
    monkeypatch.setattr("deconfound.data.row_order.ROWS_AT_ONCE", 3)
    column = pa.chunked_array([["a", "b"], ["c", "d", "e", "f", "g"]])
    order = np.array([6, 0, 3, 1, 5, 2, 4])
    table = take_rows(pa.table({"output": column}), order)
    assert table.schema.field("output").type == pa.string()
    assert "".join(table["output"].to_pylist()) == "gadbfce"


def test_findings_are_comparable():
    """The comparison above would be empty if findings compared by identity."""
    finding = demo_result().findings[0]
    assert dataclasses.replace(finding) == finding

"""Canonical tables: context ids, draws, outcomes and findings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.data import text_ids
from deconfound.errors import UsageError
from deconfound.loading import load
from deconfound.loading.draws import occurrence_index
from tests.support.studies import Good, good_with, refused, tables

# Contexts and draws


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_row_order_changes_neither_models_nor_ids(random):
    good = Good()
    pairs = {(row["context"], row["model"]) for row in good.replay}
    for rows in (good.log, good.experiment, good.replay):
        random.shuffle(rows)
    study = load(**tables(good))
    assert study.models == ("ant", "bee", "cat")
    table = study.replay.arrow
    assert table["context_id"].equals(text_ids(table["context"]))
    assert set(zip(table["context"].to_pylist(), table["model"].to_pylist(), strict=True)) == pairs


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_occurrences_are_counted_in_order_of_appearance(codes):
    expected = [codes[:i].count(code) for i, code in enumerate(codes)]
    assert occurrence_index(np.array(codes)).tolist() == expected


def test_a_table_without_ids_takes_those_that_another_gives_to_the_same_text():
    good = good_with(replay=lambda row: row.update(context_id="n" + row["context"][-1]))
    study = load(**tables(good))
    assert study.experiment.arrow["context_id"].to_pylist() == [f"n{i}" for i in range(6)]


def test_a_text_without_an_id_anywhere_is_identified_by_its_hash():
    good = good_with(replay=lambda row: row.update(context_id="n" + row["context"][-1]))
    good.log[0]["context"] = "a"
    assert load(**tables(good)).log.arrow["context_id"][0].as_py() == "40f89e395b66422f"


def test_unnumbered_draws_are_numbered_in_order():
    good = good_with(replay=lambda row: row.pop("draw"))
    good.replay += [row | {"output": "again"} for row in good.replay[:2]]
    table = load(**tables(good)).replay.arrow
    assert table["draw"].to_pylist() == [0] * 18 + [1, 1]


def test_a_study_may_have_no_text_at_all():
    good = Good()
    for row in good.all_rows():
        row["context_id"], row["feature_len"] = row.pop("context"), len(row.pop("output"))
    study = load(**tables(good))
    assert not study.has_text
    assert study.feature_names == ("feature_len",)
    assert study.replay.arrow.column_names == ["context_id", "model", "draw", "feature_len"]


# Outcomes and outputs


@pytest.mark.parametrize("values", [[True, False] * 6, ["TRUE", "false"] * 6, ["1", " 0.0 "] * 6, ["+1", "0e3"] * 6])
def test_outcomes_may_be_booleans_or_numbers_written_as_text(values):
    table = tables(Good())["log"].drop_columns(["outcome"]).append_column("outcome", [values])
    assert load(**tables(Good()) | {"log": table}).log.arrow["outcome"].to_pylist() == [1.0, 0.0] * 6


def test_outcomes_on_another_scale_are_rescaled():
    good = good_with(
        log=lambda row: row.update(outcome=1 + 4 * row["outcome"]), experiment=lambda r: r.update(outcome=2)
    )
    study = load(**tables(good), outcome_range=(1, 5))
    assert study.outcome_range == (1.0, 5.0)
    assert study.log.arrow["outcome"].to_pylist() == [0.0, 1.0] * 6
    assert set(study.experiment.arrow["outcome"].to_pylist()) == {0.25}


@pytest.mark.parametrize("bad", [(5, 5), (0, float("inf")), (float("nan"), 1)])
def test_an_impossible_range_is_a_usage_error(bad):
    with pytest.raises(UsageError, match="--outcome-range"):
        load(**tables(Good()), outcome_range=bad)


def test_rows_without_outcome_are_set_aside_and_those_of_the_log_counted_by_model():
    good = Good()
    good.log[1]["outcome"] = good.log[6]["outcome"] = None
    good.experiment[0]["outcome"] = float("nan")
    study = load(**tables(good))
    assert (len(study.log), len(study.unrated_log)) == (10, 2)
    assert (len(study.experiment), len(study.unrated_experiment)) == (5, 1)
    assert study.log.locate(1) == "log (Table) row 3"
    assert study.unrated_log.locate(1) == "log (Table) row 7"
    assert len(study.randomized) == len(good.experiment)
    (finding,) = [finding for finding in study.findings if finding.check == "log without outcomes"]
    assert "2 of 12 rows have no outcome" in finding.message
    assert "ant: 1, bee: 1" in finding.message


def test_a_study_with_every_outcome_has_nothing_set_aside():
    study = load(**tables(Good()))
    assert study.unrated_log is study.unrated_experiment is None
    assert study.randomized is study.experiment


def test_older_code_may_still_ask_to_drop_rows_without_outcome():
    good = Good()
    good.log[1]["outcome"] = None
    assert len(load(**tables(good), drop_missing=True).log) == 11


def test_a_table_without_any_outcome_is_refused():
    good = good_with(log=lambda row: row.update(outcome=None))
    assert "no row has an outcome" in refused(**tables(good))


@pytest.mark.parametrize(("name", "bad"), [("label_a", None), ("label_a", "high"), ("cluster", None), ("cluster", " ")])
def test_optional_columns_that_cannot_be_read_in_every_row_are_left_out_with_a_warning(name, bad):
    good = good_with(log=lambda row: row.update({name: "1"}))
    good.log[4][name] = bad
    study = load(**tables(good))
    assert name not in study.log.arrow.column_names
    (finding,) = [finding for finding in study.findings if finding.check == "columns left out"]
    assert finding.verdict == "warn"
    assert "row 5" in finding.message


@pytest.mark.parametrize(
    ("up", "down"), [("yes", "no"), ("👍", "👎"), ("True", "False"), ("thumbs up", "thumbs down"), ("100 %", "0 %")]
)
def test_words_are_outcomes_with_a_finding(up, down):
    good = good_with(log=lambda row: row.update(outcome=up if row["outcome"] > 0.5 else down))
    study, plain = (
        load(**tables(good)),
        load(**tables(good_with(log=lambda row: row.update(outcome=float(row["outcome"] > 0.5))))),
    )
    assert study.log.arrow["outcome"].to_pylist() == plain.log.arrow["outcome"].to_pylist()
    if up != "True":
        (finding,) = [finding for finding in study.findings if finding.check == "outcome words"]
        assert f"{up} = 1" in finding.message


def test_the_users_words_come_first_and_may_stand_among_numbers():
    good = good_with(log=lambda row: row.update(outcome="meh"))
    good.log[0]["outcome"] = "1"
    study = load(**tables(good), outcome_values={"meh": 0.5})
    assert study.log.arrow["outcome"].to_pylist() == [1.0] + [0.5] * 11
    assert '"meh" is not a number' in refused(**tables(good))


def test_an_empty_output_is_accepted_with_a_finding():
    good = Good()
    good.replay[1]["output"] = ""
    (finding,) = load(**tables(good)).findings
    assert (finding.check, finding.verdict) == ("empty outputs", "warn")
    assert "bee: 1" in finding.message


def test_a_range_from_the_worst_to_the_best_outcome_may_go_down():
    good = Good()
    for row in (*good.log, *good.experiment):
        row["outcome"] = 60 - 60 * row["outcome"]
    study = load(**tables(good), outcome_range=(60, 0), outcome_unit=" s ")
    assert study.log.arrow.equals(load(**tables(Good())).log.arrow)
    assert (study.outcome_range, study.outcome_unit) == ((60.0, 0.0), "s")
    good.log[0]["outcome"] = 61
    assert "outcome 61 is outside --outcome-range 60 0" in refused(**tables(good), outcome_range=(60, 0))


def test_users_called_na_are_missing_not_one_large_user():
    good = Good()
    for number, row in enumerate(good.log):
        row["cluster"] = "NA" if number % 2 else f"u{number}"
    study = load(**tables(good))
    assert "cluster" not in study.log.arrow.column_names
    assert any(finding.check == "columns left out" for finding in study.findings)

"""Loading: which column means what, and what its values may be, and how all that is wrong is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.data import text_ids
from deconfound.errors import DataError, UsageError
from deconfound.loading import load, load_replay
from tests.support.broken_files import Good, write_study
from tests.support.studies import good_with, refused, same, tables

# --- names ---


def rename(row, **names):
    for new, old in names.items():
        row[new] = row.pop(old)


def test_canonical_columns_have_their_types_and_order():
    good = good_with(log=lambda row: row.update(label_b=1, label_a=True, user_id=7), experiment=lambda r: r.update(p=0))
    study = load(**tables(good))
    schema = {field.name: str(field.type) for field in study.log.arrow.schema}
    assert list(schema.items()) == [
        ("context_id", "string"),
        ("context", "string"),
        ("model", "string"),
        ("output", "string"),
        ("outcome", "double"),
        ("cluster", "string"),
        ("label_a", "double"),
        ("label_b", "double"),
    ]
    assert study.label_names == ("label_a", "label_b")
    assert study.log.arrow["cluster"][0].as_py() == "7"
    assert study.experiment.unused_columns == ("p",)


def test_aliases_are_recognised_in_any_case_and_reported():
    good = Good()
    for rows in (good.log, good.experiment, good.replay):
        for row in rows:
            rename(row, Prompt="context", ARM="model", Response="output")
    for row in (*good.log, *good.experiment):
        rename(row, **{"Thumbs Up": "outcome"})
    study = load(**tables(good))
    assert same(study, load(**tables(Good())))
    (finding, *_) = [finding for finding in study.findings if finding.check == "columns"]
    assert 'outcome is read from column "Thumbs Up"' in finding.message


def test_an_exact_name_wins_over_an_alias():
    study = load(**tables(good_with(log=lambda row: row.update(score=0.3))))
    assert study.log.unused_columns == ("score",)
    assert 0.3 not in study.log.arrow["outcome"].to_pylist()


def test_a_mapped_column_wins_over_an_exact_name_and_is_no_longer_a_label():
    good = good_with(
        log=lambda row: row.update(label_quality=0.3), experiment=lambda row: row.update(label_quality=0.6)
    )
    study = load(**tables(good), columns={"outcome": "label_quality"})
    assert set(study.log.arrow["outcome"].to_pylist()) == {0.3}
    assert study.label_names == ()
    assert "outcome" in study.log.unused_columns


def test_a_table_without_the_mapped_column_may_use_the_exact_name_and_no_alias():
    good = good_with(log=lambda row: rename(row, stars="outcome"))
    assert same(load(**tables(good), columns={"outcome": "stars"}), load(**tables(Good())))
    good = good_with(log=lambda row: rename(row, stars="outcome"), experiment=lambda row: rename(row, score="outcome"))
    message = refused(**tables(good), columns={"outcome": "stars"})
    assert 'experiment (Table): there is no column "stars", to which outcome is mapped' in message


def test_mapping_a_name_that_no_table_has_is_bad_usage():
    with pytest.raises(UsageError, match='"outcom"; did you mean "outcome"'):
        load(**tables(Good()), columns={"outcom": "x"})


# --- rows, contexts and draws ---


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
def test_rows_are_numbered_by_their_order_of_appearance(codes):
    expected = [codes[:i].count(code) for i, code in enumerate(codes)]
    assert appearance(np.array(codes)).tolist() == expected


def test_a_bare_id_numbers_rows_unless_the_text_is_missing():
    good = Good()
    for number, row in enumerate((*good.log, *good.experiment, *good.replay)):
        row["id"] = number
    assert load(**tables(good)).log.unused_columns == ("id",)
    good = Good()
    for row in (*good.log, *good.experiment, *good.replay):
        row["id"] = row["context"][-1]
    for row in good.experiment:
        del row["context"]
    study = load(**tables(good))
    assert study.experiment.arrow["context"].to_pylist() == [row["context"] for row in Good().experiment]
    assert study.log.arrow["context_id"][0].as_py() == "0"


def test_a_table_without_ids_takes_those_that_another_gives_to_the_same_text():
    good = good_with(replay=lambda row: row.update(context_id="n" + row["context"][-1]))
    study = load(**tables(good))
    assert study.experiment.arrow["context_id"].to_pylist() == [f"n{i}" for i in range(6)]


def test_a_text_unknown_elsewhere_goes_by_its_hash():
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
    for row in (*good.log, *good.experiment, *good.replay):
        row["context_id"], row["feature_len"] = row.pop("context"), len(row.pop("output"))
    study = load(**tables(good))
    assert not study.has_text
    assert study.feature_names == ("feature_len",)
    assert study.replay.arrow.column_names == ["context_id", "model", "draw", "feature_len"]


def test_a_replay_alone_must_cover_the_models_asked_for():
    table = tables(Good())["replay"]
    replay = load_replay(table, models=["ant", "bee"])
    assert replay.unique_values("model") == {"ant", "bee"}
    assert [finding.check for finding in replay.findings] == ["models"]
    assert len(load_replay(table)) == 18
    with pytest.raises(DataError, match='row 1: context "question 0" has no output of dog'):
        load_replay(table, models=["ant", "dog"])


# --- outcomes, outputs and propensities ---


@pytest.mark.parametrize("values", [[True, False] * 6, ["TRUE", "false"] * 6, ["1", " 0.0 "] * 6, ["+1", "0e3"] * 6])
def test_outcomes_may_be_truth_values_or_written_numbers(values):
    table = tables(Good())["log"].drop_columns(["outcome"]).append_column("outcome", [values])
    assert load(**tables(Good()) | {"log": table}).log.arrow["outcome"].to_pylist() == [1.0, 0.0] * 6


def test_outcomes_on_another_scale_are_rescaled():
    good = good_with(
        log=lambda row: row.update(outcome=1 + 4 * row["outcome"]), experiment=lambda r: r.update(outcome=2)
    )
    study = load(**tables(good), outcome_range=(1, 5))
    assert study.log.arrow["outcome"].to_pylist() == [0.0, 1.0] * 6
    assert set(study.experiment.arrow["outcome"].to_pylist()) == {0.25}


@pytest.mark.parametrize("bad", [(5, 1), (0, float("inf")), (float("nan"), 1)])
def test_a_range_that_is_none_is_bad_usage(bad):
    with pytest.raises(UsageError, match="--outcome-range"):
        load(**tables(Good()), outcome_range=bad)


def test_rows_without_outcome_go_when_asked_and_are_counted_by_model():
    good = Good()
    good.log[1]["outcome"] = good.log[6]["outcome"] = None
    study = load(**tables(good), drop_missing=True)
    assert len(study.log) == 10
    assert study.log.locate(1) == "log (Table) row 3"
    (finding,) = [finding for finding in study.findings if finding.check == "missing outcomes"]
    assert (finding.verdict, finding.message) == (
        "warn",
        "log (Table): 2 rows without outcome left out (ant: 1, bee: 1).",
    )


def test_a_table_without_any_outcome_is_refused_even_when_dropping():
    assert "no row has an outcome" in refused(
        **tables(good_with(log=lambda r: r.update(outcome=None))), drop_missing=True
    )


def test_an_empty_output_is_an_answer_and_a_finding():
    good = Good()
    good.replay[1]["output"] = ""
    (finding,) = load(**tables(good)).findings
    assert (finding.check, finding.verdict) == ("empty outputs", "warn")
    assert "bee: 1" in finding.message


def test_the_propensity_of_a_row_is_that_of_its_model():
    good = good_with(experiment=lambda row: row.update(propensity_ant=0.2, propensity_bee=0.3, propensity_cat=0.5))
    assert load(**tables(good)).experiment.arrow["propensity"].to_pylist() == [0.2, 0.3, 0.5] * 2
    good = good_with(experiment=lambda row: row.update(propensity_score=0.25))
    assert set(load(**tables(good)).experiment.arrow["propensity"].to_pylist()) == {0.25}


def test_rounded_propensities_are_near_enough_to_one():
    good = good_with(experiment=lambda row: row.update(propensity_ant=0.33, propensity_bee=0.33, propensity_cat=0.33))
    assert load(**tables(good)).experiment.arrow["propensity"][0].as_py() == 0.33


# --- problems ---


def test_ten_thousand_faults_of_a_kind_are_one_line(tmp_path):
    good = Good()
    good.log = [good.log[0] | {"outcome": None}] * 10_000
    message = refused(**write_study(tmp_path, good, "jsonl"))
    assert message.count("\n") == 0
    assert "10,000 lines: 1, 2, 3, …" in message


def test_the_problems_of_all_files_come_together(tmp_path):
    paths = write_study(tmp_path, Good(), "csv")
    Path(paths["log"]).write_bytes(b"")
    good = Good()
    good.experiment[0]["outcome"], good.experiment[1]["model"] = 9, " "
    good.replay[2]["output"] = None
    paths |= {role: tables(good)[role] for role in ("experiment", "replay")}
    with pytest.raises(DataError) as caught:
        load(**paths)
    places = [problem.where for problem in caught.value.problems]
    assert places == ["log.csv", "experiment (Table) row 2", "experiment (Table) row 1", "replay (Table) row 3"]


def test_a_bad_outcome_does_not_hide_a_model_without_replay():
    good = Good()
    good.experiment[0]["outcome"], good.experiment[1]["model"] = 9, "wasp"
    message = refused(**tables(good))
    assert "--outcome-range" in message
    assert '"wasp" has no replay' in message


def test_control_characters_in_values_do_not_reach_the_terminal():
    good = Good()
    good.log[0]["outcome"] = "\x1b[2J" + "x" * 500
    for row in good.log[1:]:
        row["outcome"] = "1"
    message = refused(**tables(good))
    assert "\x1b" not in message
    assert len(message) < 300

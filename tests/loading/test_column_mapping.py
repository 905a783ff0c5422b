"""Which of a user's columns is which: exact names, --map, aliases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deconfound.errors import DataError, Problem, UsageError
from deconfound.loading import load
from deconfound.loading.column_mapping import ALIASES
from tests.support.studies import Good, good_with, refused, same, tables


def rename(row, **names):
    for new, old in names.items():
        row[new] = row.pop(old)


def problems_of(good: Good, **columns: str) -> tuple[Problem, ...]:
    with pytest.raises(DataError) as caught:
        load(**tables(good), columns=columns)
    return caught.value.problems


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


def test_aliases_are_recognized_in_any_case_and_reported():
    good = Good()
    for row in good.all_rows():
        rename(row, Prompt="context", ARM="model", Response="output")
    for row in (*good.log, *good.experiment):
        rename(row, **{"Thumbs Up": "outcome"})
    study = load(**tables(good))
    assert same(study, load(**tables(Good())))
    (finding, *_) = [finding for finding in study.findings if finding.check == "columns"]
    assert 'outcome is read from column "Thumbs Up"' in finding.message


def test_a_column_whose_name_is_not_a_plain_word_is_quoted_in_problems():
    good = good_with(log=lambda row: rename(row, **{"Thumbs Up": "outcome"}))
    good.log[2]["Thumbs Up"] = 3
    assert 'row 3: "Thumbs Up" 3 is outside 0 to 1' in refused(**tables(good))


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


def test_a_table_without_the_mapped_column_may_use_the_exact_name_but_no_alias():
    good = good_with(log=lambda row: rename(row, stars="outcome"))
    assert same(load(**tables(good), columns={"outcome": "stars"}), load(**tables(Good())))
    good = good_with(log=lambda row: rename(row, stars="outcome"), experiment=lambda row: rename(row, score="outcome"))
    message = refused(**tables(good), columns={"outcome": "stars"})
    assert message.startswith('experiment (Table): there is no column "stars"')
    assert "--map experiment.outcome=COLUMN" in message


def test_a_column_that_every_table_lacks_is_one_problem():
    good = Good()
    for row in good.all_rows():
        rename(row, engine_name="model")
    (problem,) = problems_of(good)
    assert problem.where == "log (Table), experiment (Table), replay (Table)"
    assert "no column for the model" in problem.what
    assert "engine_name" in problem.what


def test_a_mapping_to_a_column_that_no_table_has_is_one_problem():
    good = Good()
    for row in good.all_rows():
        rename(row, engine_name="model")
    (problem,) = problems_of(good, model="engine")
    assert 'no column "engine", which --map gives for model' in problem.what
    assert 'did you mean "engine_name"?' in problem.fix


def test_mapping_a_name_that_is_not_canonical_is_a_usage_error():
    with pytest.raises(UsageError, match=r'--map: "outcom".*did you mean "outcome"'):
        load(**tables(Good()), columns={"outcom": "x"})


def test_a_bare_id_identifies_contexts_only_if_some_text_is_missing():
    good = Good()
    for number, row in enumerate(good.all_rows()):
        row["id"] = number
    assert load(**tables(good)).log.unused_columns == ("id",)
    good = Good()
    for row in good.all_rows():
        row["id"] = row["context"][-1]
    for row in good.experiment:
        del row["context"]
    study = load(**tables(good))
    assert study.experiment.arrow["context"].to_pylist() == [row["context"] for row in Good().experiment]
    assert study.log.arrow["context_id"][0].as_py() == "0"


def test_the_documented_aliases_are_those_that_are_tried():
    page = (Path(__file__).parents[2] / "docs" / "file-formats.md").read_text(encoding="utf-8")
    section = page.partition("### Names")[2].partition("### Outcomes")[0]
    documented = {}
    for name, aliases in re.findall(r"^\| `(\w+)` \| (.+) \|$", section, flags=re.MULTILINE):
        documented[name] = tuple(re.findall(r"`(\w+)`", aliases))
    assert documented == ALIASES

"""Names of models and contexts that are written in two ways: named in messages and findings, never merged."""

from __future__ import annotations

import pytest

from deconfound.data.name_variants import NameVariants
from deconfound.errors import UsageError
from deconfound.loading import load
from tests.support.studies import Good, good_with, refused, tables

VARIANTS = [
    ("ANT", "case"),
    ("ant ", "spaces"),
    ("a n\tt", "spaces"),
    ("ａｎｔ", "Unicode normalization"),
    ("openai/ant", "a prefix such as a provider's"),
    ("openai:ant", "a prefix such as a provider's"),
    ("a\u200bnt", "invisible characters"),
    ("eu/openai/ant", "a prefix such as a provider's"),
    ("OpenAI/Ant", "a prefix such as a provider's and case"),
    (" ANT", "spaces and case"),
]


@pytest.mark.parametrize("name", ["ant-2026-01-01", "ant-20260101", "ant@20260101", "openai/ant-2026-01-01"])
def test_a_date_at_the_end_is_a_way_of_writing_where_the_other_name_has_none(name):
    assert "a date at the end" in NameVariants(["ant", "bee"]).find(name).description
    assert "a date at the end" in NameVariants([name, "bee"]).find("ant").description


def test_two_dates_are_two_versions():
    assert NameVariants(["ant-2026-01-01"]).find("ant-2026-05-01") is None
    assert NameVariants(["ant-2026-01-01", "ant-2026-05-01"]).find("ant") is None
    assert NameVariants(["ant", "ant-2026-05-01"]).find("ant-2026-01-01").name == "ant"
    assert NameVariants(["ant"]).find("ant-2026-13-01") is None
    assert NameVariants(["ant"]).find("ant-4096-01-01") is None


def rename(row, name):
    row["model"] = name if row["model"] == "ant" else row["model"]


@pytest.mark.parametrize(("name", "difference"), VARIANTS)
def test_names_that_differ_in_writing_are_found(name, difference):
    variant = NameVariants(["ant", "bee"]).find(name)
    assert variant is not None
    assert variant.description == f'differs from "ant" only in {difference}'


@pytest.mark.parametrize("name", ["ant", "ant2", "ants", "ant/", "cat", "", "/", ":", "ant:latest"])
def test_other_names_are_not(name):
    assert NameVariants(["ant", "bee"]).find(name) is None


@pytest.mark.parametrize(("name", "difference"), VARIANTS[:6])
def test_the_log_warns_of_rows_of_such_a_name(name, difference):
    good = good_with(log=lambda row: rename(row, name))
    good.log[0]["model"] = "owl"
    study = load(**tables(good))
    warning, note = [finding for finding in study.findings if finding.check == "models"]
    assert warning.verdict == "warn"
    assert f'which differs from "ant" only in {difference}' in warning.message
    assert "not compared" in warning.message
    assert "--rename-model" in warning.remedy
    assert note.verdict == "pass"
    assert note.message == "log (Table): 1 row of models that are not compared (owl) are used only to train the reward."
    assert name in study.log.unique_values("model")


def test_the_experiment_says_it_in_the_error():
    message = refused(**tables(good_with(experiment=lambda row: rename(row, "ANT"))))
    assert 'model "ANT" has no replay (2 rows)' in message
    assert 'It differs from "ant" only in case: pass --rename-model ANT=ant if that is meant.' in message


def test_the_option_says_it_too():
    with pytest.raises(UsageError, match='"ANT" has no replay; it differs from "ant" only in case'):
        load(**tables(Good()), models=["ANT", "bee"])


@pytest.mark.parametrize("change", [lambda text: text + " ", lambda text: f"\n{text}\r\n"])
def test_a_context_that_was_replayed_under_another_writing_is_explained(change):
    good = good_with(experiment=lambda row: row.update(context=change(row["context"])))
    message = refused(**tables(good))
    assert (
        "6 contexts differ from a replayed one only in surrounding spaces, line ends or Unicode normalization"
        in message
    )


def test_line_ends_inside_a_context_count_as_writing():
    good = good_with(
        experiment=lambda row: row.update(context=row["context"] + "\r\nmore"),
        replay=lambda row: row.update(context=row["context"] + "\nmore"),
    )
    assert "6 contexts differ from a replayed one" in refused(**tables(good))


def test_a_context_that_was_never_replayed_is_not():
    good = Good()
    good.experiment[0]["context"] = "another question"
    assert "differ" not in refused(**tables(good))


def test_the_log_warns_of_contexts_that_are_written_differently():
    """Otherwise checks that need the same contexts in both tables see none, and say nothing."""
    study = load(**tables(good_with(log=lambda row: row.update(context=row["context"] + " "))))
    warning = next(finding for finding in study.findings if finding.check == "contexts")
    assert warning.verdict == "warn"
    assert "6 contexts differ from a replayed one only in surrounding spaces" in warning.details.message
    assert all(finding.check != "contexts" for finding in load(**tables(good_with())).findings)

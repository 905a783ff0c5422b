"""Outcomes as words: the user's go first in every format, known ones are ends of the scale, none is lost silently."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from deconfound.loading import load
from deconfound.loading.outcome_words import OutcomeScale
from tests.support.studies import Good, refused, tables, write_study

CELLS = [
    ("up", {}, None, 1.0),
    (" Thumbs Down ", {}, None, 0.0),
    ("👍🏽", {}, None, 1.0),
    ("80%", {}, None, 0.8),
    ("80 %", {}, (0.0, 100.0), 80.0),
    ("12,5%", {}, None, 0.125),
    ("down", {}, (-1.0, 1.0), -1.0),
    (True, {}, (1.0, 5.0), 5.0),
    ("0.5", {}, (-1.0, 1.0), 0.5),
    (3, {}, (1.0, 5.0), 3.0),
    ("good", {"Good": 0.9}, None, 0.9),
    ("Good", {"Good": 0.9, "good": 0.1}, None, 0.9),
    ("good", {"Good": 0.9, "good": 0.1}, None, 0.1),
    ("true", {"True": 0.0}, None, 0.0),
    (True, {"true": 0.0}, None, 0.0),
    (False, {"true": 0.0}, None, 0.0),
    ("none", {"none": 0.0}, None, 0.0),
    (1, {"1": 0.2}, None, 0.2),
    ("1.0", {"1": 0.2}, None, 0.2),
    (1.0, {"1": 0.2}, None, 0.2),
    ("up", {"up": 4.0}, (1.0, 5.0), 4.0),
    ("down", {"up": 4.0}, (1.0, 5.0), math.nan),
    ("meh", {}, None, math.nan),
    (None, {"none": 0.0}, None, math.nan),
]


@pytest.mark.parametrize(("cell", "words", "ends", "expected"), CELLS)
def test_the_value_of_a_cell(cell, words, ends, expected):
    assert OutcomeScale(ends, words).value(cell) == pytest.approx(expected, nan_ok=True)


def with_outcomes(*cells):
    good = Good()
    for rows in (good.log, good.experiment):
        for number, row in enumerate(rows):
            row["outcome"] = cells[number % len(cells)]
    return good


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("cells", [(True, False), ("true", "false"), ("True", "FALSE")])
def test_the_user_s_words_are_obeyed_in_every_format(tmp_path, ending, cells):
    """Otherwise one export of the same study ranks the models in reverse."""
    paths = write_study(tmp_path, with_outcomes(*cells), ending)
    study = load(**paths, outcome_values={"true": 0, "false": 1})
    assert study.log.arrow["outcome"].to_pylist()[:2] == [0.0, 1.0]


@pytest.mark.parametrize("cells", [(1, 0), ("1", "0"), (1.0, 0.0)])
def test_numbers_can_have_a_meaning_too(cells):
    study = load(**tables(with_outcomes(*cells)), outcome_values={"1": 0.2})
    assert study.log.arrow["outcome"].to_pylist()[:2] == [0.2, 0.0]


def test_a_word_for_missing_values_can_be_an_outcome():
    study = load(**tables(with_outcomes("yes", "none")), outcome_values={"none": 0, "yes": 1})
    assert study.unrated_log is None
    assert study.log.arrow["outcome"].to_pylist()[:2] == [1.0, 0.0]
    assert len(load(**tables(with_outcomes("yes", "none"))).unrated_log) == 6


def test_known_words_are_the_ends_of_the_user_s_scale():
    study = load(**tables(with_outcomes("up", "down")), outcome_range=(-1, 1))
    assert study.log.arrow["outcome"].to_pylist()[:2] == [1.0, 0.0]
    study = load(**tables(with_outcomes("80%", "20%")), outcome_range=(0, 100))
    assert study.log.arrow["outcome"].to_pylist()[:2] == pytest.approx([0.8, 0.2])


def test_booleans_are_the_ends_of_the_user_s_scale():
    study = load(**tables(with_outcomes(True, False)), outcome_range=(1, 5))
    assert study.log.arrow["outcome"].to_pylist()[:2] == [1.0, 0.0]


ONE_SCALE = [
    (("yes", "no", "1", "0"), None, [1, 0, 1, 0]),
    (("true", "0", "no", "1.0"), None, [1, 0, 0, 1]),
    (("👍", "0"), None, [1, 0]),
    (("up", "-1", "down", "1"), (-1, 1), [1, 0, 0, 1]),
    (("yes", "5", "no"), (1, 5), [1, 1, 0]),
    (("yes", "", "0", "n/a"), None, [1, 0, 1, 0]),
]


@pytest.mark.parametrize(("cells", "ends", "expected"), ONE_SCALE)
def test_words_and_the_numbers_that_they_mean_are_one_scale(cells, ends, expected):
    study = load(**tables(with_outcomes(*cells)), outcome_range=ends)
    assert study.log.arrow["outcome"].to_pylist()[: len(expected)] == expected
    assert any("outcome is read as numbers (" in finding.message for finding in study.findings)


CONTRADICTIONS = [
    (("yes", "4", "no"), None, 'row 2: outcome 4 is a number among words such as "yes", which would mean 1'),
    (("4", "yes", "no"), (1, 5), 'row 1: outcome 4 is a number among words such as "yes", which would mean 5'),
    (("no", "1"), (1, 5), 'row 2: outcome 1 is a number among words such as "no", which would mean 1'),
    (("yes", "0.5"), None, 'row 2: outcome 0.5 is a number among words such as "yes"'),
    (("90%", "80"), (0, 100), 'row 2: outcome 80 is a number among words such as "90%", which would mean 90'),
    (("90%", "1"), None, "row 2: outcome 1 is a number among words"),
    (("5", "good"), (0, 100), "row 1: outcome 5 is a number among words"),
    (("1", "good"), None, "row 1: outcome 1 is a number among words"),
    (("3", "4", "yes"), (1, 5), 'row 3: outcome "yes" is a word among numbers such as 3'),
]


@pytest.mark.parametrize(("cells", "ends", "message"), CONTRADICTIONS)
def test_numbers_that_mean_another_scale_than_the_words_are_refused(cells, ends, message):
    """On a scale from 1 to 5, a 1 beside "no" may mean yes."""
    text = refused(**tables(with_outcomes(*cells)), outcome_range=ends)
    assert message in text
    assert "--outcome-values WORD=NUMBER" in text
    assert text.count("log (Table)") == 1


def test_columns_without_a_known_word_are_refused_as_a_whole():
    assert "is not a number" in refused(**tables(with_outcomes("left", "right")))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("cells", "values", "ends"),
    [
        ((-1, 1, 0), {"-1": None}, None),
        ((999, 5, 1), {"999": None}, (1, 5)),
        ((-1, 5, 999, 1), {"-1": None, "999": float("nan")}, (1, 5)),
        (("skipped", "yes", "no"), {"Skipped": None}, None),
        (("-", "+", "o"), {"-": None, "+": 1, "o": 0}, None),
        (("-1", "yes", "no"), {"-1": None}, None),
    ],
)
def test_codes_for_missing_outcomes_are_missing(tmp_path, ending, cells, values, ends):
    """Known words are still known: a code says nothing about them."""
    paths = write_study(tmp_path, with_outcomes(*cells), ending)
    study = load(**paths, outcome_values=values, outcome_range=ends)
    assert set(study.log.arrow["outcome"].to_pylist()) == {0.0, 1.0}
    assert len(study.unrated_log) == sum(
        cells[row % len(cells)] in (-1, 999, "skipped", "-", "-1") for row in range(12)
    )
    counted = next(finding.message for finding in study.findings if finding.check == "missing codes")
    assert f"log.{ending}: {len(study.unrated_log)} outcomes count as missing" in counted


def test_a_code_that_occurs_nowhere_is_refused():
    message = refused(**tables(with_outcomes(1, 0)), outcome_values={"-1": None})
    assert "no outcome is -1, which --outcome-values names; there are 1, 0" in message


@pytest.mark.parametrize(
    ("cells", "ends", "option"),
    [
        ((1, 0, -1), None, "--outcome-values -1=missing"),
        ((5, 1, 0), (1, 5), "--outcome-values 0=missing"),
        ((5, 1, 999), (1, 5), "--outcome-values 999=missing"),
        ((5, 1, 999, -1), (1, 5), "--outcome-values -1=missing,999=missing"),
        (("5", "1", "-1"), (1, 5), "--outcome-values -1=missing"),
    ],
)
def test_a_value_that_may_be_a_code_is_named_with_the_option(cells, ends, option):
    message = refused(**tables(with_outcomes(*cells)), outcome_range=ends)
    assert f"stands for a missing outcome, pass {option}. Otherwise correct it, or" in message


@pytest.mark.parametrize(("cells", "ends"), [((1, 2, 3, 4), None), ((6, 1, 2, 7), (1, 5))])
def test_several_values_outside_are_outcomes(cells, ends):
    assert "missing" not in refused(**tables(with_outcomes(*cells)), outcome_range=ends)


def test_a_word_that_occurs_nowhere_is_refused():
    message = refused(**tables(with_outcomes("good", "bad")), outcome_values={"godd": 1})
    assert "no outcome is godd, which --outcome-values names; there are good, bad" in message


def test_who_defines_words_defines_all_of_them():
    """Beside "great", "good" is not the upper end of the scale."""
    good = with_outcomes("great", "good")
    message = refused(**tables(good), outcome_values={"great": 5}, outcome_range=(1, 5))
    assert 'outcome "good" is not a known word' in message
    study = load(**tables(good), outcome_values={"great": 5, "good": 4}, outcome_range=(1, 5))
    assert study.log.arrow["outcome"].to_pylist()[:2] == [1.0, 0.75]


def test_words_in_a_dictionary_column_are_read():
    given = tables(with_outcomes("up", "down"))
    at = given["log"].column_names.index("outcome")
    given["log"] = given["log"].set_column(at, "outcome", given["log"]["outcome"].dictionary_encode())
    assert pa.types.is_dictionary(given["log"]["outcome"].type)
    assert load(**given).log.arrow["outcome"].to_pylist()[:2] == [1.0, 0.0]


def test_only_unknown_words_are_named():
    message = refused(**tables(with_outcomes("up", "sideways")))
    assert 'log (Table) row 2: outcome "sideways" is not a known word (6 rows: 2, 4, 6, …)' in message
    assert "--outcome-values" in message
    assert '"up"' not in message

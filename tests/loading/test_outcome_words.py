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


@pytest.mark.parametrize("cells", [("5", "good"), ("90%", "80"), ("left", "right")])
def test_numbers_and_words_in_one_column_are_refused(cells):
    assert "is not a number" in refused(**tables(with_outcomes(*cells)), outcome_range=(0, 100))


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

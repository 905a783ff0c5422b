"""Words that stand for no rating are named with the option that declares them."""

from __future__ import annotations

import pytest

from deconfound.cli import main
from deconfound.loading.unrated_words import looks_unrated
from tests.support.studies import Good, refused, tables, write_study


@pytest.mark.parametrize("word", ["no rating", "Not-Rated", "unrated", "-", "--", "?", "(unknown)", "skipped"])
def test_words_for_no_rating(word):
    assert looks_unrated(word)


@pytest.mark.parametrize("word", ["meh", "no", "😐", "neutral", "0", "not good"])
def test_other_words_are_ratings(word):
    assert not looks_unrated(word)


def study(*cells):
    """Outcomes of the log and the experiment, over and over again."""
    good = Good()
    for rows in (good.log, good.experiment):
        for number, row in enumerate(rows):
            row["outcome"] = cells[number % len(cells)]
    return good


@pytest.mark.parametrize("word", ["no rating", "-"])
def test_a_word_for_no_rating_is_suggested_as_missing(word):
    message = refused(**tables(study("Yes", "no", word)))
    assert f'If "{word}" stands for no rating, pass --outcome-values' in message
    assert f"{word}=missing" in message


def test_other_unknown_words_are_not():
    message = refused(**tables(study("Yes", "no", "meh")))
    assert "stands for no rating, pass" not in message
    assert "or WORD=missing for one that stands for no rating" in message


@pytest.mark.parametrize("word", ["-", "--", "-?", "-1"])
@pytest.mark.parametrize("form", ["two words", "one word"])
def test_a_word_with_a_hyphen_in_front_can_be_declared(tmp_path, capsys, word, form):
    paths = write_study(tmp_path, study("yes", "no", word), "csv")
    files = [part for role, path in paths.items() for part in (f"--{role}", str(path))]
    option = ["--outcome-values", f"{word}=missing"]
    main(["check", *files, *(option if form == "two words" else ["=".join(option)])])
    printed = capsys.readouterr()
    assert "count as missing" in " ".join(printed.out.split())
    assert "expected one argument" not in printed.err


def test_an_option_after_another_is_still_an_option(tmp_path, capsys):
    paths = write_study(tmp_path, study("yes", "no", "-"), "csv")
    files = [part for role, path in paths.items() for part in (f"--{role}", str(path))]
    assert main(["check", *files, "--outcome-values", "--level=0.9"]) == 2
    assert "--outcome-values: expected one argument" in capsys.readouterr().err

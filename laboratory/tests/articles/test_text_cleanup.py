"""Filled templates become clean sentences."""

from __future__ import annotations

import pytest
from deconfound_bench.articles.text_cleanup import capitalize, to_sentence


@pytest.mark.parametrize(
    ("clause", "sentence"),
    [
        ("a apple fell near Ann Lee, a cook,", "An apple fell near Ann Lee, a cook."),
        ("an union met at 9 a.m..", "A union met at 9 a.m."),
        ("12 people came", "A total of 12 people came."),
        ("1,200 people came", "Some 1,200 people came."),
        ("she sold it to Brown & Co. ,", "She sold it to Brown & Co."),
    ],
)
def test_a_clause_becomes_a_clean_sentence(clause, sentence):
    assert to_sentence(clause) == sentence


@pytest.mark.parametrize(("text", "expected"), [("“yes,” he said", "“Yes,” he said"), ("9 a.m. came", "9 a.m. came")])
def test_capitals_follow_quotation_marks_but_not_digits(text, expected):
    assert capitalize(text) == expected

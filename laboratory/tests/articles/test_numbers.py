"""Numbers and times are written correctly."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from deconfound_bench.articles.numbers import format_time, match_score, ordinal, tennis_score, thousands

from deconfound.demo.text_sampling import TextSampler


@pytest.fixture
def dice():
    return TextSampler(np.random.default_rng(0))


def test_ordinals_have_their_suffix(dice):
    ordinals = {ordinal(dice) for _ in range(2_000)}
    assert {"14th", "21st", "22nd", "23rd", "30th", "89th"} <= ordinals
    assert all(re.fullmatch(r"1[4-9]th|[2-8](1st|2nd|3rd|[04-9]th)", one) for one in ordinals)


@pytest.mark.parametrize(
    ("minutes", "is_american", "text"),
    [(0, True, "12:00 a.m."), (725, True, "12:05 p.m."), (605, False, "10.05 a.m."), (1_440 + 61, False, "1.01 a.m.")],
)
def test_a_time_of_day_is_written_in_the_style_of_the_newspaper(minutes, is_american, text):
    assert format_time(minutes, SimpleNamespace(is_american=is_american)) == text


def test_scores_are_wins(dice):
    for _ in range(200):
        scored, conceded = match_score(dice).split("-")
        assert int(scored) > int(conceded)
        sets = [int(games[0]) > int(games[2]) for games in tennis_score(dice).split(", ")]
        assert sum(sets) == 2
        assert sets[-1]


def test_thousands_have_separators(dice):
    assert all(re.fullmatch(r"\d{1,2},\d{3}", thousands(dice)) for _ in range(500))

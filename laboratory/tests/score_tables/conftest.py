"""Scores that the files of this folder share."""

from __future__ import annotations

import pytest
from deconfound_bench.results import Score

from laboratory.tests.support.random_scores import random_scores


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    return random_scores()

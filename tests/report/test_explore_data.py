"""The data of the explorer stay within one budget of bytes, whatever the script of the texts."""

from __future__ import annotations

import base64
import gzip
import json

import numpy as np
import pytest

from deconfound.data import Replay
from deconfound.report.page.explore_data import explore_data
from deconfound.result import Result
from tests.support.large_results import replay_of, resized_result
from tests.support.results import demo_result

MODELS = ["ant", "bee", "cat"]
CONTEXTS = [f"c{number:03d}" for number in range(300)]


def chinese(count: int, length: int) -> list[str]:
    """Texts of 3,000 equally frequent characters: they hardly compress, and take three bytes each."""
    codes = np.random.default_rng([count, length]).integers(0x4E00, 0x4E00 + 3_000, (count, length))
    return ["".join(map(chr, row)) for row in codes.tolist()]


@pytest.fixture(scope="module")
def study() -> tuple[Result, Replay]:
    result = resized_result(demo_result(), MODELS, CONTEXTS)
    return result, replay_of(MODELS, CONTEXTS, chinese(300, 400), chinese(900, 200))


def unpacked_texts(text: str) -> list[str]:
    table = json.loads(text)["table"]
    texts: list[str] = json.loads(gzip.decompress(base64.b64decode(table)))["texts"]
    return texts


@pytest.mark.parametrize("budget", [30_000, 100_000, 400_000])
def test_contexts_and_outputs_share_one_budget(study, budget):
    """Only the names of fields, models and segments come on top."""
    data = explore_data(*study, budget)
    assert data is not None
    assert len(data.json) < budget + 1_000
    assert data.cut


def test_a_large_budget_cuts_nothing(study):
    data = explore_data(*study)
    assert data is not None
    assert data.cut == ""
    assert {len(text) for text in unpacked_texts(data.json)} == {400}


def test_texts_that_do_not_fit_at_all_are_left_out_and_the_page_says_so(study):
    data = explore_data(*study, 8_000)
    assert data is not None
    assert "900 outputs would be too large for the page and are left out." in data.cut
    assert max(map(len, unpacked_texts(data.json))) <= 16

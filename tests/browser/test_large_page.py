"""10,000 contexts and 20 models: a page that can be mailed, and that scrolls, searches and sorts."""

from __future__ import annotations

from pathlib import Path

import pytest

from deconfound.atomic import write_text
from deconfound.report.page.render_page import render_html
from tests.support.browser import open_page, wait_until
from tests.support.large_results import random_texts, replay_of, resized_result
from tests.support.results import demo_result

pytestmark = pytest.mark.slow

CONTEXTS, MODELS = 10_000, 20
MAX_BYTES = 15_000_000
MAX_ROWS_IN_DOCUMENT = 60


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    models, names = [f"provider/model-{at:02d}" for at in range(MODELS)], [f"c{at:05d}" for at in range(CONTEXTS)]
    result = resized_result(demo_result(), models, names)
    outputs = random_texts(CONTEXTS * MODELS, 80, seed=1)
    replay = replay_of(models, names, random_texts(CONTEXTS, 60), outputs)
    path = tmp_path_factory.mktemp("large") / "report.html"
    write_text(path, render_html(result, replay))
    return path


def test_the_page_is_small(page):
    assert 1_000_000 < page.stat().st_size < MAX_BYTES


def test_the_page_scrolls_searches_and_sorts(browser, page):
    with open_page(browser, page) as opened:
        opened.page.evaluate(f"document.getElementById('rows').scrollTop = {30 * CONTEXTS}")
        wait_until(opened.page, f"document.querySelector('#contexts tbody button').dataset.context > {CONTEXTS // 2}")
        assert opened.page.locator("#contexts tbody tr").count() < MAX_ROWS_IN_DOCUMENT
        opened.page.fill("#search", f"c{CONTEXTS - 1:05d}")
        assert opened.page.inner_text("#status") == f"1 of {CONTEXTS:,} contexts"
        opened.page.fill("#search", "")
        opened.page.click("#contexts button[data-sort=margin]")
        opened.page.click("#contexts tbody button >> nth=0")
        opened.page.wait_for_selector(".side del")
        assert opened.console == []

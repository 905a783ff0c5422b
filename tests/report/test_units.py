"""Every sentence about outcomes is on the user's scale, in the user's unit: no number is from 0 to 1 without saying so.

On a scale from 0 to 1000 an outcome or a difference that was not converted is below 1. All other numbers below 1 that
sentences have are named by the word before them.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

import deconfound as dc
from deconfound.data import Study
from deconfound.diagnose import check
from deconfound.report.check_text import check_document, check_text
from deconfound.report.page.render_page import PageContent, render_html
from deconfound.report.scale import Scale
from tests.support.checking import make_study
from tests.support.results import demo_result

SMALL = re.compile(r"(?:(\S+) )?[(]?[+-]?(?<![\d.,])0\.\d+(?!\d| times)")
NO_OUTCOMES = (
    "=",
    "<",
    "AUC",
    "correlation",
    "level",
    "chi-square",
    "deconfound",
)  # words before p-values and statistics
SENTENCES = ("summary", "explanation", "message", "remedy")


def unconverted(text: str) -> list[str]:
    """Numbers between 0 and 1 that may be outcomes, with the word before them."""
    found = SMALL.finditer(" ".join(text.split()))
    return [match[0] for match in found if (match[1] or "").lstrip("(") not in NO_OUTCOMES]


def sentences(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key in SENTENCES:
                yield str(part)
            else:
                yield from sentences(part)
    elif isinstance(value, list):
        for part in value:
            yield from sentences(part)


@pytest.fixture(scope="module", params=[(0.0, 1000.0), (1000.0, 0.0)], ids=["more is better", "less is better"])
def result(request) -> dc.Result:
    return replace(demo_result(), outcome_range=request.param, outcome_unit="points")


def test_the_search_finds_what_was_not_converted(result):
    assert unconverted("off by 0.12; p = 0.03 and AUC 0.51") == ["by 0.12"]
    assert unconverted(replace(result, outcome_range=(0.0, 1.0)).summary())


def test_summaries_and_pages(result):
    page = re.sub(r"<(style|svg|script|footer|pre).*?</\1>", "", render_html(result), flags=re.DOTALL)
    for text in (result.summary(), result.summary(verbose=True), html.unescape(re.sub("<[^>]+>", " ", page))):
        assert unconverted(text) == []
        assert "on your scale from" in text
        assert re.search(r"typically off by \d+ points", " ".join(text.split()))


def test_the_axes_of_the_pictures(result):
    content = PageContent.from_result(result)
    ticks = [float(tick.label) for tick in content.values.ticks]
    assert len(ticks) > 2
    assert all(number % 50 == 0 for number in ticks)
    assert ticks[0] >= 250
    assert max(float(tick.label) for tick in content.bias.ticks) >= 100


def test_sentences_in_json(result):
    texts = list(sentences(json.loads(json.dumps(result.document()))))
    assert len(texts) > 20
    assert [found for text in texts for found in unconverted(text)] == []


@pytest.fixture(scope="module")
def study() -> Study:
    return replace(make_study(seed=3), outcome_range=(0.0, 1000.0), outcome_unit="points")


def test_checks_say_on_which_scale_outcomes_are(study):
    findings, scale = check(study, seed=0), Scale.of(study)
    text = check_text(findings, 0.95, scale)
    assert "Outcomes and their differences are on your scale from 0 to 1000 points." in text
    assert unconverted(text) == []
    document = check_document(findings, 0.95, 0, scale)
    assert (document["scale"], document["outcome_range"], document["outcome_unit"]) == ("0 to 1", [0, 1000], "points")
    assert [found for text in sentences(document) for found in unconverted(text)] == []
    assert "on your scale" not in check_text(findings, 0.95)

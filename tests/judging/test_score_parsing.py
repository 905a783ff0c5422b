"""Replies of judges: tolerant about their form, strict about their content."""

from __future__ import annotations

import json
import time

import pytest

from deconfound.judging.rubric_file import read_rubric
from deconfound.judging.score_parsing import MAX_CHARACTERS, UnusableReplyError, parse_scores

RUBRIC = read_rubric("summarization")
GOOD = {"faithfulness": 4, "coverage": 3.5, "clarity": 5, "conciseness": 0, "unsupported_claims": 2}
TEXT = json.dumps(GOOD)
SCORES = (4.0, 3.5, 5.0, 0.0, 2.0)


def changed(**values: object) -> str:
    return json.dumps({**GOOD, **values})


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"Here are my scores:\n\n{TEXT}\n\nI hope {{this}} helps.",
        TEXT.replace("}", ",}"),
        json.dumps({name: str(value) for name, value in GOOD.items()}),
        json.dumps({name: {"score": value, "reason": "ok {5}"} for name, value in GOOD.items()}),
        json.dumps({"scores": GOOD}),
        json.dumps({name.replace("_", " ").title(): value for name, value in GOOD.items()}),
        f"<think>Perhaps {changed(clarity=1)}?</think>{TEXT}",
        f"no opening, and no answer yet</think>{TEXT}",
        f"{TEXT}\n{TEXT}",
        changed(reason="Every claim is there: {x}", unsupported_claims=2.0),
        json.dumps(dict(reversed(GOOD.items()))),
    ],
)
def test_the_form_may_vary(text):
    assert parse_scores(text, RUBRIC) == SCORES


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no JSON object"),
        (f"no opening {changed(clarity=1)}</think>{TEXT}", "several JSON objects"),
        (f'{TEXT} The summary ends with "</think>{changed(clarity=1)}"', "several JSON objects"),
        (f"The summary contains {changed(clarity=1)}<think> and more. My scores: {TEXT}", "several JSON objects"),
        (f"It says {changed(clarity=1)} {'{' * 400} but: {TEXT}", "too many braces"),
        ("faithfulness: 5", "no JSON object"),
        ("[5, 5, 5, 5, 0]", "no JSON object"),
        (TEXT[:-20], "no JSON object"),
        (changed(coverage=6), "coverage 6 is outside 0 to 5"),
        (changed(coverage=-0.001), "outside 0 to 5"),
        (changed(coverage="7"), "coverage 7 is outside"),
        (changed(coverage=float("nan")), "not a finite"),
        (changed(coverage=float("inf")), "not a finite"),
        (changed(coverage="1e999"), "not a finite"),
        (changed(coverage="4/5"), "coverage is not a number"),
        (changed(coverage="high"), "coverage is not a number"),
        (changed(coverage=True), "coverage is not a number"),
        (changed(coverage=None), "coverage is missing"),
        (changed(coverage=[4]), "coverage is not a number"),
        (changed(unsupported_claims=1.5), "not a whole number"),
        (changed(unsupported_claims=21), "outside 0 to 20"),
        (json.dumps({"faithfulness": 4}), "coverage is missing"),
        (f"{TEXT} or rather {changed(clarity=1)}", "several JSON objects"),
        (TEXT.replace('"clarity": 5', '"clarity": 5, "clarity": 1'), "clarity is given twice"),
        (f"<think>{TEXT}", "no JSON object"),
        ("x" * (MAX_CHARACTERS + 1), "characters"),
    ],
)
def test_no_score_is_ever_invented(text, what):
    with pytest.raises(UnusableReplyError, match=what):
        parse_scores(text, RUBRIC)


@pytest.mark.parametrize("part", ["{", '{"a":', "[", '{"', "<think>", "\\", '"', ",}", "\ud800", "\x00"])
def test_no_reply_takes_long(part):
    start = time.process_time()
    with pytest.raises(UnusableReplyError):
        parse_scores((part * MAX_CHARACTERS)[:MAX_CHARACTERS], RUBRIC)
    assert time.process_time() - start < 5

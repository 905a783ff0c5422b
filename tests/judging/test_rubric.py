"""Rubrics: the built-in one, files of users, and the combined score."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import deconfound as dc
from deconfound.judging.builtin_rubrics import BUILTIN
from deconfound.judging.rubric_file import builtin_text, parse_rubric, read_rubric

DOCS = Path(__file__).parents[2] / "docs" / "summary-rubric.md"
CRITERION = '[[criteria]]\nname = "tone"\nquestion = "Is it kind?"\nscale = [1, 7]\n'
START = 'instruction = "Judge it."\n'


def parse(text: str):
    return parse_rubric(tomllib.loads(text), "rubric.toml")


def test_the_rubric_of_the_paper_has_four_scales_and_a_count():
    rubric = read_rubric("summarization")
    assert rubric.names == ("faithfulness", "coverage", "clarity", "conciseness", "unsupported_claims")
    assert [(one.low, one.high, one.is_count) for one in rubric.criteria] == [(0, 5, False)] * 4 + [(0, 20, True)]
    assert [len(one.anchors) for one in rubric.criteria] == [6, 6, 6, 6, 0]
    assert (rubric.context_name, rubric.output_name) == ("article", "summary")


def test_persons_and_judges_read_the_same_anchors():
    anchors = re.findall(r"^\| (\d) \| (.+) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    rubric = read_rubric("summarization")
    assert anchors == [(f"{one.score:g}", one.meaning) for each in rubric.criteria for one in each.anchors]


def test_what_is_printed_can_be_read_again(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(builtin_text("summarization"), encoding="utf-8")
    assert read_rubric(path) == read_rubric("summarization")


def test_the_combined_score_is_the_weighted_mean_of_qualities():
    rubric = read_rubric("summarization")
    labels = np.array([[1.0, 0.5, 0.5, 0.0, 20.0], [np.nan] * 5])
    assert rubric.combined(labels) == pytest.approx([0.5, np.nan], nan_ok=True)
    weighted = rubric.with_weights({"faithfulness": 3, "unsupported_claims": 1})
    assert weighted.combined(labels)[0] == pytest.approx(0.75 * 1.0 + 0.25 * 0.0)
    assert weighted.combination() == "0.75 × faithfulness + 0.25 × (1 - unsupported_claims / 20)"


@pytest.mark.parametrize(
    ("weights", "what"),
    [({"coverge": 1.0}, 'did you mean "coverage"'), ({"coverage": 0.0}, "more"), ({"clarity": -1}, "least")],
)
def test_weights_that_mean_nothing_are_refused(weights, what):
    with pytest.raises(dc.UsageError, match=what):
        read_rubric("summarization").with_weights(weights)


def test_a_users_scale_may_begin_anywhere_and_have_fractions():
    rubric = parse(START + CRITERION + "[criteria.anchors]\n7 = 'Very.'\n1 = 'Not at all.'\n")
    criterion = rubric.criteria[0]
    assert criterion.label(np.array([1.0, 4.0, 7.0])) == pytest.approx([0.0, 0.5, 1.0])
    assert [anchor.score for anchor in criterion.anchors] == [1, 7]
    assert criterion.asks_whole_numbers
    assert not parse(START + CRITERION.replace("[1, 7]", "[0.0, 0.5]")).criteria[0].asks_whole_numbers


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (CRITERION, "instruction is missing"),
        (START, "there are no criteria"),
        (START + CRITERION + CRITERION, "two criteria are called tone"),
        (START + CRITERION.replace("scale", "scle"), 'no setting "scle".*Did you mean "scale"'),
        (START + CRITERION.replace("[1, 7]", "[7, 1]"), "scale is not two numbers"),
        (START + CRITERION.replace("[1, 7]", "[1, true]"), "scale is not two numbers"),
        (START + CRITERION + "count = 5\n", "either scale or count"),
        (START + CRITERION.replace('"tone"', '"the tone"'), "cannot be that of a column"),
        (START + CRITERION + "weight = 0\n", "no criterion has a weight"),
        (START + CRITERION + "weight = -1\n", "outside 0"),
        (START + CRITERION + "[criteria.anchors]\n8 = 'x'\n", "anchor 8 is no score from 1 to 7"),
        (START + CRITERION + "[criteria.anchors]\n2 = 3\n", "anchor 2 is not a text"),
    ],
)
def test_faults_of_a_rubric_are_reported_with_their_place(text, what):
    with pytest.raises(dc.DataError, match=what) as caught:
        parse(text)
    assert all(problem.where.startswith("rubric.toml") and problem.fix for problem in caught.value.problems)


def test_an_unknown_rubric_names_those_that_there_are():
    with pytest.raises(dc.UsageError, match=r"there is no rubric .*summarization"):
        read_rubric("sumarization")
    assert set(BUILTIN) == {"summarization"}

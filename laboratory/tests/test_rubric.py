"""The rubric for judging summaries."""

from __future__ import annotations

import numpy as np
import pytest
from deconfound_bench.rubric import CLAIMS_SCALE, RUBRIC, UNSUPPORTED, to_unit_interval

from deconfound.errors import DataError


def test_the_four_scales_are_in_the_order_of_the_reward_weights():
    assert [scale.name for scale in RUBRIC] == ["faithfulness", "coverage", "clarity", "conciseness"]
    assert CLAIMS_SCALE == 20


@pytest.mark.parametrize("scale", RUBRIC, ids=lambda scale: scale.name)
def test_a_scale_has_one_question_and_one_sentence_per_score_from_0_to_5(scale):
    assert scale.question.split(".")[0].count("?") == 1
    assert len(scale.anchors) == 6
    assert all(anchor[0].isupper() and anchor.endswith(".") for anchor in scale.anchors)


def test_no_two_scores_share_an_anchor():
    anchors = [anchor for scale in RUBRIC for anchor in scale.anchors]
    assert len(set(anchors)) == len(anchors)


def test_anchors_go_from_worst_to_best():
    """The first and last anchors name their extremes; a reversed scale would swap them."""
    for scale, (worst, best) in zip(
        RUBRIC,
        [("Most", "Nothing"), ("something else", "No main"), ("cannot", "smoothly"), ("absurd", "Every")],
        strict=True,
    ):
        assert worst in scale.anchors[0]
        assert best in scale.anchors[5]


def test_unsupported_claims_include_inventions_causes_quotations_and_contradictions():
    for word in ("person", "figure", "event", "cause", "quotation", "contradicts", "once"):
        assert word in UNSUPPORTED


def test_scores_are_rescaled_to_the_unit_interval_with_exact_ends():
    scores = np.array([[0.0, 5.0, 2.5], [1.0, 4.0, 3.0]])
    np.testing.assert_array_equal(to_unit_interval(scores), [[0.0, 1.0, 0.5], [0.2, 0.8, 0.6]])
    np.testing.assert_array_equal(scores[0], [0.0, 5.0, 2.5])


def test_integers_are_valid_scores():
    result = to_unit_interval(np.array([0, 3, 5]))
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, [0.0, 0.6, 1.0])


@pytest.mark.parametrize("wrong", [-0.01, 5.01, np.nan, np.inf, -np.inf])
def test_a_score_outside_the_scale_is_rejected_and_shown(wrong):
    with pytest.raises(DataError, match=r"1 of 3 are outside 0 to 5, the first is") as caught:
        to_unit_interval(np.array([1.0, wrong, 2.0]))
    assert f"{wrong:g}" in str(caught.value)


def test_an_empty_array_of_scores_is_valid():
    assert to_unit_interval(np.empty((0, 4))).shape == (0, 4)

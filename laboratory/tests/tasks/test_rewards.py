"""Expected outcomes of summaries, patches and answers, against loops written from the formulas."""

from __future__ import annotations

import math
import time
from itertools import combinations

import numpy as np
import pytest
from deconfound_bench.tasks import instructions as chat
from deconfound_bench.tasks.coding import utility as coding
from deconfound_bench.tasks.summarization import (
    CLAIMS_SCALE,
    COMPONENTS,
    SEGMENTS,
    Sharpening,
    segment_weights,
    sharpened_reward,
    smooth_reward,
)
from hypothesis import given, settings
from hypothesis import strategies as st

CLOSE = {"rtol": 0.0, "atol": 1e-12}
RELATIVE = {"rtol": 1e-11, "atol": 0.0}  # without clipping, sigmoid(-45) would differ in its twentieth digit only
SUBSETS = [names for size in (2, 3, 4) for names in combinations(COMPONENTS, size)]
UNIT = st.floats(0.0, 1.0)


def level_by_hand(scores, present, exponent, penalty, claims):
    """The level of each segment, term by term."""
    levels = []
    for segment in SEGMENTS:
        weight = [segment.weights[COMPONENTS.index(name)] for name in present]
        whole = math.fsum(weight)
        sharpened = [(one / whole) ** exponent for one in weight]
        level = math.fsum(w * s for w, s in zip(sharpened, scores, strict=True)) / math.fsum(sharpened)
        levels.append(level - penalty * claims / 20)
    return levels


def sharpened_by_hand(scores, present, claims):
    levels = level_by_hand(scores, present, 16, 0.1, claims)
    return [1 / (1 + math.exp(-(min(1.0, max(0.0, level)) - 0.9) / 0.02)) for level in levels]


@given(st.sampled_from(SUBSETS), st.lists(UNIT, min_size=4, max_size=4), st.integers(0, 300))
@settings(max_examples=200, deadline=None)
def test_both_maps_follow_their_formulas_for_every_set_of_components(present, values, claims):
    scores = values[: len(present)]
    weights = segment_weights(present)
    smooth = smooth_reward(np.array(scores), weights)
    np.testing.assert_allclose(smooth, level_by_hand(scores, present, 1, 0.0, 0), **CLOSE)
    assert (smooth >= 0).all()
    assert (smooth <= 1 + 1e-15).all()
    expected = sharpened_by_hand(scores, present, claims)
    np.testing.assert_allclose(sharpened_reward(np.array(scores), np.float64(claims), weights), expected, **RELATIVE)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_level_is_clipped_before_sharpening(value):
    """So the sharpened reward is between sigmoid(-45) and sigmoid(5)."""
    scores, weights = np.full(4, value), segment_weights(COMPONENTS)
    np.testing.assert_allclose(smooth_reward(scores, weights), value, atol=1e-15)
    for claims in (0, 20, 1000):
        level = max(0.0, value - 0.1 * claims / 20)
        expected = 1 / (1 + math.exp(-(level - 0.9) / 0.02))
        np.testing.assert_allclose(sharpened_reward(scores, np.array(claims), weights), expected, **RELATIVE)


def test_the_maps_are_applied_to_every_cell_of_a_grid():
    rng = np.random.default_rng(0)
    scores, claims = rng.random((6, 3, 4)), rng.integers(0, 5, size=(6, 3)).astype(np.float64)
    weights = segment_weights(COMPONENTS)
    smooth, sharpened = smooth_reward(scores, weights), sharpened_reward(scores, claims, weights)
    assert smooth.shape == sharpened.shape == (6, 3, len(SEGMENTS))
    for cell in np.ndindex(6, 3):
        np.testing.assert_allclose(smooth[cell], level_by_hand(scores[cell], COMPONENTS, 1, 0.0, 0), **CLOSE)
        expected = sharpened_by_hand(scores[cell], COMPONENTS, claims[cell])
        np.testing.assert_allclose(sharpened[cell], expected, **CLOSE)


def test_the_constants_are_those_of_the_paper():
    assert Sharpening() == Sharpening(exponent=16, claims_penalty=0.1, center=0.9, scale=0.02)
    assert CLAIMS_SCALE == 20
    assert COMPONENTS == ("faithfulness", "coverage", "clarity", "conciseness")
    assert coding.WEIGHTS == (0, 0.25, 0.5, 0.75, 1)
    assert len({reward.name for reward in coding.REWARDS}) == 25


@pytest.mark.parametrize("users", [SEGMENTS, coding.USERS, chat.USERS], ids=["summaries", "patches", "answers"])
def test_the_weights_of_every_user_sum_to_one_and_users_differ(users):
    """If all users had the same weights, the log could not be confounded."""
    table = np.array([user.weights for user in users])
    assert (table > 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-15)
    assert len({user.weights for user in users}) == len({user.name for user in users}) == 4


def utility_by_hand(c, weight, fix_weight, weakest_weight):
    share = [weight[k] / (weight[1] + weight[2] + weight[3]) for k in (1, 2, 3)]
    mean = sum(w * one for w, one in zip(share, c[1:], strict=True))
    quality = (1 - weakest_weight) * mean + weakest_weight * min(c[1:])
    return weight[0] * fix_weight * c[0] + (1 - weight[0]) * quality


@pytest.mark.parametrize("reward", coding.REWARDS, ids=lambda reward: reward.name)
def test_the_utility_of_a_patch_follows_its_formula_under_every_reward(reward):
    rng = np.random.default_rng(1)
    cells = rng.random((9, 2, 4))
    cells[0], cells[1] = 0.0, 1.0
    outcome = coding.utility(cells, reward)
    assert outcome.shape == (9, 2, 4)
    assert (outcome >= 0).all()
    assert (outcome <= 1 + 1e-15).all()
    for cell in np.ndindex(9, 2):
        expected = [
            utility_by_hand(cells[cell], user.weights, reward.fix_weight, reward.weakest_weight)
            for user in coding.USERS
        ]
        np.testing.assert_allclose(outcome[cell], expected, **CLOSE)


@pytest.mark.parametrize("reward", coding.REWARDS, ids=lambda reward: reward.name)
def test_fix_success_matters_only_with_a_weight_and_only_the_weakest_component_at_weight_one(reward):
    rng = np.random.default_rng(2)
    cells = rng.random((50, 4))
    other = cells.copy()
    other[:, 0] = 1 - cells[:, 0]
    same = (coding.utility(cells, reward) == coding.utility(other, reward)).all()
    assert same == (reward.fix_weight == 0)
    rolled = np.column_stack([cells[:, 0], np.roll(cells[:, 1:], 1, axis=1)])  # the minimum in another component
    same = np.allclose(coding.utility(cells, reward), coding.utility(rolled, reward), atol=1e-15)
    assert same == (reward.weakest_weight == 1)


@given(st.lists(UNIT, min_size=3, max_size=3))
@settings(max_examples=50, deadline=None)
def test_the_outcome_of_an_answer_is_a_weighted_mean(scores):
    expected = [math.fsum(w * s for w, s in zip(user.weights, scores, strict=True)) for user in chat.USERS]
    np.testing.assert_allclose(chat.expected_outcome(np.array(scores)), expected, **CLOSE)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("", 0),
        ("plain prose - with a dash and 3. a number", 0),
        ("- one\n- two\n  * nested\n+ plus\n• dot", 5),
        ("1. one\n2) two\n\n\n10. ten\n1234. a year", 3),
        ("# title\n\n###### small\n####### none", 2),
        ("| a | b |\n|---|---|\n| 1 | 2 |", 3),
        ("```python\nx = 1\n```", 2),
        ("\n\n\u00a0- after blank lines\r\n- and another", 2),
        ("-no space\n#none", 0),
    ],
)
def test_structural_marks_are_counted_line_by_line(text, marks):
    assert chat.structure(text) == marks / (marks + 6)


def test_brevity_is_one_half_at_two_hundred_words():
    assert chat.brevity("") == 1.0
    assert chat.brevity("word " * 200) == 0.5
    assert chat.brevity("word " * 600) == 0.25


def test_many_blank_lines_are_searched_in_linear_time():
    """A search that starts over at each line takes half a minute."""
    start = time.process_time()
    assert chat.structure("\n" * 30_000 + "x") == 0
    assert time.process_time() - start < 2

"""What users like about summaries, patches and answers, against loops written from the formulas."""

from __future__ import annotations

import math
import time
from itertools import combinations

import numpy as np
import pytest
from deconfound_bench.coding import utility as coding
from deconfound_bench.instructions import rewards as chat
from deconfound_bench.rubric import MOST_CLAIMS
from deconfound_bench.summarization.rewards import COMPONENTS, SEGMENTS, Sharpening, sharpened, smooth, weights
from hypothesis import given, settings
from hypothesis import strategies as st

CLOSE = {"rtol": 0.0, "atol": 1e-12}
RELATIVE = {"rtol": 1e-11, "atol": 0.0}  # without the clip, sigmoid(-45) would differ in its twentieth digit only
SUBSETS = [names for size in (2, 3, 4) for names in combinations(COMPONENTS, size)]
UNIT = st.floats(0.0, 1.0)


def by_hand(scores, present, exponent, penalty, claims):
    """The level of each segment, term by term."""
    levels = []
    for segment in SEGMENTS:
        weight = [segment.weights[COMPONENTS.index(name)] for name in present]
        whole = math.fsum(weight)
        powered = [(one / whole) ** exponent for one in weight]
        level = math.fsum(w * s for w, s in zip(powered, scores, strict=True)) / math.fsum(powered)
        levels.append(level - penalty * claims / 20)
    return levels


def sharpened_by_hand(scores, present, claims):
    levels = by_hand(scores, present, 16, 0.1, claims)
    return [1 / (1 + math.exp(-(min(1.0, max(0.0, level)) - 0.9) / 0.02)) for level in levels]


@given(st.sampled_from(SUBSETS), st.lists(UNIT, min_size=4, max_size=4), st.integers(0, 300))
@settings(max_examples=200, deadline=None)
def test_both_maps_are_their_formulas_whatever_components_a_grid_has(present, drawn, claims):
    scores = drawn[: len(present)]
    table = weights(present)
    liked = smooth(np.array(scores), table)
    np.testing.assert_allclose(liked, by_hand(scores, present, 1, 0.0, 0), **CLOSE)
    assert (liked >= 0).all()
    assert (liked <= 1 + 1e-15).all()
    wanted = sharpened_by_hand(scores, present, claims)
    np.testing.assert_allclose(sharpened(np.array(scores), np.float64(claims), table), wanted, **RELATIVE)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_the_scale_stay_inside(value):
    """The best that claims can leave is sigmoid(5) and the worst is sigmoid(-45): the level is clipped first."""
    scores, table = np.full(4, value), weights(COMPONENTS)
    np.testing.assert_allclose(smooth(scores, table), value, atol=1e-15)
    for claims in (0, 20, 1000):
        level = max(0.0, value - 0.1 * claims / 20)
        wanted = 1 / (1 + math.exp(-(level - 0.9) / 0.02))
        np.testing.assert_allclose(sharpened(scores, np.array(claims), table), wanted, **RELATIVE)


def test_maps_keep_the_shape_of_the_grid_and_tell_its_cells_apart():
    rng = np.random.default_rng(0)
    scores, claims = rng.random((6, 3, 4)), rng.integers(0, 5, size=(6, 3)).astype(np.float64)
    table = weights(COMPONENTS)
    soft, hard = smooth(scores, table), sharpened(scores, claims, table)
    assert soft.shape == hard.shape == (6, 3, len(SEGMENTS))
    for cell in np.ndindex(6, 3):
        np.testing.assert_allclose(soft[cell], by_hand(scores[cell], COMPONENTS, 1, 0.0, 0), **CLOSE)
        np.testing.assert_allclose(hard[cell], sharpened_by_hand(scores[cell], COMPONENTS, claims[cell]), **CLOSE)


def test_constants_are_those_of_the_paper():
    assert Sharpening() == Sharpening(exponent=16, claims_penalty=0.1, centre=0.9, scale=0.02)
    assert MOST_CLAIMS == 20
    assert COMPONENTS == ("faithfulness", "coverage", "clarity", "conciseness")
    assert coding.WEIGHTS == (0, 0.25, 0.5, 0.75, 1)
    assert len({reward.name for reward in coding.REWARDS}) == 25


@pytest.mark.parametrize("users", [SEGMENTS, coding.USERS, chat.USERS], ids=["summaries", "patches", "answers"])
def test_weights_of_every_user_are_shares_and_users_differ(users):
    """Four kinds of user, or three and one between them; without differences there is nothing to be confounded."""
    table = np.array([user.weights for user in users])
    assert (table > 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-15)
    assert len({user.weights for user in users}) == len({user.name for user in users}) == 4


def utility_by_hand(c, weight, fix, weakest):
    share = [weight[k] / (weight[1] + weight[2] + weight[3]) for k in (1, 2, 3)]
    mean = sum(w * one for w, one in zip(share, c[1:], strict=True))
    quality = (1 - weakest) * mean + weakest * min(c[1:])
    return weight[0] * fix * c[0] + (1 - weight[0]) * quality


@pytest.mark.parametrize("reward", coding.REWARDS, ids=lambda reward: reward.name)
def test_coding_utility_is_its_formula_under_every_definition(reward):
    rng = np.random.default_rng(1)
    cells = rng.random((9, 2, 4))
    cells[0], cells[1] = 0.0, 1.0
    found = coding.utility(cells, reward)
    assert found.shape == (9, 2, 4)
    assert (found >= 0).all()
    assert (found <= 1 + 1e-15).all()
    for cell in np.ndindex(9, 2):
        wanted = [utility_by_hand(cells[cell], user.weights, reward.fix, reward.weakest) for user in coding.USERS]
        np.testing.assert_allclose(found[cell], wanted, **CLOSE)


@pytest.mark.parametrize("reward", coding.REWARDS, ids=lambda reward: reward.name)
def test_fix_success_counts_only_with_a_weight_and_the_weakest_link_alone_at_one(reward):
    rng = np.random.default_rng(2)
    cells = rng.random((50, 4))
    other = cells.copy()
    other[:, 0] = 1 - cells[:, 0]
    same = (coding.utility(cells, reward) == coding.utility(other, reward)).all()
    assert same == (reward.fix == 0)
    turned = np.column_stack([cells[:, 0], np.roll(cells[:, 1:], 1, axis=1)])  # the same minimum in another place
    same = np.allclose(coding.utility(cells, reward), coding.utility(turned, reward), atol=1e-15)
    assert same == (reward.weakest == 1)


@given(st.lists(UNIT, min_size=3, max_size=3))
@settings(max_examples=50, deadline=None)
def test_liking_of_answers_is_a_weighted_mean(scores):
    wanted = [math.fsum(w * s for w, s in zip(user.weights, scores, strict=True)) for user in chat.USERS]
    np.testing.assert_allclose(chat.liking(np.array(scores)), wanted, **CLOSE)


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
def test_marks_of_order_are_counted_line_by_line(text, marks):
    assert chat.structure(text) == marks / (marks + 6)


def test_brevity_is_one_half_at_two_hundred_words():
    assert chat.brevity("") == 1.0
    assert chat.brevity("word " * 200) == 0.5
    assert chat.brevity("word " * 600) == 0.25


def test_a_page_of_blank_lines_takes_no_time():
    """Half a minute, where the search starts over at each of the lines."""
    start = time.process_time()
    assert chat.structure("\n" * 30_000 + "x") == 0
    assert time.process_time() - start < 2

"""Two groups of rows, told apart or not: against refits in loops, exact laws and planted differences."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from deconfound.design import group_folds
from deconfound.diagnose import telling, thinning
from deconfound.diagnose.telling import Sample, reshuffled, tell_apart
from deconfound.diagnose.thinning import thinned
from deconfound.diagnose.words import fold, weighed


def cells(rng, *, strata=40, draws=2, columns=5, parts=1, shift=0.0, stretch=1.0, text=False, hit=None):
    """Sets of one row of the group and ``draws`` others around a middle of their own; the group's may be moved."""
    rows = rng.standard_normal((strata, draws + 1, columns))
    part = np.arange(strata) % parts
    struck = slice(None) if hit is None else part == hit
    rows[struck, 0] *= stretch
    rows[struck, 0, 0] += shift
    rows = (rows + 4 * rng.standard_normal((strata, 1, columns))).reshape(-1, columns)
    stratum = np.repeat(np.arange(strata), draws + 1)
    group = np.arange(len(rows)) % (draws + 1) == 0
    words = sparse.csr_matrix(np.where(rng.random((len(rows), 30)) < 0.2, 1.0, 0.0)) if text else None
    return Sample(words, rows, group, stratum, stratum // 2, np.repeat(part, draws + 1))


def two_sides(rng, left=60, right=90, shift=0.0):
    """Two independent groups in one stratum."""
    rows = rng.standard_normal((left + right, 4))
    rows[:left, 1] += shift
    one = np.zeros(len(rows), dtype=np.int64)
    return Sample(None, rows, np.arange(len(rows)) < left, one, np.arange(len(rows)), one)


# --- twins ---


def naive_kernels(sample):
    """Words and statistics of each row less its stratum's mean, by loops; the second with distances beside them."""
    kernels, lengths = [], []
    if sample.text is not None:
        words = sample.text.toarray()
        single = len(set(sample.stratum.tolist())) == 1
        holders = np.zeros(words.shape[1])
        for column in range(words.shape[1]):
            places = defaultdict(set)
            for row, code in enumerate(sample.stratum):
                places[row if single else int(code)].add(words[row, column])
            holders[column] = sum(v != {0.0} if single else len(v) > 1 for v in places.values())
        weight = np.where(holders >= 2, np.log(1 + len(places) / np.maximum(holders, 1)), 0.0)
        words = words * weight
        words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-300)
        words = less_mean(words, sample.stratum)
        kernels.append((words @ words.T, telling.TEXT_PENALTY))
        lengths.append(np.linalg.norm(words, axis=1))
    statistics = less_mean(sample.dense, sample.stratum)
    lengths.append(np.linalg.norm(statistics, axis=1))
    scale = np.sqrt((statistics**2).sum(axis=1).mean())
    for length in lengths:
        spread = less_mean(length[:, None], sample.stratum)
        statistics = np.hstack([statistics, spread * scale / np.sqrt(2) / np.sqrt((spread**2).mean())])
    return [*kernels, (statistics @ statistics.T, telling.DENSE_PENALTY)]


def less_mean(values, stratum):
    values = np.array(values)
    for code in np.unique(stratum):
        values[stratum == code] -= values[stratum == code].mean(axis=0)
    return values


def refitted(kernel, penalty, labels, block, seed):
    """sum of label * prediction, every fold predicted by a ridge that is solved without it."""
    ridge = penalty * np.trace(kernel) / len(kernel)
    total = 0.0
    for part in group_folds(block, telling.FOLDS, seed):
        train, held = part.train, part.held_out
        coef = np.linalg.solve(kernel[np.ix_(train, train)] + ridge * np.eye(len(train)), labels[train])
        total += labels[held] @ (kernel[np.ix_(held, train)] @ coef)
    return total


@pytest.mark.parametrize("kind", ["cells", "one stratum"])
def test_one_factorization_does_what_a_refit_for_every_fold_and_reshuffle_does(kind):
    rng = np.random.default_rng(0)
    sample = cells(rng, strata=20, parts=2, text=True) if kind == "cells" else two_sides(rng, 20, 30)
    labels = telling._centred_labels(sample, reshuffled(sample.group, sample.stratum, 6, rng))
    looks = telling._looks(sample, seed=3)
    expected = []
    for kernel, penalty in naive_kernels(sample):
        parts = np.unique(sample.part)
        masks = [sample.part >= 0, *(sample.part == code for code in (parts if len(parts) > 1 else ()))]
        for mask in masks:
            inner = kernel[np.ix_(mask, mask)]
            expected.append([refitted(inner, penalty, y[mask], sample.block[mask], 3) for y in labels.T])
    assert len(looks) == len(expected)
    np.testing.assert_allclose([look.statistics(labels) for look in looks], expected, atol=1e-9)


def test_adjusted_p_values_count_the_reshuffles_whose_best_look_is_as_good():
    rng = np.random.default_rng(1)
    observed, null = rng.standard_normal(3) + 1.5, rng.standard_normal((3, 99)) * [[1.0], [2.0], [5.0]]
    every = np.column_stack([observed, null])
    scaled = [(row - row.mean()) / row.std() for row in every]
    best = [max(row[at] for row in scaled) for at in range(100)]
    expected = [sum(b >= row[0] - 1e-9 for b in best) / 100 for row in scaled]
    np.testing.assert_allclose(telling._best_of(observed, null), expected)


def test_the_share_is_the_share_of_pairs_put_right():
    rng = np.random.default_rng(2)
    sample = cells(rng, strata=12, shift=1.0)
    look = telling._looks(sample, 0)[0]
    labels = telling._centred_labels(sample, sample.group[:, None].astype(float))
    prediction = look.smoother @ labels[:, 0]
    right = []
    for ours in np.flatnonzero(sample.group):
        for other in np.flatnonzero(~sample.group & (sample.stratum == sample.stratum[ours])):
            right.append((prediction[ours] > prediction[other]) + 0.5 * (prediction[ours] == prediction[other]))
    assert telling._share(sample, look, labels) == pytest.approx(np.mean(right))


def test_no_row_is_predicted_from_its_own_block():
    sample = cells(np.random.default_rng(3), text=True)
    for look in telling._looks(sample, 0):
        block = sample.block[look.index]
        assert not look.smoother[block[:, None] == block].any()
        assert look.smoother.any()


def test_folded_and_weighed_words_are_what_loops_make_of_them():
    rng = np.random.default_rng(4)
    words = np.where(rng.random((6, 2000)) < 0.02, rng.choice([-1.0, 1.0], (6, 2000)), 0.0)
    expected = np.zeros((6, 512))
    for column in range(2000):
        expected[:, column % 512] += words[:, column]
    np.testing.assert_allclose(fold(sparse.csr_matrix(words)), expected)
    holders = (words != 0).sum(axis=0)
    plain = words * np.where(holders >= 2, np.log(1 + 6 / np.maximum(holders, 1)), 0.0)
    norm = np.linalg.norm(plain, axis=1, keepdims=True)
    made = weighed(sparse.csr_matrix(words), holders, 6).toarray()
    np.testing.assert_allclose(made, plain / np.where(norm > 0, norm, 1.0))


# --- chance ---


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=30), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_a_reshuffle_moves_rows_only_within_their_stratum(rows, seed):
    stratum = np.array([code for code, _ in rows])
    group = np.array([ours for _, ours in rows])
    dealt = reshuffled(group, stratum, 5, np.random.default_rng(seed))
    for code in np.unique(stratum):
        assert (dealt[stratum == code].sum(axis=0) == group[stratum == code].sum()).all()


def test_a_reshuffle_gives_every_row_its_turn():
    """Of 3,000 deals each row of a stratum of three is the group's about 1,000 times; 5 standard errors are 130."""
    dealt = reshuffled(np.array([True, False, False]), np.zeros(3, dtype=np.int64), 3000, np.random.default_rng(0))
    assert (np.abs(dealt.sum(axis=1) - 1000) < 130).all()


CLEAN = {"cells": lambda rng: cells(rng, strata=16, parts=2, text=True), "sides": lambda rng: two_sides(rng, 15, 20)}


@pytest.mark.parametrize("kind", CLEAN)
def test_false_alarms_are_as_rare_as_promised(kind, monkeypatch):
    """The test is exact: more than 16 alarms in 150 clean samples have probability 0.0014 at 5 %."""
    monkeypatch.setattr(telling, "RESHUFFLES", 99)
    monkeypatch.setattr(telling, "MORE", 100)
    found = [tell_apart(CLEAN[kind](np.random.default_rng([5, i])), i) for i in range(150)]
    assert sum(each.p_value < 0.05 for each in found) <= 16


# --- planted differences ---


def test_a_shift_of_every_group_row_is_told():
    found = tell_apart(cells(np.random.default_rng(6), strata=80, shift=1.0), 0)
    assert found.p_value < 0.001
    assert found.share > 0.65
    assert found.advantage(0.95) == pytest.approx(2 * found.share - 1)


def test_a_shift_in_one_part_is_told_and_the_part_is_named():
    found = tell_apart(cells(np.random.default_rng(7), strata=160, parts=4, shift=2.0, hit=2), 0)
    assert [part.code for part in found.suspects(0.95)] == [2]
    assert found.suspects(0.95)[0].strata == 40
    assert found.advantage(0.95) > 2 * found.share - 1


def test_rows_that_only_vary_more_are_told_from_several_draws():
    assert tell_apart(cells(np.random.default_rng(8), strata=100, stretch=2.5), 0).p_value < 0.001


def test_a_word_of_the_group_alone_is_told():
    rng = np.random.default_rng(9)
    plain = cells(rng, strata=60, text=True)
    words = plain.text.toarray()
    words[plain.group, 7] = 1.0
    found = tell_apart(Sample(sparse.csr_matrix(words), None, plain.group, plain.stratum, plain.block, plain.part), 0)
    assert found.p_value < 0.001


def test_words_that_are_the_same_within_every_stratum_play_no_part():
    plain = cells(np.random.default_rng(10), strata=30, text=True)
    more = sparse.csr_matrix(np.eye(30)[plain.stratum] * 3.0)
    wide = sparse.hstack([plain.text, more], format="csr")
    both = [
        Sample(text, plain.dense, plain.group, plain.stratum, plain.block, plain.part) for text in (plain.text, wide)
    ]
    assert tell_apart(both[0], 0).p_value == tell_apart(both[1], 0).p_value


def test_two_independent_groups_are_told_apart_by_their_mean():
    found = tell_apart(two_sides(np.random.default_rng(11), shift=1.2), 0)
    assert found.p_value < 0.001
    assert (found.strata, found.rows, found.parts) == (1, 150, ())


# --- edges ---


def test_identical_rows_pass_with_nothing_to_tell():
    plain = cells(np.random.default_rng(12), strata=20)
    same = plain.dense[plain.stratum * 3]
    found = tell_apart(Sample(None, same, plain.group, plain.stratum, plain.block, plain.part), 0)
    assert (found.share, found.p_value, found.strata, found.advantage(0.95)) == (0.5, 1.0, 20, 0.0)


def test_strata_of_identical_rows_change_nothing_else():
    rng = np.random.default_rng(13)
    plain = cells(rng, strata=40, shift=1.0)
    still = np.repeat(plain.stratum, 1) < 20
    rows = np.where(still[:, None], plain.dense[plain.stratum * 3], plain.dense)
    mixed = tell_apart(Sample(None, rows, plain.group, plain.stratum, plain.block, plain.part), 0)
    alone = tell_apart(plain.take(np.flatnonzero(~still)), 0)
    assert (mixed.p_value, mixed.share) == (alone.p_value, alone.share)
    assert (mixed.strata, alone.strata) == (40, 20)


@pytest.mark.parametrize(
    "sample", [cells(np.random.default_rng(0), strata=7), two_sides(np.random.default_rng(0), 7, 50)]
)
def test_too_few_rows_tell_nothing(sample):
    assert tell_apart(sample, 0) is None


def test_thinning_keeps_strata_whole_and_both_groups_there():
    rng = np.random.default_rng(14)
    stratum = rng.integers(600, size=5000)
    group = rng.random(5000) < 0.3
    kept = thinned(group, stratum, 0)
    assert len(kept) <= thinning.MAX_ROWS
    for code in np.unique(stratum[kept]):
        ours, all_ours = (group[rows[stratum[rows] == code]].sum() for rows in (kept, np.arange(5000)))
        assert ours == min(2, all_ours) > 0
        theirs = (~group[kept])[stratum[kept] == code].sum()
        assert theirs == min(2, (~group & (stratum == code)).sum()) > 0


@pytest.mark.parametrize(
    ("left", "right", "expected"), [(50, 5000, (50, 670)), (5000, 5000, (360, 360)), (9, 9, (9, 9))]
)
def test_thinning_one_stratum_keeps_the_smaller_group(left, right, expected):
    group = np.arange(left + right) < left
    kept = thinned(group, np.zeros(left + right, dtype=np.int64), 0)
    assert (group[kept].sum(), (~group[kept]).sum()) == expected


def test_nothing_to_thin_is_nothing():
    assert len(thinned(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64), 0)) == 0
    assert len(thinned(np.ones(9, dtype=bool), np.zeros(9, dtype=np.int64), 0)) == 0


def test_one_stratum_among_others_of_one_group_is_kept_whole():
    stratum = np.repeat([0, 1, 2], 20)
    group = np.arange(60) % 2 == 0
    group[20:] = True
    assert thinned(group, stratum, 0).tolist() == list(range(20))


def test_pairs_of_texts_without_statistics_are_compared_by_their_words():
    plain = cells(np.random.default_rng(15), strata=40, draws=1, text=True)
    found = tell_apart(Sample(plain.text, None, plain.group, plain.stratum, plain.block, plain.part), 0)
    assert 0.01 < found.p_value <= 1

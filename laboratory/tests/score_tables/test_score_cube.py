"""Incomplete, damaged and reordered scores, and estimates in print."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.score_tables import (
    Estimate,
    direct_vs_dr,
    dr_curve,
    overall_standings,
    ranking_summary,
    regret_by_axis,
    score_cube,
    standings_table,
    to_csv,
    to_text,
    winner_grid,
    winner_map,
    winner_rows,
)

from deconfound.errors import UsageError
from laboratory.tests.support.random_scores import CELLS, SEEDS, set_nan


@pytest.mark.parametrize("compute", [winner_map, overall_standings, direct_vs_dr, dr_curve, ranking_summary])
def test_a_missing_seed_is_named_with_its_cell_and_family(scores, compute):
    missing = next(s for s in scores if s.family == "grounded" and s.seed == 3 and s.cell == CELLS[5])
    with pytest.raises(
        UsageError, match=r'confounding 0\.5.*n_log 2,000, n_experiment 100.*"grounded".*with seed 3 \(1'
    ):
        compute([s for s in scores if s is not missing])


def test_a_missing_family_is_named_with_its_cell(scores):
    with pytest.raises(UsageError, match=r'confounding 0, .*"cvci" has no score at all'):
        regret_by_axis([s for s in scores if s.cell != CELLS[0] or s.family != "cvci"], "n_log")


def test_families_that_are_not_selected_may_be_incomplete(scores):
    incomplete = [s for s in scores if s.family != "grounded" or s.seed > 3]
    cube, whole = (score_cube(some, ("regret",), ("cvci", "exp-only")) for some in (incomplete, scores))
    assert cube.families == whole.families == ("exp-only", "cvci")
    np.testing.assert_array_equal(cube.values, whole.values)


def test_duplicate_empty_and_mixed_scores_are_rejected(scores):
    with pytest.raises(UsageError, match="more than one score with seed"):
        overall_standings([*scores, scores[4]])
    with pytest.raises(UsageError, match="no scores"):
        overall_standings([])
    with pytest.raises(UsageError, match="several benchmarks"):
        overall_standings([*scores, replace(scores[0], benchmark="other")])
    with pytest.raises(UsageError, match="runner-up"):
        winner_map([s for s in scores if s.family == "cvci"])
    with pytest.raises(UsageError, match="axis must be one of"):
        regret_by_axis(scores, "seed")


def test_a_seed_with_a_nan_is_omitted_for_all_families_and_named(scores):
    damaged = set_nan(scores, "regret", lambda s: (s.cell, s.family, s.seed) != (CELLS[2], "cvci", 4))
    result, clean = winner_map(damaged), winner_map([s for s in scores if s.seed != 4])
    assert result.wins == clean.wins
    assert result.seeds == SEEDS - 1
    assert "seed 4" in winner_grid(result).note
    assert "over 8 paired seeds" in winner_grid(result).note


def test_a_family_or_cell_without_finite_values_is_omitted_and_named(scores):
    damaged = set_nan(
        scores, "rmse_model_dr", lambda s: s.family != "obs-only" and (s.cell, s.family) != (CELLS[0], "cvci")
    )
    result = direct_vs_dr(damaged)
    rest = [s for s in scores if s.family != "obs-only" and s.cell != CELLS[0]]
    assert result.rows == direct_vs_dr(rest).rows
    assert "obs-only" in result.notes[0]
    assert "1 cell" in result.notes[1]
    assert len(ranking_summary(damaged).rows) == 4


def test_scores_without_any_finite_value_are_an_error(scores):
    with pytest.raises(UsageError, match="No seed has a finite regret"):
        overall_standings(set_nan(scores, "regret", lambda _: False))


def test_one_seed_gives_means_without_standard_errors(scores):
    one = [s for s in scores if s.seed == 0]
    assert all(math.isnan(win.gap.standard_error) and not win.gap.exceeds_two_se for win in winner_map(one).wins)
    text = to_text(standings_table(overall_standings(one)))
    assert "±" not in text
    assert "One seed" in text


def test_the_order_of_the_scores_does_not_matter(scores):
    assert to_csv(winner_rows(winner_map(scores))) == to_csv(winner_rows(winner_map(scores[::-1])))
    assert to_text(standings_table(overall_standings(scores))) == to_text(
        standings_table(overall_standings(scores[::-1]))
    )


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (0.01234, 0.0004, "0.0123 ± 0.0004"),
        (0.01234, 0.00014, "0.01234 ± 0.00014"),
        (-0.5, 0.0996, "-0.50 ± 0.10"),
        (63.31, 0.6, "63.3 ± 0.6"),
        (1234.5, 120.0, "1234 ± 120"),
        (0.012, 0.0, "0.012 ± 0"),
        (0.25, math.nan, "0.25"),
        (math.nan, math.nan, "–"),
    ],
)
def test_estimates_are_printed_with_the_digits_that_their_standard_error_justifies(mean, error, text):
    assert Estimate(mean, error).format() == text

"""Winners, standings and excess regret against naive recomputations."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.score_tables import Estimate, excess_over_best, overall_standings, shared_ranks, winner_map
from scipy.stats import rankdata

from deconfound.errors import UsageError
from laboratory.tests.support.random_scores import (
    CELLS,
    FAMILIES,
    SEEDS,
    average,
    is_close,
    naive_estimate,
    random_scores,
    values,
)


def test_the_winner_map_agrees_with_a_naive_search(scores):
    result = winner_map(scores)
    assert [win.cell for win in result.wins] == sorted(CELLS)
    for win in result.wins:
        regret = {f: values(scores, "regret", cell=win.cell, family=f) for f in FAMILIES}
        first, second = sorted(FAMILIES, key=lambda f: statistics.fmean(regret[f].values()))[:2]
        assert (win.winner, win.runner_up) == (first, second)
        assert is_close(win.gap, naive_estimate({s: regret[second][s] - regret[first][s] for s in range(SEEDS)}))
        assert is_close(win.regret, naive_estimate(regret[first]))
    assert len({win.winner for win in result.wins}) > 1


def test_paired_standard_errors_cancel_the_noise_that_families_share(scores):
    """Unpaired, the standard error of a gap would be about ten times as large here."""
    for win in winner_map(scores).wins:
        both = [
            naive_estimate(values(scores, "regret", cell=win.cell, family=f)).standard_error
            for f in (win.winner, win.runner_up)
        ]
        assert win.gap.standard_error < 0.4 * math.hypot(*both)


def test_the_standings_agree_with_a_naive_count(scores):
    result = {one.family: one for one in overall_standings(scores).standings}
    means = {c: {f: naive_estimate(values(scores, "regret", cell=c, family=f)).mean for f in FAMILIES} for c in CELLS}
    for family in FAMILIES:
        places = [sorted(row.values()).index(row[family]) + 1 for row in means.values()]
        excess = [100 * (row[family] - min(row.values())) / min(row.values()) for row in means.values()]
        one = result[family]
        assert one.wins == places.count(1)
        assert one.top3 == sum(place <= 3 for place in places)
        assert one.rank.mean == pytest.approx(statistics.fmean(places))
        assert one.excess.mean == pytest.approx(statistics.fmean(excess))
        assert is_close(one.regret, average(scores, "regret", family, CELLS))
    assert [one.rank.mean for one in overall_standings(scores).standings] == sorted(
        one.rank.mean for one in result.values()
    )


def test_standard_errors_of_rank_and_excess_agree_with_a_naive_bootstrap(scores):
    """With other random numbers; the relative standard deviation of 400 against 1000 draws is about 4 %."""
    rng = np.random.default_rng(7)
    table = np.array(
        [[[values(scores, "regret", cell=c, family=f)[s] for s in range(SEEDS)] for f in FAMILIES] for c in CELLS]
    )
    draws = []
    for _ in range(400):
        means = table[:, :, rng.integers(SEEDS, size=SEEDS)].mean(axis=2)
        rank = np.mean([rankdata(row) for row in means], axis=0)
        draws.append([rank, 100 * (means / means.min(axis=1, keepdims=True) - 1).mean(axis=0)])
    rank_se, excess_se = np.std(draws, axis=0, ddof=1)
    for one in overall_standings(scores).standings:
        at = FAMILIES.index(one.family)
        assert one.rank.standard_error == pytest.approx(rank_se[at], rel=0.2)
        assert one.excess.standard_error == pytest.approx(excess_se[at], rel=0.2)
    assert overall_standings(scores) == overall_standings(scores)
    assert overall_standings(scores, seed=1) != overall_standings(scores)


def test_noise_that_a_seed_has_in_every_cell_does_not_average_out():
    """With the same noise in all cells, the standard error of the mean over cells is that of one cell."""
    noise = np.random.default_rng(3).normal(0.05, 0.01, SEEDS)
    scores = [replace(s, regret=float(noise[s.seed])) for s in random_scores()]
    one = overall_standings(scores).standings[0]
    assert one.regret.standard_error == pytest.approx(np.std(noise, ddof=1) / math.sqrt(SEEDS))


def test_equal_regrets_share_rank_and_win_with_a_note():
    twins = [s for s in random_scores() if s.family != "cvci"]
    twins += [replace(s, family="cvci") for s in twins if s.family == "obs-only"]
    result = {one.family: one for one in overall_standings(twins).standings}
    assert result["cvci"].rank == result["obs-only"].rank
    assert result["cvci"].wins == result["obs-only"].wins > 0
    assert "families with equal regret share the win" in " ".join(overall_standings(twins).notes)
    wins = [win for win in winner_map(twins).wins if win.winner == "obs-only"]
    assert wins
    assert all(win.runner_up == "cvci" and win.gap == Estimate(0.0, 0.0) and not win.gap.exceeds_two_se for win in wins)


def test_ranks_of_many_draws_agree_with_ranks_of_each():
    means = np.random.default_rng(0).integers(0, 4, (20, 5, 6)).astype(float)
    naive = [[rankdata(row) for row in draw] for draw in means]
    np.testing.assert_allclose(shared_ranks(means), naive)


def test_a_cell_with_zero_regret_is_omitted_from_the_excess_with_a_note(scores):
    zero = [replace(s, regret=0.0) if s.cell == CELLS[0] and s.family == "cvci" else s for s in scores]
    result = overall_standings(zero)
    assert all(math.isfinite(one.excess.mean) for one in result.standings)
    assert "omits 1 cell in which the lowest regret is zero" in " ".join(result.notes)


def test_the_excess_is_over_the_best_of_the_six_and_may_be_negative():
    """Against a loop; ``auto`` is not among the six, and a family that was not run in all cells is omitted."""
    scores = random_scores(families=(*FAMILIES, "auto"))
    scores = [replace(s, regret=s.regret / 2) if s.family == "auto" else s for s in scores]
    incomplete = [replace(s, family="grounded-linear") for s in scores if s.family == "cvci" and s.cell == CELLS[0]]
    result = excess_over_best([*scores, *incomplete])
    assert set(result) == {*FAMILIES, "auto"}
    for family, estimate in result.items():
        parts = []
        for cell in CELLS:
            means = {f: statistics.fmean(values(scores, "regret", cell=cell, family=f).values()) for f in result}
            parts.append(100 * (means[family] / min(means[f] for f in FAMILIES) - 1))
        assert estimate.mean == pytest.approx(statistics.fmean(parts))
    assert result["auto"].mean < -40
    assert min(result[f].mean for f in FAMILIES) >= 0


def test_the_excess_needs_at_least_two_of_the_six():
    with pytest.raises(UsageError, match="at least two"):
        excess_over_best(random_scores(families=("exp-only", "auto")))

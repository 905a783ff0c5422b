"""Benchmark tables against naive recomputations, and with incomplete or invalid scores."""

from __future__ import annotations

import csv
import io
import itertools
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.results import Cell, Hyperparameters, Score
from deconfound_bench.score_tables import (
    Estimate,
    Table,
    curve_grid,
    curve_panels,
    direct_vs_dr,
    dr_curve,
    excess_over_best,
    excess_table,
    overall_standings,
    ranking_summary,
    regret_by_axis,
    score_cube,
    shared_ranks,
    standings_table,
    to_csv,
    to_markdown,
    to_text,
    winner_grid,
    winner_map,
    winner_rows,
    write_tables,
)
from scipy.stats import rankdata

from deconfound.errors import UsageError

FAMILIES = ("exp-only", "obs-only", "grounded", "cvci")
CELLS = tuple(Cell(c, n, m, "linear") for c, n, m in itertools.product((0.0, 0.5, 0.9), (2000, 20000), (20, 100)))
SEEDS = 9


def make_scores(cells=CELLS, families=FAMILIES, seeds=SEEDS, seed=0) -> list[Score]:
    """Scores in random order; all families of a cell share the noise of a seed."""
    rng = np.random.default_rng(seed)
    scores = []
    for cell in cells:
        seed_noise = rng.normal(0.05, 0.01, seeds)
        for family in families:
            level = rng.uniform(0.0, 0.004)
            for at in range(seeds):
                r = seed_noise[at] + level + rng.normal(0, 0.001)
                rest = [float(v) for v in rng.uniform(0, 1, 5)]
                scores.append(
                    Score("made-up", cell, at, family, float(r), *rest, seconds=1.0, hyperparameters=Hyperparameters())
                )
    return [scores[i] for i in rng.permutation(len(scores))]


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    return make_scores()


def values(scores, metric, **where) -> dict[int, float]:
    """Metric by seed of the family and cell that ``where`` gives."""
    chosen = [s for s in scores if s.cell == where["cell"] and s.family == where["family"]]
    return {s.seed: getattr(s, metric) for s in chosen}


def naive_estimate(by_seed: dict[int, float]) -> Estimate:
    numbers = list(by_seed.values())
    return Estimate(statistics.fmean(numbers), statistics.stdev(numbers) / math.sqrt(len(numbers)))


def average(scores, metric, family, cells) -> Estimate:
    """Mean over cells of each seed first, then over seeds."""
    each = [values(scores, metric, cell=cell, family=family) for cell in cells]
    return naive_estimate({seed: statistics.fmean(one[seed] for one in each) for seed in each[0]})


def is_close(estimate: Estimate, other: Estimate) -> bool:
    return estimate.mean == pytest.approx(other.mean, rel=1e-10) and estimate.standard_error == pytest.approx(
        other.standard_error, rel=1e-8
    )


def set_nan(scores, metric, unless):
    return [s if unless(s) else replace(s, **{metric: math.nan}) for s in scores]


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
    scores = [replace(s, regret=float(noise[s.seed])) for s in make_scores()]
    one = overall_standings(scores).standings[0]
    assert one.regret.standard_error == pytest.approx(np.std(noise, ddof=1) / math.sqrt(SEEDS))


def test_equal_regrets_share_rank_and_win_with_a_note():
    twins = [s for s in make_scores() if s.family != "cvci"]
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


@pytest.mark.parametrize("axis", ["confounding", "n_log", "n_experiment", "reward"])
def test_curves_average_the_cells_of_a_level_seed_by_seed(scores, axis):
    curve = regret_by_axis(scores, axis)
    assert list(curve.levels) == sorted({getattr(cell, axis) for cell in CELLS})
    for family, row in zip(curve.families, curve.regret, strict=True):
        for level, estimate in zip(curve.levels, row, strict=True):
            cells = [cell for cell in CELLS if getattr(cell, axis) == level]
            assert is_close(estimate, average(scores, "regret", family, cells))
    assert curve.notes == ()


def test_panels_separate_the_other_budgets_and_average_over_confounding(scores):
    panels = curve_panels(scores, "n_experiment")
    assert [panel.cell.n_log for panel in panels] == [2000, 20000]
    cells = [cell for cell in CELLS if cell.n_log == 20000 and cell.n_experiment == 100]
    assert is_close(panels[1].curve.regret[0][1], average(scores, "regret", "exp-only", cells))
    assert len(curve_panels(scores, "confounding")) == 4


def test_levels_run_in_different_settings_have_a_note(scores):
    uneven = [s for s in scores if s.cell != CELLS[0]]
    assert "not directly comparable" in curve_grid(regret_by_axis(uneven, "n_log")).note


def test_direct_and_doubly_robust_errors_are_compared_seed_by_seed(scores):
    for one in direct_vs_dr(scores).rows:
        each = {
            cell: [values(scores, f"rmse_model_{way}", cell=cell, family=one.family) for way in ("direct", "dr")]
            for cell in CELLS
        }
        assert is_close(one.direct, average(scores, "rmse_model_direct", one.family, CELLS))
        assert is_close(one.dr, average(scores, "rmse_model_dr", one.family, CELLS))
        gaps = {s: statistics.fmean(dr[s] - direct[s] for direct, dr in each.values()) for s in range(SEEDS)}
        assert is_close(one.difference, naive_estimate(gaps))
        assert one.dr_better == sum(sum(dr.values()) < sum(direct.values()) for direct, dr in each.values())


def test_the_doubly_robust_curve_averages_the_cells_of_each_experiment_size(scores):
    curve = dr_curve(scores)
    assert curve.levels == (20, 100)
    large = [cell for cell in CELLS if cell.n_experiment == 100]
    for at, family in enumerate(curve.families):
        assert is_close(curve.direct[at][1], average(scores, "rmse_model_direct", family, large))
        assert is_close(curve.dr[at][1], average(scores, "rmse_model_dr", family, large))
        assert curve.difference[at][1].mean == pytest.approx(curve.dr[at][1].mean - curve.direct[at][1].mean)


def test_the_ranking_averages_its_three_metrics(scores):
    for one in ranking_summary(scores).rows:
        for metric in ("top1", "top3", "rmse_context"):
            assert is_close(getattr(one, metric), average(scores, metric, one.family, CELLS))


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


SPECIAL_CHARACTERS = Table(
    "a | title",
    ("name", "x|y", "count"),
    (("=1+1", Estimate(-0.1, 0.03), 2000), ("a|b\\|<c>", Estimate(1 / 3, math.nan), 7), ("two\nlines", 0.5, -1)),
    "a *note*",
)


def test_csv_has_full_precision_and_no_formulas():
    rows = list(csv.reader(io.StringIO(to_csv(SPECIAL_CHARACTERS))))
    assert rows[0] == ["name", "x|y", "x|y standard error", "count"]
    assert rows[1] == ["'=1+1", "-0.1", "0.03", "2000"]
    assert rows[2] == ["a|b\\|<c>", repr(1 / 3), "", "7"]
    assert rows[3] == ["two\nlines", "0.5", "", "-1"]
    for start in "=+-@":
        assert to_csv(Table("t", (start,), ((f"{start}x",),))) == f"'{start}\n'{start}x\n"


def test_special_characters_do_not_break_a_markdown_table():
    lines = to_markdown(SPECIAL_CHARACTERS).splitlines()
    assert lines[0] == "**a \\| title**"
    assert lines[2] == "| name | x\\|y | count |"
    assert lines[3] == "| :-- | --: | --: |"
    assert lines[5] == "| a\\|b\\\\\\|\\<c\\> | 0.3333 | 7 |"
    assert lines[6] == "| two\\\\nlines | 0.5 | -1 |"
    assert lines[-1] == "a \\*note\\*"


def test_text_tables_are_aligned_and_escape_line_breaks():
    lines = to_text(SPECIAL_CHARACTERS).splitlines()
    assert lines[2:7] == [
        "name                 x|y  count",
        "-------------------------------",
        "=1+1        -0.10 ± 0.03  2,000",
        "a|b\\|<c>          0.3333      7",
        "two\\nlines           0.5     -1",
    ]


def test_a_row_with_the_wrong_number_of_entries_is_an_error():
    with pytest.raises(ValueError, match="2 entries for 1 columns"):
        Table("t", ("a",), ((1, 2),))


def test_the_winner_grid_marks_gaps_within_two_standard_errors(scores):
    wins = winner_map(scores).wins
    names = [entry for row in winner_grid(winner_map(scores)).rows[::3] for entry in row[2:]]
    in_table_order = sorted(wins, key=lambda w: (w.cell.n_log, w.cell.n_experiment, w.cell.confounding))
    assert names == [win.winner + ("" if win.gap.exceeds_two_se else "?") for win in in_table_order]
    assert {name[-1] == "?" for name in names} == {True, False}


def test_tables_are_written_in_three_formats_that_agree(scores, tmp_path):
    written = write_tables(scores, tmp_path / "deep" / "er")
    assert all(path.is_file() for path in written)
    stems = {path.stem for path in written}
    assert stems == {
        "winners",
        "overall",
        "regret-by-confounding",
        "regret-by-n_log",
        "regret-by-n_experiment",
        "values",
        "values-by-n_experiment",
        "ranking",
    }
    assert len(written) == 3 * len(stems)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "deep" / "er" / "winners.csv").read_text())))
    wins = winner_map(scores).wins
    assert [(row["winner"], float(row["gap"]), float(row["gap standard error"])) for row in rows] == [
        (win.winner, win.gap.mean, win.gap.standard_error) for win in wins
    ]


def test_missing_metrics_have_no_table(scores, tmp_path):
    bare = set_nan(set_nan(scores, "rmse_model_dr", lambda _: False), "top1", lambda _: False)
    stems = {path.stem for path in write_tables(bare, tmp_path)}
    assert "winners" in stems
    assert not stems & {"values", "values-by-n_experiment", "ranking"}


def test_a_file_in_place_of_the_folder_is_named(scores, tmp_path):
    (tmp_path / "taken").write_text("here")
    with pytest.raises(UsageError, match="taken"):
        write_tables(scores, tmp_path / "taken")


def test_the_excess_is_over_the_best_of_the_six_and_may_be_negative():
    """Against a loop; ``auto`` is not among the six, and a family that was not run in all cells is omitted."""
    scores = make_scores(families=(*FAMILIES, "auto"))
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


def test_the_excess_table_ends_with_mean_and_worst():
    several = [make_scores(families=(*FAMILIES, "auto")), make_scores(families=(*FAMILIES, "auto"), seed=1)]
    table = excess_table(several)
    assert table.columns[0] == "family"
    assert table.columns[-2:] == ("mean", "worst")
    means = [row[-2].mean for row in table.rows]
    assert means == sorted(means)
    for row in table.rows:
        assert row[-1] == pytest.approx(max(one.mean for one in row[1:3]))
        assert row[-2].mean == pytest.approx(statistics.fmean(one.mean for one in row[1:3]))


def test_the_excess_needs_at_least_two_of_the_six():
    with pytest.raises(UsageError, match="at least two"):
        excess_over_best(make_scores(families=("exp-only", "auto")))

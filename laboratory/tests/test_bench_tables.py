"""Benchmark tables against slow recomputations, and against scores that are not as they should be."""

from __future__ import annotations

import csv
import io
import itertools
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.results import Cell, Choice, Score
from deconfound_bench.tables import (
    Estimate,
    Table,
    by_budget,
    curve_grid,
    differences,
    differences_table,
    direct_against_dr,
    dr_curve,
    excess,
    excess_table,
    overall,
    overall_table,
    panels,
    ranking,
    to_csv,
    to_markdown,
    to_text,
    winner_grid,
    winner_map,
    winner_rows,
    write_tables,
)
from deconfound_bench.tables.overall import shared_ranks
from scipy.stats import rankdata

from deconfound.errors import UsageError

FAMILIES = ("exp-only", "obs-only", "grounded", "cvci")
CELLS = tuple(Cell(c, n, m, "linear") for c, n, m in itertools.product((0.0, 0.5, 0.9), (2000, 20000), (20, 100)))
SEEDS = 9
NONE = math.nan


def made(cells=CELLS, families=FAMILIES, seeds=SEEDS, seed=0) -> list[Score]:
    """Scores in no order; a seed's luck is shared by all families of a cell."""
    rng = np.random.default_rng(seed)
    scores = []
    for cell in cells:
        luck = rng.normal(0.05, 0.01, seeds)
        for family in families:
            level = rng.uniform(0.0, 0.004)
            for at in range(seeds):
                r = luck[at] + level + rng.normal(0, 0.001)
                rest = [float(v) for v in rng.uniform(0, 1, 5)]
                scores.append(Score("made-up", cell, at, family, float(r), *rest, seconds=1.0, choice=Choice()))
    return [scores[i] for i in rng.permutation(len(scores))]


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    return made()


def values(scores, metric, **where) -> dict[int, float]:
    """Metric by seed of the one family and cell that ``where`` describes."""
    chosen = [s for s in scores if s.cell == where["cell"] and s.family == where["family"]]
    return {s.seed: getattr(s, metric) for s in chosen}


def naive(by_seed: dict[int, float]) -> Estimate:
    listed = list(by_seed.values())
    return Estimate(statistics.fmean(listed), statistics.stdev(listed) / math.sqrt(len(listed)))


def average(scores, metric, family, cells) -> Estimate:
    """Mean over cells of each seed first, then over seeds."""
    each = [values(scores, metric, cell=cell, family=family) for cell in cells]
    return naive({seed: statistics.fmean(one[seed] for one in each) for seed in each[0]})


def near(estimate: Estimate, other: Estimate) -> bool:
    return estimate.mean == pytest.approx(other.mean, rel=1e-10) and estimate.error == pytest.approx(
        other.error, rel=1e-8
    )


def nan_at(scores, metric, keep):
    return [s if keep(s) else replace(s, **{metric: NONE}) for s in scores]


def test_the_winner_map_is_what_a_slow_search_finds(scores):
    found = winner_map(scores)
    assert [win.cell for win in found.wins] == sorted(CELLS)
    for win in found.wins:
        regret = {f: values(scores, "regret", cell=win.cell, family=f) for f in FAMILIES}
        first, second = sorted(FAMILIES, key=lambda f: statistics.fmean(regret[f].values()))[:2]
        assert (win.winner, win.runner_up) == (first, second)
        assert near(win.gap, naive({s: regret[second][s] - regret[first][s] for s in range(SEEDS)}))
        assert near(win.regret, naive(regret[first]))
    assert len({win.winner for win in found.wins}) > 1


def test_paired_errors_cancel_the_luck_that_a_seed_brings_to_all(scores):
    """Unpaired, the error of a gap would be the root of the sum of both squares: here about ten times as large."""
    for win in winner_map(scores).wins:
        both = [naive(values(scores, "regret", cell=win.cell, family=f)).error for f in (win.winner, win.runner_up)]
        assert win.gap.error < 0.4 * math.hypot(*both)


def test_the_overall_table_is_what_a_slow_count_finds(scores):
    found = {one.family: one for one in overall(scores).standings}
    means = {c: {f: naive(values(scores, "regret", cell=c, family=f)).mean for f in FAMILIES} for c in CELLS}
    for family in FAMILIES:
        places = [sorted(row.values()).index(row[family]) + 1 for row in means.values()]
        excess = [100 * (row[family] - min(row.values())) / min(row.values()) for row in means.values()]
        one = found[family]
        assert one.wins == places.count(1)
        assert one.top3 == sum(place <= 3 for place in places)
        assert one.rank.mean == pytest.approx(statistics.fmean(places))
        assert one.excess.mean == pytest.approx(statistics.fmean(excess))
        assert near(one.regret, average(scores, "regret", family, CELLS))
    assert [one.rank.mean for one in overall(scores).standings] == sorted(one.rank.mean for one in found.values())


def test_errors_of_rank_and_excess_are_the_spread_over_seeds_drawn_again(scores):
    """A second, slow bootstrap with other random numbers; 400 against 1000 draws agree to about 4 % a sigma."""
    rng = np.random.default_rng(7)
    table = np.array(
        [[[values(scores, "regret", cell=c, family=f)[s] for s in range(SEEDS)] for f in FAMILIES] for c in CELLS]
    )
    drawn = []
    for _ in range(400):
        means = table[:, :, rng.integers(SEEDS, size=SEEDS)].mean(axis=2)
        rank = np.mean([rankdata(row) for row in means], axis=0)
        drawn.append([rank, 100 * (means / means.min(axis=1, keepdims=True) - 1).mean(axis=0)])
    rank_error, excess_error = np.std(drawn, axis=0, ddof=1)
    for one in overall(scores).standings:
        at = FAMILIES.index(one.family)
        assert one.rank.error == pytest.approx(rank_error[at], rel=0.2)
        assert one.excess.error == pytest.approx(excess_error[at], rel=0.2)
    assert overall(scores) == overall(scores)
    assert overall(scores, seed=1) != overall(scores)


def test_seeds_that_are_lucky_in_every_cell_do_not_average_out():
    """One luck a seed in all cells: the macro error stays that of one cell instead of falling by sqrt(cells)."""
    luck = np.random.default_rng(3).normal(0.05, 0.01, SEEDS)
    scores = [replace(s, regret=float(luck[s.seed])) for s in made()]
    one = overall(scores).standings[0]
    assert one.regret.error == pytest.approx(np.std(luck, ddof=1) / math.sqrt(SEEDS))


def test_equal_regrets_share_rank_and_win_and_the_note_says_so():
    twins = [s for s in made() if s.family != "cvci"]
    twins += [replace(s, family="cvci") for s in twins if s.family == "obs-only"]
    found = {one.family: one for one in overall(twins).standings}
    assert found["cvci"].rank == found["obs-only"].rank
    assert found["cvci"].wins == found["obs-only"].wins > 0
    assert "shared by families of equal regret" in " ".join(overall(twins).notes)
    wins = [win for win in winner_map(twins).wins if win.winner == "obs-only"]
    assert wins
    assert all(win.runner_up == "cvci" and win.gap == Estimate(0.0, 0.0) and not win.gap.clear for win in wins)


def test_ranks_of_many_draws_are_those_of_one():
    means = np.random.default_rng(0).integers(0, 4, (20, 5, 6)).astype(float)
    slow = [[rankdata(row) for row in draw] for draw in means]
    np.testing.assert_allclose(shared_ranks(means), slow)


def test_a_cell_without_any_regret_has_no_excess_and_the_note_says_so(scores):
    zero = [replace(s, regret=0.0) if s.cell == CELLS[0] and s.family == "cvci" else s for s in scores]
    found = overall(zero)
    assert all(math.isfinite(one.excess.mean) for one in found.standings)
    assert "leaves out 1 cell whose best regret is zero" in " ".join(found.notes)


@pytest.mark.parametrize("axis", ["confounding", "n_log", "n_experiment", "reward"])
def test_curves_average_the_cells_of_a_level_seed_by_seed(scores, axis):
    curve = by_budget(scores, axis)
    assert list(curve.levels) == sorted({getattr(cell, axis) for cell in CELLS})
    for family, row in zip(curve.families, curve.regret, strict=True):
        for level, estimate in zip(curve.levels, row, strict=True):
            cells = [cell for cell in CELLS if getattr(cell, axis) == level]
            assert near(estimate, average(scores, "regret", family, cells))
    assert curve.notes == ()


def test_panels_hold_the_other_budgets_still_and_average_over_confounding(scores):
    cut = panels(scores, "n_experiment")
    assert [panel.at.n_log for panel in cut] == [2000, 20000]
    cells = [cell for cell in CELLS if cell.n_log == 20000 and cell.n_experiment == 100]
    assert near(cut[1].curve.regret[0][1], average(scores, "regret", "exp-only", cells))
    assert len(panels(scores, "confounding")) == 4


def test_levels_run_in_different_settings_are_called_incomparable(scores):
    lopsided = [s for s in scores if s.cell != CELLS[0]]
    assert "do not compare like with like" in curve_grid(by_budget(lopsided, "n_log")).note


def test_direct_and_doubly_robust_errors_are_compared_seed_by_seed(scores):
    for one in direct_against_dr(scores).rows:
        each = {
            cell: [values(scores, f"rmse_model_{way}", cell=cell, family=one.family) for way in ("direct", "dr")]
            for cell in CELLS
        }
        assert near(one.direct, average(scores, "rmse_model_direct", one.family, CELLS))
        assert near(one.dr, average(scores, "rmse_model_dr", one.family, CELLS))
        gaps = {s: statistics.fmean(dr[s] - direct[s] for direct, dr in each.values()) for s in range(SEEDS)}
        assert near(one.difference, naive(gaps))
        assert one.dr_better == sum(sum(dr.values()) < sum(direct.values()) for direct, dr in each.values())


def test_the_doubly_robust_curve_follows_the_size_of_the_experiment(scores):
    curve = dr_curve(scores)
    assert curve.levels == (20, 100)
    large = [cell for cell in CELLS if cell.n_experiment == 100]
    for at, family in enumerate(curve.families):
        assert near(curve.direct[at][1], average(scores, "rmse_model_direct", family, large))
        assert near(curve.dr[at][1], average(scores, "rmse_model_dr", family, large))
        assert curve.difference[at][1].mean == pytest.approx(curve.dr[at][1].mean - curve.direct[at][1].mean)


def test_the_ranking_averages_its_three_metrics(scores):
    for one in ranking(scores).rows:
        for metric in ("top1", "top3", "rmse_context"):
            assert near(getattr(one, metric), average(scores, metric, one.family, CELLS))


def test_differences_are_left_minus_right_with_a_verdict_at_two_errors(scores):
    found = differences(scores, "cvci", "obs-only")
    for one in found.cells:
        left, right = (values(scores, "regret", cell=one.cell, family=f) for f in ("cvci", "obs-only"))
        expected = naive({s: left[s] - right[s] for s in left})
        assert near(one.difference, expected)
        told = abs(expected.mean) > 2 * expected.error
        assert one.verdict == (("lower" if expected.mean < 0 else "higher") if told else "not found")
    assert {one.verdict for one in found.cells} == {"lower", "higher", "not found"}
    sides = [[values(scores, "regret", cell=c, family=f) for c in CELLS] for f in ("cvci", "obs-only")]
    gaps = {s: statistics.fmean(a[s] - b[s] for a, b in zip(*sides, strict=True)) for s in range(SEEDS)}
    assert near(found.average, naive(gaps))
    back = differences(scores, "obs-only", "cvci")
    assert back.average.mean == pytest.approx(-found.average.mean)
    assert "Average over the cells" in differences_table(found).note


def test_a_difference_needs_two_known_families(scores):
    with pytest.raises(UsageError, match='did you mean "cvci"'):
        differences(scores, "cvvi", "exp-only")
    with pytest.raises(UsageError, match="itself"):
        differences(scores, "cvci", "cvci")


@pytest.mark.parametrize("table", [winner_map, overall, direct_against_dr, dr_curve, ranking])
def test_a_missing_seed_is_named_with_its_cell_and_family(scores, table):
    gone = next(s for s in scores if s.family == "grounded" and s.seed == 3 and s.cell == CELLS[5])
    with pytest.raises(
        UsageError, match=r'confounding 0\.5.*n_log 2,000, n_experiment 100.*"grounded".*with seed 3 \(1'
    ):
        table([s for s in scores if s is not gone])


def test_a_missing_family_is_named_with_its_cell(scores):
    with pytest.raises(UsageError, match=r'confounding 0, .*"cvci" has no score at all'):
        by_budget([s for s in scores if s.cell != CELLS[0] or s.family != "cvci"], "n_log")


def test_families_that_are_not_compared_may_be_incomplete(scores):
    some = [s for s in scores if s.family != "grounded" or s.seed > 3]
    assert differences(some, "cvci", "exp-only") == differences(scores, "cvci", "exp-only")


def test_doubled_empty_and_mixed_scores_are_refused(scores):
    with pytest.raises(UsageError, match="more than one score with seed"):
        overall([*scores, scores[4]])
    with pytest.raises(UsageError, match="no scores"):
        overall([])
    with pytest.raises(UsageError, match="several benchmarks"):
        overall([*scores, replace(scores[0], benchmark="other")])
    with pytest.raises(UsageError, match="runner-up"):
        winner_map([s for s in scores if s.family == "cvci"])
    with pytest.raises(UsageError, match="axis must be one of"):
        by_budget(scores, "seed")


def test_a_seed_without_a_number_is_left_out_for_all_and_named(scores):
    spoilt = nan_at(scores, "regret", lambda s: (s.cell, s.family, s.seed) != (CELLS[2], "cvci", 4))
    found, clean = winner_map(spoilt), winner_map([s for s in scores if s.seed != 4])
    assert found.wins == clean.wins
    assert found.seeds == SEEDS - 1
    assert "seed 4" in winner_grid(found).note
    assert "over 8 paired seeds" in winner_grid(found).note


def test_a_family_or_cell_that_never_has_a_number_is_left_out_and_named(scores):
    spoilt = nan_at(
        scores, "rmse_model_dr", lambda s: s.family != "obs-only" and (s.cell, s.family) != (CELLS[0], "cvci")
    )
    found = direct_against_dr(spoilt)
    rest = [s for s in scores if s.family != "obs-only" and s.cell != CELLS[0]]
    assert found.rows == direct_against_dr(rest).rows
    assert "obs-only" in found.notes[0]
    assert "1 cell" in found.notes[1]
    assert len(ranking(spoilt).rows) == 4


def test_numbers_nowhere_are_an_error(scores):
    with pytest.raises(UsageError, match="No seed has a finite regret"):
        overall(nan_at(scores, "regret", lambda _: False))


def test_one_seed_gives_means_without_errors(scores):
    one = [s for s in scores if s.seed == 0]
    assert all(math.isnan(win.gap.error) and not win.gap.clear for win in winner_map(one).wins)
    text = to_text(overall_table(overall(one)))
    assert "±" not in text
    assert "One seed" in text


def test_the_order_of_the_scores_does_not_matter(scores):
    assert to_csv(winner_rows(winner_map(scores))) == to_csv(winner_rows(winner_map(scores[::-1])))
    assert to_text(overall_table(overall(scores))) == to_text(overall_table(overall(scores[::-1])))


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
def test_estimates_show_the_digits_that_their_error_leaves(mean, error, text):
    assert Estimate(mean, error).shown() == text


NASTY = Table(
    "a | title",
    ("name", "x|y", "count"),
    (("=1+1", Estimate(-0.1, 0.03), 2000), ("a|b\\|<c>", Estimate(1 / 3, math.nan), 7), ("two\nlines", 0.5, -1)),
    "a *note*",
)


def test_csv_keeps_every_digit_and_starts_no_formula():
    rows = list(csv.reader(io.StringIO(to_csv(NASTY))))
    assert rows[0] == ["name", "x|y", "x|y error", "count"]
    assert rows[1] == ["'=1+1", "-0.1", "0.03", "2000"]
    assert rows[2] == ["a|b\\|<c>", repr(1 / 3), "", "7"]
    assert rows[3] == ["two\nlines", "0.5", "", "-1"]
    for start in "=+-@":
        assert to_csv(Table("t", (start,), ((f"{start}x",),))) == f"'{start}\n'{start}x\n"


def test_markdown_cells_cannot_break_out_of_their_table():
    lines = to_markdown(NASTY).splitlines()
    assert lines[0] == "**a \\| title**"
    assert lines[2] == "| name | x\\|y | count |"
    assert lines[3] == "| :-- | --: | --: |"
    assert lines[5] == "| a\\|b\\\\\\|\\<c\\> | 0.3333 | 7 |"
    assert lines[6] == "| two\\\\nlines | 0.5 | -1 |"
    assert lines[-1] == "a \\*note\\*"


def test_text_is_aligned_and_stays_on_its_lines():
    lines = to_text(NASTY).splitlines()
    assert lines[2:7] == [
        "name                 x|y  count",
        "-------------------------------",
        "=1+1        -0.10 ± 0.03  2,000",
        "a|b\\|<c>          0.3333      7",
        "two\\nlines           0.5     -1",
    ]


def test_a_row_that_does_not_fit_its_columns_is_a_mistake():
    with pytest.raises(ValueError, match="2 entries for 1 columns"):
        Table("t", ("a",), ((1, 2),))


def test_the_winner_grid_marks_gaps_that_are_not_clear(scores):
    wins = winner_map(scores).wins
    names = [entry for row in winner_grid(winner_map(scores)).rows[::3] for entry in row[2:]]
    by_budget_first = sorted(wins, key=lambda w: (w.cell.n_log, w.cell.n_experiment, w.cell.confounding))
    assert names == [win.winner + ("" if win.gap.clear else "?") for win in by_budget_first]
    assert {name[-1] == "?" for name in names} == {True, False}


def test_tables_are_written_in_three_forms_that_agree(scores, tmp_path):
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
    assert [(row["winner"], float(row["gap"]), float(row["gap error"])) for row in rows] == [
        (win.winner, win.gap.mean, win.gap.error) for win in wins
    ]


def test_metrics_that_a_benchmark_lacks_get_no_table(scores, tmp_path):
    bare = nan_at(nan_at(scores, "rmse_model_dr", lambda _: False), "top1", lambda _: False)
    stems = {path.stem for path in write_tables(bare, tmp_path)}
    assert "winners" in stems
    assert not stems & {"values", "values-by-n_experiment", "ranking"}


def test_a_folder_that_is_a_file_is_named(scores, tmp_path):
    (tmp_path / "taken").write_text("here")
    with pytest.raises(UsageError, match="taken"):
        write_tables(scores, tmp_path / "taken")


def test_the_excess_is_over_the_best_of_the_six_and_may_be_negative():
    """Against a loop; ``auto`` is no yardstick, and a family that some cells lack is left out."""
    scores = made(families=(*FAMILIES, "auto"))
    scores = [replace(s, regret=s.regret / 2) if s.family == "auto" else s for s in scores]
    lacking = [replace(s, family="grounded-linear") for s in scores if s.family == "cvci" and s.cell == CELLS[0]]
    found = excess([*scores, *lacking])
    assert set(found) == {*FAMILIES, "auto"}
    for family, estimate in found.items():
        parts = []
        for cell in CELLS:
            means = {f: statistics.fmean(values(scores, "regret", cell=cell, family=f).values()) for f in found}
            parts.append(100 * (means[family] / min(means[f] for f in FAMILIES) - 1))
        assert estimate.mean == pytest.approx(statistics.fmean(parts))
    assert found["auto"].mean < -40
    assert min(found[f].mean for f in FAMILIES) >= 0


def test_the_excess_table_ends_with_mean_and_worst():
    several = [made(families=(*FAMILIES, "auto")), made(families=(*FAMILIES, "auto"), seed=1)]
    table = excess_table(several)
    assert table.columns[0] == "family"
    assert table.columns[-2:] == ("mean", "worst")
    means = [row[-2].mean for row in table.rows]
    assert means == sorted(means)
    for row in table.rows:
        assert row[-1] == pytest.approx(max(one.mean for one in row[1:3]))
        assert row[-2].mean == pytest.approx(statistics.fmean(one.mean for one in row[1:3]))


def test_an_excess_needs_families_to_exceed():
    with pytest.raises(UsageError, match="at least two"):
        excess(made(families=("exp-only", "auto")))

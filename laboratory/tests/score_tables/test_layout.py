"""Tables of a benchmark and their files."""

from __future__ import annotations

import csv
import io
import statistics

import pytest
from deconfound_bench.score_tables import excess_table, winner_grid, winner_map, write_tables

from deconfound.errors import UsageError
from laboratory.tests.support.random_scores import FAMILIES, random_scores, set_nan


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


def test_the_excess_table_ends_with_mean_and_worst():
    several = [random_scores(families=(*FAMILIES, "auto")), random_scores(families=(*FAMILIES, "auto"), seed=1)]
    table = excess_table(several)
    assert table.columns[0] == "family"
    assert table.columns[-2:] == ("mean", "worst")
    means = [row[-2].mean for row in table.rows]
    assert means == sorted(means)
    for row in table.rows:
        assert row[-1] == pytest.approx(max(one.mean for one in row[1:3]))
        assert row[-2].mean == pytest.approx(statistics.fmean(one.mean for one in row[1:3]))

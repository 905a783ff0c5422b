"""The documented results of the default family on seeds that were not used in its design."""

from __future__ import annotations

from pathlib import Path

import pytest
from deconfound_bench.results import read_scores
from deconfound_bench.score_tables import excess_table, to_markdown

from deconfound.cli import main

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "docs" / "held-out").glob("*.parquet"))


@pytest.fixture(scope="module")
def scores():
    return [read_scores(path) for path in FILES]


def test_the_documented_table_is_computed_from_the_committed_results(scores):
    """To update it, run `deconfound bench excess docs/held-out/*.parquet --markdown`."""
    assert to_markdown(excess_table(scores)) in (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_the_default_has_the_lowest_excess_on_average_and_in_the_worst_benchmark(scores):
    rows = {row[0]: row for row in excess_table(scores).rows}
    auto = rows.pop("auto")
    assert auto[-2].mean < min(row[-2].mean for row in rows.values())
    assert auto[-1] < min(row[-1] for row in rows.values())


def test_the_held_out_seeds_are_the_documented_ones(scores):
    assert {one.seed for each in scores for one in each} == set(range(1000, 1030))


def test_the_command_prints_the_table(capsys):
    assert main(["bench", "excess", *map(str, FILES), "--markdown"]) == 0
    assert "| auto |" in capsys.readouterr().out
    assert main(["bench", "excess", *map(str, FILES)]) == 0
    assert "Excess regret" in capsys.readouterr().out

"""The page that compares results with the paper agrees with the scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.cached.target_r2 import write_target_fits
from deconfound_bench.reproduction import coding_section, reproduction_page
from deconfound_bench.reproduction.coding_section import describe_crossover, describe_grounded
from deconfound_bench.reproduction.summarization_section import (
    describe_budgets,
    describe_r2,
    describe_reward_shapes,
    describe_standings,
)
from deconfound_bench.reproduction.summarization_tables import count_wins
from deconfound_bench.results import write_results
from deconfound_bench.score_tables import score_cube
from deconfound_bench.synthetic.benchmark import TARGETED_FAMILIES, SyntheticBenchmark
from deconfound_bench.synthetic.constants import GRID, grid_cells, targeted_cells
from deconfound_bench.tasks.coding.spec import coding_cells
from deconfound_bench.tasks.coding.weight_tables import grounded_vs_log, representation_vs_log
from deconfound_bench.tasks.summarization import winner_map_cells

from deconfound.cli import main
from deconfound.errors import DataError, UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from laboratory.tests.support.score_tables import (
    EIGHT,
    MAIN,
    REWARD_BY_NAME,
    coding_fits,
    coding_regret,
    coding_scores,
    equal_regret,
    instruction_regret,
    instruction_scores,
    make_scores,
    summarization_fits,
    summarization_regret,
    summarization_scores,
)

ROOT = Path(__file__).parents[3]
CONSTANTS = {"components": ["faithfulness", "coverage"], "left_out": ["clarity"], "claims": False, "contexts": None}


# --- synthetic benchmark ---


@pytest.fixture
def synthetic_results(tmp_path):
    """Results of the grid and of the targeted regime as files."""
    constants = SyntheticBenchmark("synthetic", GRID, tmp_path, None, "built-in", 1).constants
    grid, targeted = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_results(
        grid, "synthetic", constants, make_scores(grid_cells(), PAPER_FAMILY_NAMES, "synthetic"), PAPER_FAMILY_NAMES
    )
    scores = make_scores(targeted_cells(), TARGETED_FAMILIES, "synthetic-targeted", dr=-0.03)
    write_results(targeted, "synthetic-targeted", constants, scores, TARGETED_FAMILIES)
    return [grid, targeted]


def test_the_page_shows_the_papers_figures_beside_ours(synthetic_results, tmp_path):
    assert main(["bench", "reproduction", *map(str, synthetic_results), "-o", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert page == reproduction_page(synthetic_results)
    assert "| 2,000 log, 20 experiment | paper | cvci-residual 0.0004 |" in page
    assert "| cvci | 0.0212 | 0.0399 |" in page
    assert "| 400 | paper's curve | 0.0738 | 0.0347 |" in page
    assert "8 paired seeds" in page
    assert "| user_effect | 0.5 |" in page


def test_the_targeted_regime_can_be_a_section_of_its_own(synthetic_results):
    page = reproduction_page(synthetic_results[1:])
    assert "## The targeted regime" in page
    assert "Controlled validation" not in page


# --- rejected files ---


def test_results_of_unknown_benchmarks_are_rejected(tmp_path):
    scores = make_scores(grid_cells(), PAPER_FAMILY_NAMES, "weather")
    write_results(tmp_path / "a.parquet", "weather", "{}", scores, PAPER_FAMILY_NAMES)
    with pytest.raises(UsageError, match=r'covers synthetic, .* results of "weather"'):
        reproduction_page([tmp_path / "a.parquet"])


def test_an_incomplete_benchmark_is_rejected(tmp_path):
    path = tmp_path / "a.parquet"
    write_results(
        path, "coding-swe", "{}", make_scores(coding_cells()[1:], PAPER_FAMILY_NAMES, "coding-swe"), PAPER_FAMILY_NAMES
    )
    with pytest.raises(UsageError, match=r"coding-swe is incomplete: exp-only is missing at .*fix0-weakest0"):
        reproduction_page([path])


def test_the_same_benchmark_twice_is_rejected(synthetic_results):
    with pytest.raises(UsageError, match='Two files contain results of "synthetic"'):
        reproduction_page([synthetic_results[0]] * 2)


def test_target_fits_without_their_results_are_rejected(synthetic_results, tmp_path):
    path = write_target_fits(tmp_path / "alignment.parquet", "coding-swe", coding_fits())
    with pytest.raises(UsageError, match="alignments of coding-swe but no results"):
        reproduction_page([*synthetic_results, path])


def test_a_file_that_is_not_a_table_is_rejected(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text("not a table")
    with pytest.raises(DataError, match="cannot be read as a table"):
        reproduction_page([path])
    with pytest.raises(DataError, match=r"missing\.parquet: no such file"):
        reproduction_page([tmp_path / "missing.parquet"])


# --- cached benchmarks ---


@pytest.fixture(scope="module")
def cached_results(tmp_path_factory):
    """Results and target fits of all three tasks, with two grids of summaries."""
    folder = tmp_path_factory.mktemp("cached")
    files = {
        "z": ("summarization-summeval", summarization_scores(), EIGHT),
        "c": ("summarization-mine", summarization_scores(equal_regret, name="summarization-mine"), EIGHT),
        "b": ("coding-swe", coding_scores(), PAPER_FAMILY_NAMES),
        "a": ("instructions-alpacaeval", instruction_scores(instruction_regret), PAPER_FAMILY_NAMES),
    }
    for file, (name, scores, families) in files.items():
        write_results(folder / f"{file}.parquet", name, json.dumps(CONSTANTS), scores, families)
    write_target_fits(folder / "x.parquet", "summarization-summeval", summarization_fits())
    write_target_fits(folder / "y.parquet", "coding-swe", coding_fits())
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def page(cached_results):
    return reproduction_page(cached_results)


def test_sections_are_in_a_fixed_order_whatever_the_order_of_files(page, cached_results):
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Summarization: mine",
        "## Summarization: summeval",
        "## Coding: swe",
        "## Instructions: alpacaeval",
    ]
    assert reproduction_page(cached_results[::-1]) == page


@pytest.mark.parametrize(
    "line",
    [
        "| cvci | 2.04 |",
        "| exp-only minus best log-based | paper | +0.0042 | -0.0007 | +0.0020 | -0.0002 |",
        "| cvci | 0.0126 |",
        "| judged | sharpened | 0.779 |",
        "| obs-only | 100 | 0.0479 |",
        "| grounded-linear | 1 |",
        "| 20,000 log, 20 experiment | paper | grounded 0.0016 |",
        "| fix 1 | paper | obs-only 0.0011 |",
        "| 0 | paper | -0.0039 | +0.0003 | – | – | +0.0415 |",
        "| paper | +0.0495 | – | – | – | +0.0126 |",
        "| auxiliary statistics | paper | 0.347 |",
        "| fix success alone | paper | about 0 |",
        "deconfound bench summarization --grid DIR/summeval --contexts all -o OUT",
        "deconfound bench coding --grid DIR/swe -o OUT",
        "Not judged and therefore omitted: clarity.",
        "No alignment.parquet of this grid was given",
        "| Summarization: summeval | 11 | 0 | 0 |",
        "10 in its protocol",
    ],
)
def test_the_page_contains_the_papers_figures_of_the_cached_benchmarks(page, line):
    assert line in page


def test_our_figures_agree_with_the_scores(page):
    scores = [one for one in summarization_scores() if one.cell.n_experiment == 20 and one.cell.reward == "smooth"]
    mean = np.mean([one.regret for one in scores if one.family == "exp-only" and one.cell.n_log == 2_000])
    row = next(
        line for line in page.split("## Summarization: summeval")[1].splitlines() if line.startswith("|  | here | ")
    )
    assert f"{mean:.4f}"[:5] in row


# --- sentences ---


def main_scores(regret):
    return [one for one in summarization_scores(regret) if one.cell in MAIN and one.family in PAPER_FAMILY_NAMES]


@pytest.mark.parametrize(
    ("describe", "agreeing", "other", "agrees", "differs"),
    [
        (
            lambda regret: describe_standings(main_scores(regret)),
            summarization_regret,
            lambda _c, f: 0.1 if f == "obs-only" else 0.2,
            "cvci leads (as in the paper), followed by obs-only",
            "in the paper cvci",
        ),
        (
            lambda regret: describe_budgets(main_scores(regret)),
            summarization_regret,
            equal_regret,
            "sign at 4 of 4 budgets; all of ours exceed two standard errors",
            "of ours are within two standard errors",
        ),
        (
            lambda regret: describe_reward_shapes(main_scores(regret)),
            lambda c, f: 0.1 + (c.reward == "sharpened") * {"exp-only": 0.01, "representation-exp": 0.05}.get(f, 0.03),
            lambda c, f: 0.1 + (c.reward == "sharpened") * {"exp-only": 0.05, "representation-exp": 0.01}.get(f, 0.03),
            "most, as in the paper.",
            "in the paper these are exp-only and representation-exp.",
        ),
        (
            lambda regret: describe_crossover(representation_vs_log(coding_scores(regret))),
            coding_regret,
            lambda _c, f: 0.1 + 0.1 * (f == "representation-exp"),
            "ahead up to fix 0;",
            "behind at every weight",
        ),
        (
            lambda regret: describe_crossover(representation_vs_log(coding_scores(regret))),
            lambda _c, f: 0.2 - 0.1 * (f == "representation-exp"),
            lambda c, f: 0.1 + (f == "representation-exp") * (0.05 - 0.1 * REWARD_BY_NAME[c.reward].fix_weight),
            "ahead at every weight",
            "but not from ahead to behind",
        ),
        (
            lambda regret: describe_grounded(grounded_vs_log(coding_scores(regret))),
            coding_regret,
            equal_regret,
            "1.0 times the paper's",
            "no clear difference here",
        ),
        (
            lambda regret: describe_grounded(grounded_vs_log(coding_scores(regret))),
            coding_regret,
            lambda _c, f: 0.1 - 0.05 * (f == "grounded"),
            "times the paper's",
            "grounded is ahead here",
        ),
    ],
)
def test_sentences_depend_on_the_numbers(describe, agreeing, other, agrees, differs):
    assert agrees in describe(agreeing)
    assert differs not in describe(agreeing)
    assert differs in describe(other)


def test_sentences_about_r2_depend_on_the_numbers():
    assert "As in the paper the proxies explain little" in describe_r2(summarization_fits())
    assert "more than the paper's" in describe_r2(summarization_fits(proxies=0.7))
    assert "more than they do from fix 0.5 on" in coding_section.describe_r2(coding_fits())
    assert "less than they do at every weight" in coding_section.describe_r2(coding_fits(rise=0.0))


def test_wins_of_grounded_linear_are_counted_without_grounded_anchor():
    scores = make_scores(
        winner_map_cells(), EIGHT, "s", lambda _c, f: {"grounded-anchor": 0.1, "grounded-linear": 0.15}.get(f, 0.2)
    )
    cube = score_cube(scores, ("regret",))
    assert [count_wins(cube, family) for family in ("grounded-linear", "grounded", "grounded-anchor")] == [24, 0, 24]


def test_the_committed_page_is_generated_from_the_committed_results():
    results = sorted((ROOT / "docs" / "reproduction").glob("*.parquet"))
    assert results
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == reproduction_page(results)

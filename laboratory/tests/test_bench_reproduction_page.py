"""The page that sets results beside the paper's says what the scores say."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.cached.alignment import write_alignment
from deconfound_bench.coding.recipe import coding_cells
from deconfound_bench.coding.tables import against_log, grounded_against_log
from deconfound_bench.reproduction.coding import about_crossover, about_grounded
from deconfound_bench.reproduction.coding import about_fits as about_coding_fits
from deconfound_bench.reproduction.document import reproduction
from deconfound_bench.reproduction.summarization import about_budgets, about_shapes, about_standings
from deconfound_bench.reproduction.summarization import about_fits as about_summary_fits
from deconfound_bench.reproduction.summarization_tables import wins
from deconfound_bench.summarization.recipe import map_cells
from deconfound_bench.sweep.table import write_results
from deconfound_bench.synthetic.benchmark import Synthetic
from deconfound_bench.synthetic.constants import GRID, grid_cells, targeted_cells
from deconfound_bench.synthetic.targeted import TARGETED_FAMILIES
from deconfound_bench.tables.paired import paired

from deconfound.cli import main
from deconfound.errors import DataError, UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from laboratory.tests.support.score_tables import (
    CODING,
    EIGHT,
    MAIN,
    answers,
    chat_regret,
    coding_fits,
    coding_regret,
    flat,
    make,
    patches,
    summaries,
    summary_fits,
    summary_regret,
)

ROOT = Path(__file__).parents[2]
MADE = {"components": ["faithfulness", "coverage"], "left_out": ["clarity"], "claims": False, "contexts": None}


@dataclass(frozen=True, slots=True)
class Fake:
    """What a table of results keeps of its benchmark."""

    name: str
    constants: str


# --- synthetic benchmark ---


@pytest.fixture
def tables(tmp_path):
    """Both results as files."""
    grid = Synthetic("synthetic", GRID, tmp_path, None, "built-in", 1)
    write_results(tmp_path / "a.parquet", grid, make(grid_cells(), PAPER_FAMILY_NAMES, "synthetic"), PAPER_FAMILY_NAMES)
    targeted = replace(grid, name="synthetic-targeted")
    scores = make(targeted_cells(), TARGETED_FAMILIES, "synthetic-targeted", dr=-0.03)
    write_results(tmp_path / "b.parquet", targeted, scores, TARGETED_FAMILIES)
    return [tmp_path / "a.parquet", tmp_path / "b.parquet"]


def test_the_page_sets_both_side_by_side(tables, tmp_path):
    assert main(["bench", "reproduction", *map(str, tables), "-o", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert page == reproduction(tables)
    assert "| 2,000 log, 20 experiment | paper | cvci-residual 0.0004 |" in page
    assert "| cvci | 0.0212 | 0.0399 |" in page
    assert "| 400 | paper's curve | 0.0738 | 0.0347 |" in page
    assert "8 paired seeds" in page
    assert "| user_effect | 0.5 |" in page


def test_the_targeted_regime_can_stand_alone(tables):
    page = reproduction(tables[1:])
    assert "## The targeted regime" in page
    assert "Controlled validation" not in page


# --- what is refused ---


def test_results_of_something_else_are_refused(tmp_path):
    scores = make(grid_cells(), PAPER_FAMILY_NAMES, "weather")
    write_results(tmp_path / "a.parquet", Fake("weather", "{}"), scores, PAPER_FAMILY_NAMES)
    with pytest.raises(UsageError, match=r'knows synthetic, .* results of "weather"'):
        reproduction([tmp_path / "a.parquet"])


def test_a_part_of_a_benchmark_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    write_results(
        path, Fake("coding-swe", "{}"), make(coding_cells()[1:], PAPER_FAMILY_NAMES, "coding-swe"), PAPER_FAMILY_NAMES
    )
    with pytest.raises(UsageError, match=r"coding-swe lacks exp-only at .*fix0-weakest0 and is not whole"):
        reproduction([path])


def test_the_same_benchmark_twice_is_refused(tables):
    with pytest.raises(UsageError, match='Two files hold results of "synthetic"'):
        reproduction([tables[0], tables[0]])


def test_an_alignment_without_its_results_is_refused(tables, tmp_path):
    path = write_alignment(tmp_path / "alignment.parquet", "coding-swe", coding_fits())
    with pytest.raises(UsageError, match="alignments of coding-swe but no results"):
        reproduction([*tables, path])


def test_a_file_that_is_no_table_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text("no table")
    with pytest.raises(DataError, match="cannot be read as a table"):
        reproduction([path])


# --- cached benchmarks ---


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    """Results and alignments of all three kinds, two grids of summaries."""
    folder = tmp_path_factory.mktemp("cached")
    kept = {
        "z": ("summarization-summeval", summaries(), EIGHT),
        "c": ("summarization-mine", summaries(flat, name="summarization-mine"), EIGHT),
        "b": ("coding-swe", patches(), PAPER_FAMILY_NAMES),
        "a": ("instructions-alpacaeval", answers(chat_regret), PAPER_FAMILY_NAMES),
    }
    for file, (name, scores, families) in kept.items():
        write_results(folder / f"{file}.parquet", Fake(name, json.dumps(MADE)), scores, families)
    write_alignment(folder / "x.parquet", "summarization-summeval", summary_fits())
    write_alignment(folder / "y.parquet", "coding-swe", coding_fits())
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def page(cached):
    return reproduction(cached)


def test_sections_appear_for_what_is_there_in_one_order(page, cached):
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Summarization: mine",
        "## Summarization: summeval",
        "## Coding: swe",
        "## Instructions: alpacaeval",
    ]
    assert reproduction(cached[::-1]) == page


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
        "Not judged and so left out: clarity.",
        "No alignment.parquet of this grid was given",
        "| Summarization: summeval | 11 | 0 | 0 |",
        "10 in its protocol",
    ],
)
def test_the_cached_benchmarks_stand_beside_the_paper(page, line):
    assert line in page


def test_our_figures_are_those_of_the_scores(page):
    scores = [one for one in summaries() if one.cell.n_experiment == 20 and one.cell.reward == "smooth"]
    mean = np.mean([one.regret for one in scores if one.family == "exp-only" and one.cell.n_log == 2_000])
    row = next(
        line for line in page.split("## Summarization: summeval")[1].splitlines() if line.startswith("|  | here | ")
    )
    assert f"{mean:.4f}"[:5] in row


# --- sentences ---


def main_of(regret):
    return [one for one in summaries(regret) if one.cell in MAIN and one.family in PAPER_FAMILY_NAMES]


@pytest.mark.parametrize(
    ("say", "agreeing", "other", "agrees", "differs"),
    [
        (
            lambda regret: about_standings(main_of(regret)),
            summary_regret,
            lambda _c, f: 0.1 if f == "obs-only" else 0.2,
            "cvci leads before obs-only, as in the paper",
            "where the paper has cvci",
        ),
        (
            lambda regret: about_budgets(main_of(regret)),
            summary_regret,
            flat,
            "sign at 4 of 4 budgets, each beyond two errors",
            "of ours are within two errors",
        ),
        (
            lambda regret: about_shapes(main_of(regret)),
            lambda c, f: 0.1 + (c.reward == "sharpened") * {"exp-only": 0.01, "representation-exp": 0.05}.get(f, 0.03),
            lambda c, f: 0.1 + (c.reward == "sharpened") * {"exp-only": 0.05, "representation-exp": 0.01}.get(f, 0.03),
            "most, as in the paper.",
            "in the paper it is exp-only and representation-exp.",
        ),
        (
            lambda regret: about_crossover(against_log(patches(regret))),
            coding_regret,
            lambda _c, f: 0.1 + 0.1 * (f == "representation-exp"),
            "ahead up to fix 0;",
            "behind at every weight",
        ),
        (
            lambda regret: about_crossover(against_log(patches(regret))),
            lambda _c, f: 0.2 - 0.1 * (f == "representation-exp"),
            lambda c, f: 0.1 + (f == "representation-exp") * (0.05 - 0.1 * CODING[c.reward].fix),
            "ahead at every weight",
            "but not from ahead to behind",
        ),
        (
            lambda regret: about_grounded(grounded_against_log(patches(regret))),
            coding_regret,
            flat,
            "1.0 times the paper's",
            "no difference is found here",
        ),
        (
            lambda regret: about_grounded(grounded_against_log(patches(regret))),
            coding_regret,
            lambda _c, f: 0.1 - 0.05 * (f == "grounded"),
            "times the paper's",
            "grounded is ahead here",
        ),
    ],
)
def test_the_sentences_follow_the_numbers(say, agreeing, other, agrees, differs):
    assert agrees in say(agreeing)
    assert differs not in say(agreeing)
    assert differs in say(other)


def test_the_sentences_about_fits_follow_the_numbers():
    assert "As in the paper the proxies explain little" in about_summary_fits(summary_fits())
    assert "more than the paper's" in about_summary_fits(summary_fits(proxies=0.7))
    assert "more than they do from fix 0.5 on" in about_coding_fits(coding_fits())
    assert "less than they do at every weight" in about_coding_fits(coding_fits(rise=0.0))


def test_wins_of_the_linear_variant_are_counted_without_the_anchor():
    scores = make(map_cells(), EIGHT, "s", lambda _c, f: {"grounded-anchor": 0.1, "grounded-linear": 0.15}.get(f, 0.2))
    grid = paired(scores, ("regret",))
    assert [wins(grid, family) for family in ("grounded-linear", "grounded", "grounded-anchor")] == [24, 0, 24]


def test_the_committed_page_is_what_the_committed_results_say():
    results = sorted((ROOT / "docs" / "reproduction").glob("*.parquet"))
    assert results
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == reproduction(results)

"""The comparison with the paper says what the scores say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deconfound.bench.reproduction import paper
from deconfound.bench.reproduction.claims import synthetic_claims, targeted_claim
from deconfound.bench.reproduction.document import reproduction
from deconfound.bench.results import Choice, Score
from deconfound.bench.sweep.table import write_results
from deconfound.bench.synthetic.benchmark import Synthetic
from deconfound.bench.synthetic.constants import GRID, grid_cells, targeted_cells
from deconfound.bench.synthetic.targeted import TARGETED_FAMILIES
from deconfound.cli import main
from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_SIX

ROOT = Path(__file__).parent.parent
SEEDS = range(8)


def regret_of(cell, family):
    """A world in which all that the paper says is so."""
    if family == "exp-only":
        return 0.2 - 0.0008 * cell.n_experiment
    if family == "obs-only":
        return 0.13 + 0.03 * cell.confounding
    if family == "cvci":
        return 0.125 if cell.n_experiment == 20 else 0.13
    return 0.16


def make(cells, families, name, regret=regret_of, dr=0.05):
    rng = np.random.default_rng(0)
    noise = {seed: rng.normal(0, 0.01) for seed in SEEDS}
    return tuple(
        Score(
            name,
            cell,
            seed,
            family,
            regret=regret(cell, family) + noise[seed] + rng.normal(0, 0.0005),
            rmse_context=0.2,
            rmse_model_direct=0.05 + rng.normal(0, 0.001),
            rmse_model_dr=0.05 + dr + rng.normal(0, 0.001),
            top1=0.0,
            top3=1 / 3,
            seconds=1.0,
            choice=Choice(penalty=1.0, mode="fixed"),
        )
        for cell in cells
        for seed in SEEDS
        for family in families
    )


def verdicts(scores):
    return [claim.verdict for claim in synthetic_claims(scores)]


def test_a_world_as_the_paper_describes_it_is_found():
    assert verdicts(make(grid_cells(), PAPER_SIX, "synthetic")) == ["found"] * 5


@pytest.mark.parametrize(
    ("claim", "regret", "dr", "verdict"),
    [
        (0, lambda _cell, family: 0.1 if family == "cvci" else 0.2, 0.05, "not found"),
        (1, lambda _cell, family: 0.1 if family == "obs-only" else 0.2, 0.05, "not found"),
        (2, lambda _cell, _family: 0.1, 0.05, "not found"),
        (3, lambda cell, _family: 0.2 - 0.05 * cell.confounding, 0.05, "not found"),
        (3, lambda cell, _family: 0.1 + 0.05 * cell.confounding * (cell.n_log == 2_000), 0.05, "partly found"),
        (4, regret_of, -0.02, "not found"),
    ],
)
def test_what_is_not_so_is_not_found(claim, regret, dr, verdict):
    assert verdicts(make(grid_cells(), PAPER_SIX, "synthetic", regret, dr))[claim] == verdict


def test_the_targeted_regime_needs_every_family_to_gain():
    gain, loss = (make(targeted_cells(), TARGETED_FAMILIES, "synthetic-targeted", dr=dr) for dr in (-0.03, 0.03))
    assert targeted_claim(gain).verdict == "found"
    assert targeted_claim(loss).verdict == "not found"
    mixed = [better if better.family == "cvci" else worse for better, worse in zip(gain, loss, strict=True)]
    assert targeted_claim(mixed).verdict == "partly found"


def test_the_papers_winners_are_counted_as_it_counts_them():
    wins = [win.family for row in paper.SYNTHETIC_WINNERS.values() for win in row]
    counts = {family: wins.count(family) for family in set(wins)}
    assert counts == {"cvci": 12, "exp-only": 5, "obs-only": 4, "grounded": 2, "cvci-residual": 1}


@pytest.fixture
def tables(tmp_path):
    """Both results as files."""
    grid = Synthetic("synthetic", GRID, tmp_path, None, "built-in", 1)
    write_results(tmp_path / "a.parquet", grid, make(grid_cells(), PAPER_SIX, "synthetic"), PAPER_SIX)
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


def test_results_of_something_else_are_refused(tables):
    with pytest.raises(UsageError, match="needs results of synthetic"):
        reproduction(tables[1:])


def test_the_committed_page_is_what_the_committed_results_say():
    results = sorted((ROOT / "docs" / "reproduction").glob("*.parquet"))
    assert results
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == reproduction(results)

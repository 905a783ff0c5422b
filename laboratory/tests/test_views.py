"""A view selects its cells and families."""

from __future__ import annotations

from deconfound_bench.results import Cell, Hyperparameters, Score
from deconfound_bench.views import View, write_views

from deconfound.evaluation import PAPER_FAMILY_NAMES


def make_score(cell, family):
    return Score("b", cell, 0, family, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 0.0, Hyperparameters())


def test_a_view_selects_its_own_cells_and_families(tmp_path):
    cells = [Cell(0.5, 10, size, "smooth") for size in (20, 100)]
    scores = [make_score(cell, family) for cell in cells for family in ("cvci", "grounded-anchor")]
    assert View("all", tuple(cells)).select(scores) == tuple(scores)
    assert View("one", (cells[1],)).select(scores) == tuple(scores[2:])
    assert View("six", tuple(cells), PAPER_FAMILY_NAMES).select(scores) == (scores[0], scores[2])
    empty = View("none", (Cell(0.0, 1, 1, "smooth"),))
    assert write_views(scores, (empty, empty), tmp_path) == ()

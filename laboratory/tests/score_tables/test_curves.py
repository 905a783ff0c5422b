"""Regret along one axis against naive averages."""

from __future__ import annotations

import pytest
from deconfound_bench.score_tables import curve_grid, curve_panels, regret_by_axis

from laboratory.tests.support.random_scores import CELLS, average, is_close


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

"""Errors of direct and doubly robust values against naive averages."""

from __future__ import annotations

import statistics

import pytest
from deconfound_bench.score_tables import direct_vs_dr, dr_curve, ranking_summary

from laboratory.tests.support.random_scores import CELLS, SEEDS, average, is_close, naive_estimate, values


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

"""Accuracy of the models' values and of their order, for direct and doubly robust (DR) estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deconfound_bench.results import Score
from deconfound_bench.score_tables.curves import means_by_level, uneven_notes
from deconfound_bench.score_tables.score_cube import Estimate, Level, axis_levels, mean_over_seeds, score_cube

VALUE_METRICS = ("rmse_model_direct", "rmse_model_dr")
RANKING_METRICS = ("top1", "top3", "rmse_context")


@dataclass(frozen=True, slots=True)
class EstimatorErrors:
    """RMSE of the models' values by both estimators; ``difference`` is DR minus direct, paired by seed."""

    family: str
    direct: Estimate
    dr: Estimate
    difference: Estimate
    dr_better: int  # cells in which DR has the lower mean error


@dataclass(frozen=True, slots=True)
class DirectVsDr:
    """Both estimators of the models' values, one row per family."""

    benchmark: str
    rows: tuple[EstimatorErrors, ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DrCurve:
    """Both estimators by experiment size: one row per family, one column per level."""

    benchmark: str
    levels: tuple[Level, ...]
    families: tuple[str, ...]
    direct: tuple[tuple[Estimate, ...], ...]
    dr: tuple[tuple[Estimate, ...], ...]
    difference: tuple[tuple[Estimate, ...], ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankingAccuracy:
    """How well one family ranks the models, and its error on single contexts."""

    family: str
    top1: Estimate
    top3: Estimate
    rmse_context: Estimate


@dataclass(frozen=True, slots=True)
class RankingSummary:
    """Ranking accuracy of every family."""

    benchmark: str
    rows: tuple[RankingAccuracy, ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


def direct_vs_dr(scores: Sequence[Score]) -> DirectVsDr:
    """For each family, whether the doubly robust correction reduces the error of the models' values."""
    cube = score_cube(scores, VALUE_METRICS)
    direct, dr = cube.values
    dr_better = (dr.mean(axis=2) < direct.mean(axis=2)).sum(axis=0)
    difference = dr - direct
    rows = tuple(
        EstimatorErrors(
            family,
            mean_over_seeds(direct[:, at].mean(axis=0)),
            mean_over_seeds(dr[:, at].mean(axis=0)),
            mean_over_seeds(difference[:, at].mean(axis=0)),
            int(dr_better[at]),
        )
        for at, family in enumerate(cube.families)
    )
    return DirectVsDr(cube.benchmark, rows, len(cube.cells), len(cube.seeds), cube.notes)


def dr_curve(scores: Sequence[Score]) -> DrCurve:
    """The same comparison by experiment size, averaged over the cells of each size."""
    cube = score_cube(scores, VALUE_METRICS)
    direct, dr = cube.values
    return DrCurve(
        cube.benchmark,
        axis_levels(cube.cells, "n_experiment"),
        cube.families,
        means_by_level(cube, "n_experiment", direct),
        means_by_level(cube, "n_experiment", dr),
        means_by_level(cube, "n_experiment", dr - direct),
        len(cube.cells),
        len(cube.seeds),
        (*cube.notes, *uneven_notes(cube.cells, "n_experiment")),
    )


def ranking_summary(scores: Sequence[Score]) -> RankingSummary:
    """Recall of the truly best models and error on single contexts, averaged over all cells."""
    cube = score_cube(scores, RANKING_METRICS)
    averages = [metric.mean(axis=0) for metric in cube.values]
    rows = tuple(
        RankingAccuracy(family, *(mean_over_seeds(metric[at]) for metric in averages))
        for at, family in enumerate(cube.families)
    )
    return RankingSummary(cube.benchmark, rows, len(cube.cells), len(cube.seeds), cube.notes)

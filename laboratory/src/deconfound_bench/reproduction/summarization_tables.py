"""The paper's tables of its summarization benchmark, with our results beside them."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound.design import FloatArray
from deconfound_bench.cached.target_r2 import TargetFit
from deconfound_bench.reproduction import paper
from deconfound_bench.reproduction.claims import best_family, mean_regret, mean_regret_at
from deconfound_bench.reproduction.side_by_side import format_signed
from deconfound_bench.results import Score
from deconfound_bench.score_tables import (
    Entry,
    Estimate,
    ScoreCube,
    Table,
    dr_curve,
    mean_over_seeds,
    overall_standings,
    score_cube,
)
from deconfound_bench.tasks.summarization import SHARPENED, SMOOTH

REWARD_MAPS = (SMOOTH, SHARPENED)


def reported_standings_table(main: Sequence[Score]) -> Table:
    """Average rank, places among the best three and excess of the six families."""
    ours = overall_standings(main)
    rows: list[tuple[Entry, ...]] = []
    for one in ours.standings:
        reported = paper.SUMMARIZATION_STANDINGS[one.family]
        ranks: tuple[Entry, ...] = (f"{reported.rank:.2f}", one.rank, reported.top3, one.top3)
        rows.append((one.family, *ranks, f"{reported.excess:.1f}", one.excess))
    columns = ("family", "rank, paper", "here", "best three, paper", "here", "excess %, paper", "here")
    note = f"Over {ours.cells} settings, among the six families. Excess: regret over the lowest of the setting."
    return Table("Regret over all settings", columns, tuple(rows), " ".join([note, *ours.notes]))


def budgets_table(main: Sequence[Score]) -> Table:
    """Regret under the smooth map at the four budgets."""
    cube = smooth_regret(main)
    ours = [regret_at_budget(cube, *budget) for budget in paper.SUMMARIZATION_BUDGETS]
    rows: list[tuple[Entry, ...]] = []
    for at, family in enumerate(cube.families):
        reported = paper.SUMMARIZATION_REGRET.get(family)
        if reported is not None:
            rows.append((family, "paper", *(f"{value:.4f}" for value in reported)))
        name = family if reported is None else ""
        rows.append((name, "here", *(mean_over_seeds(regret[at]) for regret in ours)))
    paper_gaps = map(format_signed, paper.SUMMARIZATION_EXP_MINUS_LOG_BASED)
    rows.append(("exp-only minus best log-based", "paper", *paper_gaps))
    gaps = exp_minus_log_based(cube)
    rows.append(("", "here", *(gap for _, gap in gaps)))
    budgets = (f"{log:,} log, {experiment} experiment" for log, experiment in paper.SUMMARIZATION_BUDGETS)
    note = (
        "Mean over the confoundings. Log-based families, as the paper counts them here: "
        f"{', '.join(paper.SUMMARIZATION_LOG_BASED)}; the best at each budget here: "
        f"{', '.join(rival for rival, _ in gaps)}."
    )
    return Table("Mean regret under the smooth map", ("family", "", *budgets), tuple(rows), note)


def reward_shapes_table(main: Sequence[Score]) -> Table:
    """Regret under both maps, over all budgets and confoundings."""
    cube = score_cube(main, ("regret",))
    rows: list[tuple[Entry, ...]] = []
    for at, family in enumerate(cube.families):
        reported = paper.SUMMARIZATION_SHAPES.get(family)
        smooth, sharpened = (mean_regret_at(cube, "reward", name)[at] for name in REWARD_MAPS)
        theirs: tuple[str, ...] = ("–",) * 3
        if reported is not None:
            theirs = (f"{reported[0]:.4f}", f"{reported[1]:.4f}", format_signed(reported[2]))
        ours = (mean_over_seeds(smooth), mean_over_seeds(sharpened), mean_over_seeds(sharpened - smooth))
        rows.append((family, *_alternate(theirs, ours)))
    columns = ("family", "smooth, paper", "here", "sharpened, paper", "here", "difference, paper", "here")
    return Table("Mean regret under both maps, over budgets and confoundings", columns, tuple(rows))


def summarization_r2_table(fits: Sequence[TargetFit]) -> Table:
    """Share of the target explained by proxies and judged components."""
    by_key = {(fit.features, fit.reward): fit for fit in fits}
    rows: list[tuple[Entry, ...]] = []
    for features, reported in paper.SUMMARIZATION_R2.items():
        for reward, value in zip(REWARD_MAPS, reported, strict=True):
            fit = by_key[features, reward]
            rows.append((features, reward, f"{value:.3f}", f"{fit.median_r2:.3f}", fit.mean_r2))
    columns = ("fitted on", "map", "paper", "median here", "mean here")
    note = (
        "Least squares on four fifths of the contexts, R² on the rest. A mean far below the median is due to a few "
        "splits in which a held-out output has a property that no training output has. The paper does not report "
        "whether it gives the mean or the median."
    )
    return Table("Held-out R² of the target", columns, tuple(rows), note)


def summarization_values_table(values: Sequence[Score]) -> Table:
    """Errors of the models' values by experiment rows, for the families of the paper's table."""
    curve = dr_curve(values)
    rows: list[tuple[Entry, ...]] = []
    for family, reported in paper.SUMMARIZATION_VALUES.items():
        at = curve.families.index(family)
        for number, size in enumerate(curve.levels):
            direct, robust, gap = reported[int(size)]
            theirs = (f"{direct:.4f}", f"{robust:.4f}", format_signed(gap))
            ours = (curve.direct[at][number], curve.dr[at][number], curve.difference[at][number])
            rows.append((family, f"{size:,}", *_alternate(theirs, ours)))
    columns = ("family", "experiment", "direct, paper", "here", "DR, paper", "here", "DR - direct, paper", "here")
    return Table("Error (RMSE) of the models' values with 20,000 log rows, smooth map", columns, tuple(rows))


def variants_table(winner_map_scores: Sequence[Score]) -> Table:
    """The three forms of grounded, over the settings of the winner map."""
    cube = score_cube(winner_map_scores, ("regret", "top1", "top3"))
    rows: list[tuple[Entry, ...]] = []
    for family, reported in paper.SUMMARIZATION_VARIANTS.items():
        at = cube.families.index(family)
        ours = [mean_over_seeds(values[:, at].mean(axis=0)) for values in cube.values]
        theirs = (f"{reported.regret:.4f}", f"{reported.top1:.3f}", f"{reported.top3:.3f}")
        rows.append((family, reported.wins, count_wins(cube, family), *_alternate(theirs, ours)))
    metrics = ("wins", "regret", "top1", "top3")
    columns = ("variant", *(head for name in metrics for head in (f"{name}, paper", "here")))
    note = (
        f"Over {len(cube.cells)} settings. Wins: lowest mean regret among the six families and grounded-anchor; for "
        "grounded-linear among the six and itself, because the paper does not report how it counts that one."
    )
    return Table("Three forms of grounded", columns, tuple(rows), note)


def _alternate(theirs: Sequence[str], ours: Sequence[Estimate]) -> tuple[Entry, ...]:
    return tuple(entry for pair in zip(theirs, ours, strict=True) for entry in pair)


def smooth_regret(main: Sequence[Score]) -> ScoreCube:
    """Regret under the smooth map."""
    return score_cube([score for score in main if score.cell.reward == SMOOTH], ("regret",))


def regret_at_budget(cube: ScoreCube, log: int, experiment: int) -> FloatArray:
    """Regret (families, seeds) at one budget, averaged over the confoundings."""
    return mean_regret(cube, lambda cell: (cell.n_log, cell.n_experiment) == (log, experiment))


def exp_minus_log_based(cube: ScoreCube) -> list[tuple[str, Estimate]]:
    """For each budget, the best log-based family and the regret of exp-only minus its regret."""
    gaps = []
    for budget in paper.SUMMARIZATION_BUDGETS:
        regret = regret_at_budget(cube, *budget)
        rival = best_family(cube, regret, paper.SUMMARIZATION_LOG_BASED)
        gap = mean_over_seeds(regret[cube.families.index("exp-only")] - regret[cube.families.index(rival)])
        gaps.append((rival, gap))
    return gaps


def count_wins(cube: ScoreCube, family: str) -> int:
    """Cells with the lowest mean regret among the six and grounded-anchor, or among the six and grounded-linear."""
    excluded = "grounded-anchor" if family == "grounded-linear" else "grounded-linear"
    rivals = [at for at, name in enumerate(cube.families) if name != excluded]
    means = cube.values[0].mean(axis=2)
    return int((means[:, cube.families.index(family)] == means[:, rivals].min(axis=1)).sum())

"""What the paper says of its summarization benchmark, put to the test on our scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound_bench.cached.alignment import JUDGED, PROXIES, Aligned
from deconfound_bench.reproduction.claims import nobody_everywhere
from deconfound_bench.reproduction.evidence import (
    FOUND,
    NOT,
    PARTLY,
    Claim,
    above,
    at_level,
    below,
    leads_by_rank,
    split_claim,
    verdict,
)
from deconfound_bench.reproduction.paper_summarization import BUDGETS
from deconfound_bench.reproduction.summarization_tables import exp_minus_log_based, smooth_regret
from deconfound_bench.results import Score
from deconfound_bench.summarization.rewards import SHARPENED, SMOOTH
from deconfound_bench.tables import dr_curve
from deconfound_bench.tables.estimate import over_seeds
from deconfound_bench.tables.paired import Paired, paired
from deconfound_bench.tables.values import direct_against_dr

EXP_BASED = ("exp-only", "representation-exp")
FULLY = 0.9995  # an R² that is printed as 1.000
SCARCE = 20  # experiment rows


def summarization_claims(
    main: Sequence[Score], chart: Sequence[Score], values: Sequence[Score], aligned: Sequence[Aligned]
) -> tuple[Claim, ...]:
    """The regularities of the 48 settings, of the winner map's 24 and of the models' values."""
    smooth = smooth_regret(main)
    six = paired([one for one in chart if one.family in PAPER_FAMILY_NAMES], ("regret", "top1", "top3"))
    return (
        leads_by_rank(paired(main, ("regret",)), "cvci"),
        nobody_everywhere(six),
        _experiment_beats_log(smooth),
        _log_helps_while_scarce(smooth),
        _sharper_is_harder(paired(main, ("regret",))),
        *(_fits(aligned) if aligned else ()),
        _who_gains_by_dr(values),
        _cvci_turns(values),
        _richer_is_better(chart),
        _grounded_orders_best(six),
    )


def _experiment_beats_log(grid: Paired) -> Claim:
    """Ten times the experiment against ten times the log."""
    few, many = (at_level(grid, "n_experiment", rows) for rows in (20, 200))
    short, long = (at_level(grid, "n_log", rows) for rows in (2_000, 20_000))
    seen, found = [], 0
    for family in EXP_BASED:
        at = grid.families.index(family)
        by_experiment, by_log = many[at] - few[at], long[at] - short[at]
        found += below(over_seeds(by_experiment)) and below(over_seeds(by_experiment - by_log))
        seen.append(f"{family} {over_seeds(by_experiment).shown()} and {over_seeds(by_log).shown()}")
    said = "Ten times the experiment lowers the regret of exp-based families more than ten times the log."
    return Claim(said, f"Change of regret by either: {'; '.join(seen)}.", verdict(found, len(EXP_BASED)))


def _log_helps_while_scarce(grid: Paired) -> Claim:
    seen, found = [], 0
    for (log, experiment), (rival, gap) in zip(BUDGETS, exp_minus_log_based(grid), strict=True):
        found += above(gap) if experiment == SCARCE else not above(gap)
        seen.append(f"{gap.shown()} at {log:,} and {experiment} ({rival})")
    said = "Log-based families beat exp-only with 20 experiment rows and no longer with 200."
    return Claim(said, f"exp-only minus the best of them: {', '.join(seen)}.", verdict(found, len(BUDGETS)))


def _sharper_is_harder(grid: Paired) -> Claim:
    smooth, sharpened = (at_level(grid, "reward", name) for name in (SMOOTH, SHARPENED))
    changes = [over_seeds(each) for each in sharpened - smooth]
    seen = ", ".join(f"{family} {change.shown()}" for family, change in zip(grid.families, changes, strict=True))
    said = "The sharpened map raises the regret of every family."
    return Claim(said, f"Sharpened minus smooth: {seen}.", verdict(sum(map(above, changes)), len(changes)))


def _fits(aligned: Sequence[Aligned]) -> tuple[Claim, ...]:
    each = {(one.features, one.reward): np.array(one.each) for one in aligned}
    smooth, sharpened = ([each[JUDGED, name], each[PROXIES, name]] for name in (SMOOTH, SHARPENED))
    return (
        split_claim(
            "The judged components explain the smooth target fully and the sharpened one less.",
            [("smooth fully", smooth[0] - FULLY), ("sharpened less", smooth[0] - sharpened[0])],
        ),
        split_claim(
            "The proxies explain less than the judged components under both maps.",
            [("smooth", smooth[0] - smooth[1]), ("sharpened", sharpened[0] - sharpened[1])],
        ),
    )


def _who_gains_by_dr(values: Sequence[Score]) -> Claim:
    rows = {row.family: row for row in direct_against_dr(values).rows}
    found = below(rows["obs-only"].difference) + sum(above(rows[family].difference) for family in EXP_BASED)
    seen = ", ".join(f"{family} {rows[family].difference.shown()}" for family in ("obs-only", *EXP_BASED))
    said = "Doubly robust values have less error for obs-only and more for exp-based families."
    return Claim(said, f"DR minus direct: {seen}.", verdict(found, 1 + len(EXP_BASED)))


def _cvci_turns(values: Sequence[Score]) -> Claim:
    curve = dr_curve(values)
    row = curve.difference[curve.families.index("cvci")]
    found = above(row[0]) + below(row[-1])
    seen = ", ".join(f"{gap.shown()} with {size:,}" for size, gap in zip(curve.levels, row, strict=True))
    said = "For cvci doubly robust values have more error with 100 experiment rows and less with 800."
    return Claim(said, f"DR minus direct: {seen}.", verdict(found, 2))


def _richer_is_better(chart: Sequence[Score]) -> Claim:
    grid = paired(chart, ("regret",), ("grounded", "grounded-linear"))
    rich, linear = (grid.values[0][:, grid.families.index(family)] for family in ("grounded", "grounded-linear"))
    gap = over_seeds((rich - linear).mean(axis=0))
    lower = int((rich.mean(axis=1) < linear.mean(axis=1)).sum())
    seen = f"grounded minus grounded-linear: {gap.shown()}; lower in {lower} of {len(grid.cells)} settings."
    return Claim("grounded has less regret than grounded-linear.", seen, FOUND if below(gap) else NOT)


def _grounded_orders_best(grid: Paired) -> Claim:
    """Counted as the paper does, by cells; led in most of them is partly found."""
    at = grid.families.index("grounded")
    means = grid.values[1:].mean(axis=3)
    ahead = [int((each[:, at] >= each.max(axis=1)).sum()) for each in means]
    cells = len(grid.cells)
    leader = [grid.families[int(each.mean(axis=0).argmax())] for each in means]
    seen = (
        f"grounded is first or shares the first place in {ahead[0]} settings by top1 and {ahead[1]} by top3; best on "
        f"average: {leader[0]} and {leader[1]}."
    )
    found = FOUND if min(ahead) == cells else PARTLY if min(ahead) > cells / 2 else NOT
    return Claim(f"grounded finds the best model and the best three in all {cells} settings of the map.", seen, found)

"""What the paper says of its coding benchmark, put to the test on our scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound_bench.cached.alignment import FIRST, PROXIES, Aligned
from deconfound_bench.coding.tables import Gap, Gaps, against_log, grounded_against_log
from deconfound_bench.coding.utility import WEIGHTS, Reward
from deconfound_bench.reproduction.evidence import (
    FOUND,
    NOT,
    PARTLY,
    Claim,
    above,
    below,
    best,
    split_claim,
    verdict,
)
from deconfound_bench.results import Score
from deconfound_bench.tables import Estimate
from deconfound_bench.tables.estimate import over_seeds
from deconfound_bench.tables.paired import paired

SLICES = (0.0, 0.25)  # weights of the weakest link for which the paper prints figures


def coding_claims(scores: Sequence[Score], aligned: Sequence[Aligned]) -> tuple[Claim, ...]:
    """The crossover, what the weakest link does to grounded, and the fits behind them."""
    against = against_log(scores)
    return (
        _ahead_without_fix(against),
        _behind_with_fix(against),
        _falls_behind(against),
        _weakest_link_narrows(grounded_against_log(scores)),
        _grounded_behind(scores),
        *((_fits_cross(aligned),) if aligned else ()),
    )


def _ahead_without_fix(against: Gaps) -> Claim:
    gaps = [against.at(0.0, weakest) for weakest in SLICES]
    said = "representation-exp beats the log-based families where fix success has no weight."
    return Claim(said, _seen(gaps), verdict(sum(below(gap.difference) for gap in gaps), len(gaps)))


def _behind_with_fix(against: Gaps) -> Claim:
    gaps = [against.at(1.0, weakest) for weakest in SLICES]
    said = "Log-based families beat representation-exp where fix success has full weight."
    return Claim(said, _seen(gaps), verdict(sum(above(gap.difference) for gap in gaps), len(gaps)))


def _falls_behind(against: Gaps) -> Claim:
    changes = [over_seeds(against.at(1.0, weakest).each - against.at(0.0, weakest).each) for weakest in WEIGHTS]
    found = sum(map(above, changes))
    seen = f"The difference grows from fix 0 to fix 1 by {_each(changes)}, along the weight of the weakest link."
    said = "representation-exp loses ground to the log-based families as fix success gains weight."
    return Claim(said, seen, verdict(found, len(changes)))


def _weakest_link_narrows(grounded: Gaps) -> Claim:
    additive, weakest = grounded.at(0.0, 0.0), grounded.at(0.0, 1.0)
    change = over_seeds(weakest.each - additive.each)
    seen = (
        f"At fix 0: {additive.difference.shown()} additive, {weakest.difference.shown()} by the weakest link, change "
        f"{change.shown()}."
    )
    found = above(additive.difference) + below(change)
    said = "grounded is behind obs-only, and the weakest-link rule narrows the distance."
    return Claim(said, seen, verdict(found, 2))


def _grounded_behind(scores: Sequence[Score]) -> Claim:
    grid = paired(scores, ("regret",), ("obs-only", "cvci", "grounded"))
    at, gaps = grid.families.index("grounded"), []
    for regret in grid.values[0]:
        rival = best(grid, regret, ("obs-only", "cvci"))
        gaps.append(over_seeds(regret[at] - regret[grid.families.index(rival)]))
    behind, clearly, cells = sum(gap.mean > 0 for gap in gaps), sum(map(above, gaps)), len(gaps)
    ahead = sum(map(below, gaps))
    seen = f"Behind the better of the two in {behind} of {cells} cells, clearly in {clearly}; clearly ahead in {ahead}."
    found = FOUND if clearly == cells else PARTLY if clearly > cells / 2 and not ahead else NOT
    return Claim("grounded stays behind the better of obs-only and cvci everywhere.", seen, found)


def _fits_cross(aligned: Sequence[Aligned]) -> Claim:
    each = {(one.features, one.reward): np.array(one.each) for one in aligned}
    ends = [Reward(fix, 0.0).name for fix in (0.0, 1.0)]
    proxies, success = ([each[features, name] for name in ends] for features in (PROXIES, FIRST))
    parts = [("proxies less", proxies[0] - proxies[1]), ("fix success more", success[1] - success[0])]
    said = "As fix success gains weight, the proxies explain less of the target and fix success alone more."
    return split_claim(said, parts)


def _seen(gaps: Sequence[Gap]) -> str:
    told = ", ".join(
        f"{gap.difference.shown()} at weakest {gap.reward.weakest:g} (against {gap.rival})" for gap in gaps
    )
    return f"representation-exp minus the best of them at fix {gaps[0].reward.fix:g}: {told}."


def _each(changes: Sequence[Estimate]) -> str:
    return ", ".join(change.shown() for change in changes)

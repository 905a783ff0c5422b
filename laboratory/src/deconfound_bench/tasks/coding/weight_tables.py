"""Tables of the coding benchmark over the two weights of its reward: fix success and the weakest other component."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import quote
from deconfound_bench.results import Cell, Score
from deconfound_bench.score_tables import (
    Entry,
    Estimate,
    Table,
    Win,
    WinnerMap,
    mean_over_seeds,
    score_cube,
    varying_axes,
    winner_map,
)
from deconfound_bench.tasks.coding.utility import REWARDS, CodingReward

T = TypeVar("T")
LOG_BASED = ("obs-only", "cvci", "grounded")
SELECTION_NOTE = (
    "The reference family is chosen on the seeds that measure the difference, so differences are biased up."
)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Regret of one family minus that of a reference family under one reward, by seed."""

    reward: CodingReward
    reference: str
    by_seed: FloatArray  # (seeds,)

    @property
    def estimate(self) -> Estimate:
        """Mean over the seeds."""
        return mean_over_seeds(self.by_seed)


@dataclass(frozen=True, slots=True)
class PairedDifferences:
    """One family against reference families under every reward."""

    benchmark: str
    family: str
    against: str  # describes the reference
    differences: tuple[PairedDifference, ...]
    seeds: int
    notes: tuple[str, ...]

    def for_reward(self, fix_weight: float, weakest_weight: float) -> PairedDifference:
        """The difference under one reward."""
        reward = CodingReward(fix_weight, weakest_weight)
        return next(difference for difference in self.differences if difference.reward == reward)


@dataclass(frozen=True, slots=True)
class CrossoverCurve:
    """Regret of each family by the weight of fix success, at one weight of the weakest component."""

    weakest_weight: float
    fix_weights: tuple[float, ...]
    families: tuple[str, ...]
    regret: tuple[tuple[Estimate, ...], ...]  # one row per family, one column per weight of fix success


def coding_winners(scores: Sequence[Score]) -> dict[CodingReward, Win]:
    """The winner under every reward."""
    return by_reward(winner_map(scores).wins, lambda win: win.cell)


def representation_vs_log(scores: Sequence[Score]) -> PairedDifferences:
    """representation-exp against the log-based family with the lowest mean regret in each cell."""
    return _paired_differences(scores, "representation-exp", LOG_BASED, "the best log-based family")


def grounded_vs_log(scores: Sequence[Score]) -> PairedDifferences:
    """grounded against obs-only: the effect of the experiment's correction."""
    return _paired_differences(scores, "grounded", ("obs-only",), "obs-only")


def _paired_differences(
    scores: Sequence[Score], family: str, references: Sequence[str], against: str
) -> PairedDifferences:
    cube = score_cube(scores, ("regret",), (family, *references))
    index = {name: at for at, name in enumerate(cube.families)}
    rows = by_reward(list(zip(cube.cells, cube.values[0], strict=True)), lambda pair: pair[0])
    differences = []
    for reward, (_, regret) in sorted(rows.items(), key=lambda item: (item[0].fix_weight, item[0].weakest_weight)):
        means = {name: float(regret[index[name]].mean()) for name in references}
        reference = min(references, key=means.__getitem__)
        by_seed = np.asarray(regret[index[family]] - regret[index[reference]])
        differences.append(PairedDifference(reward, reference, by_seed))
    return PairedDifferences(cube.benchmark, family, against, tuple(differences), len(cube.seeds), cube.notes)


def crossover_curves(scores: Sequence[Score]) -> tuple[CrossoverCurve, ...]:
    """One curve per family and weight of the weakest component."""
    cube = score_cube(scores, ("regret",))
    rows = by_reward(list(zip(cube.cells, cube.values[0], strict=True)), lambda pair: pair[0])
    curves = []
    for weakest in sorted({reward.weakest_weight for reward in rows}):
        fixes = tuple(sorted(reward.fix_weight for reward in rows if reward.weakest_weight == weakest))
        columns = [[mean_over_seeds(regret) for regret in rows[CodingReward(fix, weakest)][1]] for fix in fixes]
        curves.append(CrossoverCurve(weakest, fixes, cube.families, tuple(zip(*columns, strict=True))))
    return tuple(curves)


def coding_winners_table(content: WinnerMap) -> Table:
    """Fix success in rows, the weakest component in columns; three lines per weight: winner, gap, runner-up."""
    wins = by_reward(content.wins, lambda win: win.cell)
    rows: list[tuple[Entry, ...]] = []
    for fix in sorted({reward.fix_weight for reward in wins}):
        row = [wins.get(CodingReward(fix, weakest)) for weakest in _weakest_weights(wins)]
        rows += [
            (f"{fix:g}", *((win.winner if win.gap.exceeds_two_se else f"{win.winner}?") if win else "" for win in row)),
            ("", *(win.gap.format() if win else "" for win in row)),
            ("", *(f"over {win.runner_up}" if win else "" for win in row)),
        ]
    notes = ("A question mark: the gap does not exceed two standard errors.", *content.notes)
    title = (
        f"{content.benchmark}: family with the lowest mean regret, by the weights of fix success and weakest component"
    )
    return Table(title, ("fix", *_weakest_headings(wins)), tuple(rows), _note(content.seeds, notes))


def differences_table(content: PairedDifferences) -> Table:
    """Fix success in rows, the weakest component in columns."""
    by_weights = {difference.reward: difference.estimate for difference in content.differences}
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (f"{fix:g}", *(by_weights.get(CodingReward(fix, weakest), "") for weakest in _weakest_weights(by_weights)))
        for fix in sorted({reward.fix_weight for reward in by_weights})
    )
    selected = len({difference.reference for difference in content.differences}) > 1
    note = _note(content.seeds, (*((SELECTION_NOTE,) if selected else ()), *content.notes))
    return Table(differences_title(content), ("fix", *_weakest_headings(by_weights)), rows, note)


def differences_rows(content: PairedDifferences) -> Table:
    """One row per reward."""
    rows = tuple(
        (one.reward.fix_weight, one.reward.weakest_weight, one.reference, one.estimate) for one in content.differences
    )
    return Table(differences_title(content), ("fix", "weakest", "reference", "difference"), rows)


def differences_title(content: PairedDifferences) -> str:
    """Title of the table and of the figure."""
    return f"{content.benchmark}: mean regret of {content.family} minus that of {content.against}"


def crossover_table(benchmark: str, seeds: int, curves: Sequence[CrossoverCurve]) -> Table:
    """One row per weight of the weakest component and family, the weight of fix success in columns."""
    fixes = sorted({fix for curve in curves for fix in curve.fix_weights})
    rows: list[tuple[Entry, ...]] = []
    for curve in curves:
        for family, row in zip(curve.families, curve.regret, strict=True):
            by_fix = dict(zip(curve.fix_weights, row, strict=True))
            rows.append((f"{curve.weakest_weight:g}", family, *(by_fix.get(fix, "") for fix in fixes)))
    title = f"{benchmark}: mean regret by the weight of fix success"
    return Table(title, ("weakest", "family", *(f"fix {fix:g}" for fix in fixes)), tuple(rows), _note(seeds, ()))


def by_reward(items: Sequence[T], cell: Callable[[T], Cell]) -> dict[CodingReward, T]:
    """Index items by the reward of their cell; the cells must not differ in anything else."""
    rewards = {reward.name: reward for reward in REWARDS}
    cells = [cell(item) for item in items]
    unknown = sorted({one.reward for one in cells} - set(rewards))
    if unknown:
        raise UsageError(f"{quote(unknown[0])} is not a reward of the coding benchmark, such as {REWARDS[1].name}.")
    if set(varying_axes(cells)) - {"reward"}:
        raise UsageError("The coding benchmark's cells differ in more than the reward. Show one budget at a time.")
    return {rewards[one.reward]: item for one, item in zip(cells, items, strict=True)}


def _weakest_weights(by_weights: Mapping[CodingReward, object]) -> list[float]:
    return sorted({reward.weakest_weight for reward in by_weights})


def _weakest_headings(by_weights: Mapping[CodingReward, object]) -> tuple[str, ...]:
    return tuple(f"weakest {weakest:g}" for weakest in _weakest_weights(by_weights))


def _note(seeds: int, notes: Sequence[str]) -> str:
    return " ".join([f"Mean ± standard error over {seeds} paired seeds." if seeds > 1 else "One seed.", *notes])

"""What the coding benchmark shows: families over the weights of fix success and of the weakest link."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import quote
from deconfound_bench.coding.utility import REWARDS, Reward
from deconfound_bench.results import Cell, Score
from deconfound_bench.tables import Estimate, Table, Win, WinnerMap, winner_map
from deconfound_bench.tables.estimate import over_seeds
from deconfound_bench.tables.paired import paired, varying
from deconfound_bench.tables.table import Entry

T = TypeVar("T")
LOG_BASED = ("obs-only", "cvci", "grounded")
PICKED = "The family on the right was picked on the seeds that measure the difference, so differences lean upwards."


@dataclass(frozen=True, slots=True)
class Gap:
    """Regret of one family minus a rival's under one reward, seed by seed."""

    reward: Reward
    rival: str
    each: FloatArray  # (seeds,)

    @property
    def difference(self) -> Estimate:
        """Its mean over the seeds."""
        return over_seeds(self.each)


@dataclass(frozen=True, slots=True)
class Gaps:
    """One family against its rivals under every reward."""

    benchmark: str
    left: str
    right: str
    gaps: tuple[Gap, ...]
    seeds: int
    notes: tuple[str, ...]

    def at(self, fix: float, weakest: float) -> Gap:
        """The gap under one reward."""
        return next(gap for gap in self.gaps if gap.reward == Reward(fix, weakest))


@dataclass(frozen=True, slots=True)
class Crossover:
    """Regret of each family along the weight of fix success, at one weight of the weakest link."""

    weakest: float
    fixes: tuple[float, ...]
    families: tuple[str, ...]
    regret: tuple[tuple[Estimate, ...], ...]  # a family a row, a fix weight a column


def coding_winners(scores: Sequence[Score]) -> dict[Reward, Win]:
    """The winner under every reward."""
    return by_reward(winner_map(scores).wins, lambda win: win.cell)


def against_log(scores: Sequence[Score]) -> Gaps:
    """representation-exp against the log-based family with the lowest mean regret of each cell."""
    return _gaps(scores, "representation-exp", LOG_BASED, "the best log-based family")


def grounded_against_log(scores: Sequence[Score]) -> Gaps:
    """Grounded against obs-only: what the experiment's correction does to the log."""
    return _gaps(scores, "grounded", ("obs-only",), "obs-only")


def crossovers(scores: Sequence[Score]) -> tuple[Crossover, ...]:
    """One curve for every family and weight of the weakest link."""
    grid = paired(scores, ("regret",))
    rows = by_reward(list(zip(grid.cells, grid.values[0], strict=True)), lambda pair: pair[0])
    found = []
    for weakest in sorted({reward.weakest for reward in rows}):
        fixes = tuple(sorted(reward.fix for reward in rows if reward.weakest == weakest))
        columns = [[over_seeds(each) for each in rows[Reward(fix, weakest)][1]] for fix in fixes]
        found.append(Crossover(weakest, fixes, grid.families, tuple(zip(*columns, strict=True))))
    return tuple(found)


def winners_table(content: WinnerMap) -> Table:
    """Fix success down, the weakest link across; three lines a weight: winner, gap, runner-up."""
    wins = by_reward(content.wins, lambda win: win.cell)
    rows: list[tuple[Entry, ...]] = []
    for fix in sorted({reward.fix for reward in wins}):
        here = [wins.get(Reward(fix, weakest)) for weakest in _across(wins)]
        rows += [
            (f"{fix:g}", *((win.winner if win.gap.clear else f"{win.winner}?") if win else "" for win in here)),
            ("", *(win.gap.shown() if win else "" for win in here)),
            ("", *(f"over {win.runner_up}" if win else "" for win in here)),
        ]
    note = _note(content.seeds, ("A question mark: the gap is not above two errors.", *content.notes))
    title = f"{content.benchmark}: family with the lowest mean regret, by the weights of fix success and weakest link"
    return Table(title, ("fix", *_heads(wins)), tuple(rows), note)


def gaps_table(content: Gaps) -> Table:
    """Fix success down, the weakest link across."""
    found = {gap.reward: gap for gap in content.gaps}
    rows = tuple(
        (f"{fix:g}", *(_shown(found.get(Reward(fix, weakest))) for weakest in _across(found)))
        for fix in sorted({reward.fix for reward in found})
    )
    note = _note(content.seeds, (*_chosen(content), *content.notes))
    return Table(gaps_title(content), ("fix", *_heads(found)), rows, note)


def gaps_rows(content: Gaps) -> Table:
    """One row a reward."""
    rows = tuple((gap.reward.fix, gap.reward.weakest, gap.rival, gap.difference) for gap in content.gaps)
    return Table(gaps_title(content), ("fix", "weakest", "rival", "difference"), rows)


def gaps_title(content: Gaps) -> str:
    """What the differences are."""
    return f"{content.benchmark}: mean regret of {content.left} minus that of {content.right}"


def crossover_table(benchmark: str, seeds: int, content: Sequence[Crossover]) -> Table:
    """One row a weight of the weakest link and a family, the weight of fix success across."""
    fixes = sorted({fix for one in content for fix in one.fixes})
    rows: list[tuple[Entry, ...]] = []
    for one in content:
        for family, row in zip(one.families, one.regret, strict=True):
            there = dict(zip(one.fixes, row, strict=True))
            rows.append((f"{one.weakest:g}", family, *(there.get(fix, "") for fix in fixes)))
    title = f"{benchmark}: mean regret by the weight of fix success"
    return Table(title, ("weakest", "family", *(f"fix {fix:g}" for fix in fixes)), tuple(rows), _note(seeds, ()))


def by_reward(things: Sequence[T], cell: Callable[[T], Cell]) -> dict[Reward, T]:
    """Find each thing by the reward of its cell; two with one reward would differ in something else."""
    names = {reward.name: reward for reward in REWARDS}
    cells = [cell(thing) for thing in things]
    strange = sorted({one.reward for one in cells} - set(names))
    if strange:
        raise UsageError(f"The reward {quote(strange[0])} is none of the coding benchmark's, like {REWARDS[1].name}.")
    if set(varying(cells)) - {"reward"}:
        raise UsageError("The coding benchmark's cells differ in more than the reward. Show one budget at a time.")
    return {names[one.reward]: thing for one, thing in zip(cells, things, strict=True)}


def _gaps(scores: Sequence[Score], left: str, rivals: Sequence[str], right: str) -> Gaps:
    grid = paired(scores, ("regret",), (left, *rivals))
    place = {family: at for at, family in enumerate(grid.families)}
    rows = by_reward(list(zip(grid.cells, grid.values[0], strict=True)), lambda pair: pair[0])
    gaps = []
    for reward, (_, regret) in sorted(rows.items(), key=lambda item: (item[0].fix, item[0].weakest)):
        rival = min(rivals, key=lambda family: float(regret[place[family]].mean()))
        gaps.append(Gap(reward, rival, np.asarray(regret[place[left]] - regret[place[rival]])))
    return Gaps(grid.benchmark, left, right, tuple(gaps), len(grid.seeds), grid.notes)


def _across(found: Mapping[Reward, object]) -> list[float]:
    return sorted({reward.weakest for reward in found})


def _heads(found: Mapping[Reward, object]) -> tuple[str, ...]:
    return tuple(f"weakest {weakest:g}" for weakest in _across(found))


def _shown(gap: Gap | None) -> Entry:
    return "" if gap is None else gap.difference


def _chosen(content: Gaps) -> tuple[str, ...]:
    return (PICKED,) if len({gap.rival for gap in content.gaps}) > 1 else ()


def _note(seeds: int, more: Sequence[str]) -> str:
    return " ".join([f"Mean ± standard error over {seeds} paired seeds." if seeds > 1 else "One seed.", *more])

"""From what is known to a plan, and from a plan to its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from deconfound.data import Study
from deconfound.design import FloatArray
from deconfound.errors import EvidenceError, UsageError
from deconfound.loading import LogAndReplay
from deconfound.plan.allocation import MOST_ROWS, by_spread, dealt, equal, fewest, rows_needed
from deconfound.plan.evidence import AssumedInputs, Evidence
from deconfound.plan.forecast import Forecast, Goal, Kind, Step
from deconfound.plan.from_log import from_history
from deconfound.plan.from_pilot import from_study
from deconfound.progress import Progress
from deconfound.reward import Family
from deconfound.value.multiple_comparisons import check_level

ROWS = (5, 10, 20, 50, 100, 200, 500, 1000)  # rows a model in the table
Allocation: TypeAlias = Literal["equal", "fewest"]


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One line of the table: what to expect, and what if rows vary less or more than expected."""

    expected: Step
    low: Step
    high: Step


@dataclass(frozen=True, slots=True)
class RequiredRows:
    """How many rows a goal takes."""

    goal: Goal
    allocation: Allocation
    propensity: FloatArray  # (k,) to draw each model with
    expected: Step
    low: int | None  # rows in all if rows vary less than expected; None beyond ``MOST_ROWS``
    high: int | None  # and if they vary more
    even: int | None  # rows in all with equal propensities

    @property
    def saved(self) -> float:
        """Share of rows that the allocation saves against an equal one."""
        return 0.0 if self.even is None else 1 - self.expected.total / self.even


@dataclass(frozen=True, slots=True)
class Plan:
    """What an experiment will give, for every number of rows.

    ``low`` and ``high`` repeat the forecast at both ends of the variances that the evidence leaves believable.
    """

    expected: Forecast
    low: Forecast
    high: Forecast

    @property
    def evidence(self) -> Evidence:
        """What the plan rests on."""
        return self.expected.evidence

    @property
    def level(self) -> float:
        """Of the intervals."""
        return self.expected.level

    @property
    def within(self) -> float:
        """Loss at which a model still counts as the best."""
        return self.expected.within

    def at(self, rows: FloatArray | float) -> Step:
        """What so many rows a model will give: one number for all, or one a model."""
        each = np.broadcast_to(np.asarray(rows, dtype=np.float64), (len(self.evidence.models),))
        if not (np.isfinite(each).all() and (each >= 1).all()):
            raise UsageError("Every model needs at least one row, and a finite number of them.")
        return self.expected.at(each)

    def table(self, rows: Sequence[int] = ROWS, allocation: Allocation = "equal") -> tuple[PlanRow, ...]:
        """One line for each number of rows a model, on average over models."""
        count = len(self.evidence.models)
        share = by_spread(self.evidence) if _known(allocation) == "fewest" else equal(count)
        dealt_rows = [dealt(share, each * count) for each in rows]
        return tuple(PlanRow(self.expected.at(r), self.low.at(r), self.high.at(r)) for r in dealt_rows)

    def rows_for(
        self,
        *,
        width: float | None = None,
        best: float | None = None,
        regret: float | None = None,
        allocation: Allocation = "equal",
    ) -> RequiredRows:
        """Fewest rows for one goal: a full width, a probability to choose the best model, or an expected regret."""
        goal = _one_goal(width, best, regret)
        even = equal(len(self.evidence.models))
        plain = rows_needed(self.expected, goal, even)
        share, rows = (even, plain) if _known(allocation) == "equal" else fewest(self.expected, goal)
        if rows is None:
            raise EvidenceError(_out_of_reach(goal, self))
        return RequiredRows(
            goal,
            allocation,
            share,
            self.expected.at(rows),
            _total(rows_needed(self.low, goal, share)),
            _total(rows_needed(self.high, goal, share)),
            _total(plain),
        )


def plan(
    source: Study | LogAndReplay | AssumedInputs | Evidence,
    *,
    level: float = 0.95,
    elsewhere: int = 0,
    within: float = 0.0,
    family: Family | None = None,
    seed: int = 0,
    progress: Progress = lambda stage, done: None,  # noqa: ARG005
) -> Plan:
    """Plan an experiment from a study with a pilot, from a log and a replay, or from bare numbers.

    ``elsewhere`` counts replayed contexts beyond the experiment's that will sharpen the average over contexts.
    ``within`` is the loss at which a model still counts as the best. ``family`` is the reward a pilot is judged with.
    """
    check_level(level)
    if elsewhere < 0:
        raise UsageError(f"--elsewhere must be at least 0, not {elsewhere}.")
    if not 0.0 <= within < 1.0:
        raise UsageError(f"--regret must lie between 0 and 1, not {within:g}.")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, not {seed}.")
    evidence = _evidence(source, family, seed, progress)
    low, high = (Forecast.of(evidence.scaled(f), level, elsewhere, within) for f in evidence.variance_range)
    return Plan(Forecast.of(evidence, level, elsewhere, within), low, high)


def _evidence(
    source: Study | LogAndReplay | AssumedInputs | Evidence, family: Family | None, seed: int, progress: Progress
) -> Evidence:
    if isinstance(source, Study):
        return from_study(source, family, seed, progress)
    if isinstance(source, LogAndReplay):
        return from_history(source, seed, progress)
    return source.evidence() if isinstance(source, AssumedInputs) else source


def _one_goal(width: float | None, best: float | None, regret: float | None) -> Goal:
    wishes: tuple[tuple[Kind, float | None], ...] = (("width", width), ("best", best), ("regret", regret))
    given = [Goal(kind, wish) for kind, wish in wishes if wish is not None]
    if len(given) != 1:
        raise UsageError("Give one goal: a width, a probability to choose the best, or a regret.")
    return given[0]


def _known(allocation: str) -> str:
    if allocation not in ("equal", "fewest"):
        raise UsageError(f'allocation must be "equal" or "fewest", not {allocation!r}.')
    return allocation


def _total(rows: FloatArray | None) -> int | None:
    return None if rows is None else round(float(rows.sum()))


def _out_of_reach(goal: Goal, made: Plan) -> str:
    step = made.at(MOST_ROWS / len(made.evidence.models))
    reached = {"width": step.typical, "best": step.best, "regret": step.regret}[goal.kind]
    wish = {
        "width": "a larger --width",
        "best": "a lower --best, or a --regret to allow",
        "regret": "a larger --regret",
    }
    return (
        f"--{goal.kind} {goal.wish:g} takes more than {MOST_ROWS:,} rows: with that many it is {reached:.3g}. "
        f"Ask for {wish[goal.kind]}."
    )

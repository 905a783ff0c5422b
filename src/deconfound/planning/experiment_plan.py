"""Plan an experiment: projections for any number of rows, and the rows that a goal requires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from deconfound.data import Study
from deconfound.design import FloatArray
from deconfound.errors import EvidenceError, UsageError, check_seed
from deconfound.loading import LogAndReplay
from deconfound.planning.allocation import (
    MAX_ROWS,
    allocate_rows,
    cheapest_allocation,
    equal_shares,
    rows_needed,
    width_shares,
)
from deconfound.planning.forecast import Forecast, Goal, GoalKind, Projection
from deconfound.planning.from_log import inputs_from_log
from deconfound.planning.from_pilot import inputs_from_study
from deconfound.planning.inputs import AssumedInputs, PlanInputs
from deconfound.progress import Progress, no_progress
from deconfound.reward import Family
from deconfound.value.multiple_comparisons import check_level

ROWS_PER_MODEL = (5, 10, 20, 50, 100, 200, 500, 1000)  # in the table
MAX_EXTRA_CONTEXTS = 1_000_000_000
ALLOCATIONS = ("equal", "optimal")
Allocation: TypeAlias = Literal["equal", "optimal"]


@dataclass(frozen=True, slots=True)
class PlanRow:
    """Projections for one number of rows, at the expected variances and at both ends of their interval."""

    expected: Projection
    low: Projection  # variances at the lower end
    high: Projection  # variances at the upper end

    @property
    def width_limits(self) -> tuple[float, float]:
        """Smallest and largest width; close to one, a median width need not increase with the variance."""
        widths = [each.rms_width for each in (self.low, self.expected, self.high)]
        return min(widths), max(widths)


@dataclass(frozen=True, slots=True)
class RequiredRows:
    """The smallest number of rows that meets a goal, and how to allocate them."""

    goal: Goal
    allocation: Allocation
    propensity: FloatArray  # (k,) to randomize each model with
    expected: Projection
    low: int | None  # total rows at the lower end of the variances; None beyond ``MAX_ROWS``
    high: int | None  # total rows at the upper end
    equal_allocation_rows: int | None  # total rows with equal propensities

    @property
    def saving(self) -> float:
        """Share of rows that the allocation saves compared with an equal one."""
        if self.equal_allocation_rows is None:
            return 0.0
        return 1 - self.expected.total_rows / self.equal_allocation_rows


class UnreachableGoalError(EvidenceError):
    """A goal that needs more than ``MAX_ROWS`` rows; ``projection`` is what this number of rows would give."""

    def __init__(self, goal: Goal, projection: Projection) -> None:
        self.goal, self.projection = goal, projection
        super().__init__(self.explain(lambda number: f"{number:.3g}"))

    def explain(self, write: Callable[[float], str]) -> str:
        """The message, with numbers written like this."""
        projection = self.projection
        reached, advice = {
            "width": (projection.rms_width, "Choose a larger --width."),
            "best": (projection.probability_best, "Choose a lower --best, or allow a --regret."),
            "regret": (projection.expected_regret, "Choose a larger --regret."),
        }[self.goal.kind]
        return (
            f"--{self.goal.kind} {write(self.goal.target)} needs more than {MAX_ROWS:,} rows; with that many it is "
            f"{write(reached)}. {advice}"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Projections for any number of rows.

    ``low`` and ``high`` repeat the forecast with the variances at both ends of ``variance_factor_interval``.
    """

    expected: Forecast
    low: Forecast
    high: Forecast

    @property
    def inputs(self) -> PlanInputs:
        """What the plan is computed from."""
        return self.expected.inputs

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return self.expected.level

    @property
    def tolerance(self) -> float:
        """Regret up to which a model counts as the best."""
        return self.expected.tolerance

    @property
    def extra_contexts(self) -> int:
        """Replayed contexts beyond the experiment's."""
        return self.expected.extra_contexts

    def at(self, rows: FloatArray | float) -> Projection:
        """Projections for this number of rows per model: one number for all models, or one per model (k,)."""
        per_model = np.broadcast_to(np.asarray(rows, dtype=np.float64), (len(self.inputs.models),))
        if not (np.isfinite(per_model).all() and (per_model >= 1).all()):
            raise UsageError("Every model needs at least one row, and a finite number of rows.")
        return self.expected.at(per_model)

    def propensity(self, allocation: Allocation = "equal") -> FloatArray:
        """Propensities (k,) without a goal: equal, or those of narrowest intervals if they save a notable part."""
        use_equal = _require_allocation(allocation) == "equal"
        return equal_shares(len(self.inputs.models)) if use_equal else width_shares(self.expected)

    def table(
        self, rows_per_model: Sequence[int] = ROWS_PER_MODEL, propensity: FloatArray | None = None
    ) -> tuple[PlanRow, ...]:
        """One row of projections for each average number of rows per model; equal propensities (k,) unless given."""
        count = len(self.inputs.models)
        share = equal_shares(count) if propensity is None else propensity
        allocated = [allocate_rows(share, number * count) for number in rows_per_model]
        return tuple(PlanRow(self.expected.at(rows), self.low.at(rows), self.high.at(rows)) for rows in allocated)

    def rows_for(
        self,
        *,
        width: float | None = None,
        best: float | None = None,
        regret: float | None = None,
        allocation: Allocation = "equal",
    ) -> RequiredRows:
        """Smallest number of rows for one goal.

        ``width`` is the full interval width, ``best`` the probability to select the best model, ``regret`` the
        expected regret of the selected model.
        """
        goal = _only_goal(width, best, regret)
        equal = equal_shares(len(self.inputs.models))
        equal_rows = rows_needed(self.expected, goal, equal)
        use_equal = _require_allocation(allocation) == "equal"
        share, rows = (equal, equal_rows) if use_equal else cheapest_allocation(self.expected, goal)
        if rows is None:
            raise UnreachableGoalError(goal, self.at(MAX_ROWS / len(self.inputs.models)))
        return RequiredRows(
            goal=goal,
            allocation=allocation,
            propensity=share,
            expected=self.expected.at(rows),
            low=_total(rows_needed(self.low, goal, share)),
            high=_total(rows_needed(self.high, goal, share)),
            equal_allocation_rows=_total(equal_rows),
        )


def plan(
    source: Study | LogAndReplay | AssumedInputs | PlanInputs,
    *,
    level: float = 0.95,
    extra_contexts: int = 0,
    tolerance: float = 0.0,
    family: Family | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Plan:
    """Plan an experiment from a study with a pilot, from a log and a replay, or from assumed variances.

    ``extra_contexts`` counts replayed contexts beyond the experiment's, which make the average over contexts more
    precise. ``tolerance`` is the regret up to which a model counts as the best. ``family`` is the reward that is
    fitted to a pilot, ``auto`` unless given. All numbers are on a scale from 0 to 1, whatever that of the tables is.
    """
    check_level(level)
    if not 0 <= extra_contexts <= MAX_EXTRA_CONTEXTS:
        given = f"{extra_contexts}" if abs(extra_contexts) < 10**18 else "a number of more than 18 digits"
        raise UsageError(f"--extra-contexts must be from 0 to {MAX_EXTRA_CONTEXTS:,}, not {given}.")
    if not 0.0 <= tolerance < 1.0:
        raise UsageError(f"--regret must lie between 0 and 1, not {tolerance:g}.")
    check_seed(seed)
    inputs = _plan_inputs(source, family, seed, progress)
    low, high = (
        Forecast.from_inputs(inputs.scaled(factor), level, extra_contexts, tolerance)
        for factor in inputs.variance_factor_interval
    )
    return Plan(Forecast.from_inputs(inputs, level, extra_contexts, tolerance), low, high)


def _plan_inputs(
    source: Study | LogAndReplay | AssumedInputs | PlanInputs, family: Family | None, seed: int, progress: Progress
) -> PlanInputs:
    if isinstance(source, Study):
        return inputs_from_study(source.in_content_order(), family, seed, progress)
    if isinstance(source, LogAndReplay):
        return inputs_from_log(source.in_content_order(), seed, progress)
    return source.to_plan_inputs() if isinstance(source, AssumedInputs) else source


def _only_goal(width: float | None, best: float | None, regret: float | None) -> Goal:
    targets: tuple[tuple[GoalKind, float | None], ...] = (("width", width), ("best", best), ("regret", regret))
    goals = [Goal(kind, target) for kind, target in targets if target is not None]
    if len(goals) != 1:
        raise UsageError("Give exactly one goal: width, best or regret.")
    return goals[0]


def _require_allocation(allocation: str) -> str:
    if allocation not in ALLOCATIONS:
        raise UsageError(f'allocation must be "equal" or "optimal", not {allocation!r}.')
    return allocation


def _total(rows: FloatArray | None) -> int | None:
    return None if rows is None else round(float(rows.sum()))

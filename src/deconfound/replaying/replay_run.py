"""Run a replay: ask for what is missing, and give the table of everything that there is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from deconfound.endpoints.batch_storing import BatchReport, store_answers
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.run_meter import RunOutcome
from deconfound.endpoints.runner import CONCURRENCY, RunOptions, Watch, no_watch, run_requests
from deconfound.replaying.replay_plan import ReplayPlan, missing_cells
from deconfound.replaying.replay_table import count_by

ACTIVITY = "replay"


@dataclass(frozen=True, slots=True, eq=False)
class ReplayRun:
    """A replay that was run.

    ``table`` has the outputs, ``missing`` the number of those without an answer by model, ``outcome`` what the calls of
    this run did; ``reused`` is the number of outputs from the cache.
    """

    plan: ReplayPlan
    table: pa.Table
    outcome: RunOutcome
    missing: Mapping[str, int]
    reused: int

    @property
    def complete(self) -> bool:
        """Whether every model has an output on every context, in every draw."""
        return not self.missing


def replay(
    contexts: Any,  # noqa: ANN401  (a path, several, or a table of any library)
    models: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str],
    draws: int = 1,
    columns: Mapping[str, str] | None = None,
    where: Sequence[str] | str = (),
    concurrency: int = CONCURRENCY,
) -> ReplayRun:
    """Let every model of a settings file answer every context ``draws`` times, and give the outputs as a table.

    Answers are stored in ``cache`` as they arrive. The next call with the same file asks only for what is missing, also
    after a kill. The table can be passed to ``load`` as the replay; an output that could not be had has no row.
    ``concurrency`` is the number of calls at once to an endpoint, unless the file gives it one of its own.
    """
    plan = ReplayPlan.load(contexts, models, draws=draws, columns=columns, where=where)
    with ReplyCache(Path(cache)) as opened:
        return run_plan(plan, opened, RunOptions(concurrency))


def run_plan(plan: ReplayPlan, cache: ReplyCache, options: RunOptions, watch: Watch = no_watch) -> ReplayRun:
    """Ask for the missing outputs of a plan."""
    cells, outcome = list(plan.asked.cells()), RunOutcome()
    with cache.locked(ACTIVITY):
        missing = missing_cells(cells, cache)
        if missing:
            outcome = run_requests(plan.asked.work(missing), len({cell.key for cell in missing}), cache, options, watch)
    return _finished(plan, plan.table(cache, cells), outcome, reused=len(cells) - len(missing))


def run_from_cache(plan: ReplayPlan, cache: ReplyCache | None) -> ReplayRun:
    """The same without any call: only what is stored."""
    cells = list(plan.asked.cells())
    reused = len(cells) - len(missing_cells(cells, cache))
    return _finished(plan, plan.table(cache, cells), RunOutcome(), reused)


def _finished(plan: ReplayPlan, table: pa.Table, outcome: RunOutcome, reused: int) -> ReplayRun:
    counts = {name: sum(by.values()) for name, by in count_by(table, "status").items()}
    expected = len(plan.contexts.rows) * plan.draws
    missing = {model.name: expected - counts.get(model.name, 0) for model in plan.models.asked}
    return ReplayRun(plan, table, outcome, {name: count for name, count in missing.items() if count}, reused)


def store_batches(plan: ReplayPlan, paths: Sequence[Path], cache: ReplyCache) -> BatchReport:
    """Put the answers of batches into the cache; those to other requests are counted and left out."""
    keys = {cell.key for cell in plan.asked.cells()}
    with cache.locked(ACTIVITY):
        return store_answers(keys, [model.chat for model in plan.models.asked], paths, cache)

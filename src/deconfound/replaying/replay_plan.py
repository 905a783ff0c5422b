"""A replay before it is run: which outputs there will be, what they cost, and which of them are still missing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from deconfound.endpoints.batch_writing import BatchFile, batch_files
from deconfound.endpoints.call_estimates import ModelEstimate, estimate_calls, mean_output_tokens
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.errors import DataError, Problem, UsageError, read_or_collect
from deconfound.findings import Finding
from deconfound.loading import ContextRows, load_context_rows, load_replay
from deconfound.replaying.cells import AskedCells, Cell
from deconfound.replaying.replay_models import AskedModel, BaselineModel, ReplayModels, read_models
from deconfound.replaying.replay_table import TableBuilder

MAX_DRAWS = 10_000
CONTEXTS_AT_ONCE = 500  # whose replies are in memory beside the table


@dataclass(frozen=True, slots=True)
class MissingCell:
    """An output that a study still misses."""

    context_id: str
    model: str
    draw: int


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """Every model of a settings file on every context of a table, ``draws`` times."""

    contexts: ContextRows
    models: ReplayModels
    draws: int

    @classmethod
    def load(
        cls,
        contexts: Any,  # noqa: ANN401  (a path, several, or a table of any library)
        models: str | os.PathLike[str],
        *,
        draws: int = 1,
        columns: Mapping[str, str] | None = None,
        where: Sequence[str] | str = (),
    ) -> ReplayPlan:
        """Read contexts and settings; everything wrong in either raises one ``DataError``."""
        if isinstance(draws, bool) or not 1 <= draws <= MAX_DRAWS:
            raise UsageError(f"draws (--draws) must be a whole number from 1 to {MAX_DRAWS:,}, not {draws!r}.")
        problems: list[Problem] = []
        read = read_or_collect(lambda: read_models(Path(models)), problems)
        loaded = read_or_collect(lambda: load_context_rows(contexts, columns=columns, where=where), problems)
        if loaded is None or read is None:
            raise DataError(problems)
        plan = cls(loaded, read, draws)
        problems += plan.asked.problems()
        if problems:
            raise DataError(problems)
        return plan

    @property
    def asked(self) -> AskedCells:
        """The cells that need calls."""
        return AskedCells(self.contexts.rows, self.models.asked, self.draws)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Remarks from reading the contexts."""
        return self.contexts.findings

    @property
    def outputs(self) -> int:
        """How many outputs the finished replay has."""
        return len(self.contexts.rows) * sum(model.draws(self.draws) for model in self.models.models)

    @property
    def message_models(self) -> tuple[str, ...]:
        """Models without a prompt, which get the messages of contexts as they are; none if contexts are texts."""
        return tuple(model.name for model in self.models.asked if self._has_messages and model.prompt is None)

    @property
    def text_models(self) -> tuple[str, ...]:
        """Models with a prompt, which get the messages of contexts as one text; none if contexts are texts."""
        return tuple(model.name for model in self.models.asked if self._has_messages and model.prompt is not None)

    @property
    def _has_messages(self) -> bool:
        return any(row.messages is not None for row in self.contexts.rows)

    def estimate(self, cache: ReplyCache | None = None) -> tuple[ModelEstimate, ...]:
        """Calls, tokens and cost of what is missing, for each model that is asked."""
        cells = list(self.asked.cells())
        missing = missing_cells(cells, cache)
        estimates = []
        for at, model in enumerate(self.models.asked):
            mean = mean_output_tokens([cell.key for cell in cells if cell.model == at], cache)
            estimates.append(self._estimate(model, [cell for cell in missing if cell.model == at], mean))
        return tuple(estimates)

    def todo(
        self,
        cache: ReplyCache | None = None,
        replay: Any = None,  # noqa: ANN401  (a table of any kind)
    ) -> list[MissingCell]:
        """The outputs that neither an existing replay nor the cache has; baselines need no call, but a row."""
        present = set() if replay is None else _present(replay)
        found = [self._named(cell) for cell in missing_cells(self.asked.cells(), cache)]
        if replay is not None:
            found += self._baseline_cells()
        order = {model.name: at for at, model in enumerate(self.models.models)}
        missing = [cell for cell in found if (cell.context_id, cell.model, cell.draw) not in present]
        position = {row.context_id: at for at, row in enumerate(self.contexts.rows)}
        return sorted(missing, key=lambda cell: (position[cell.context_id], order[cell.model], cell.draw))

    def batch_files(self, cache: ReplyCache | None = None) -> list[BatchFile]:
        """Requests for batch interfaces, of all that is missing."""
        asked, missing = self.asked, {cell.key: cell for cell in missing_cells(self.asked.cells(), cache)}
        files = []
        for at, model in enumerate(asked.models):
            cells = [cell for cell in missing.values() if cell.model == at]
            files += batch_files(model.chat, asked.requests(cells))
        return files

    def table(self, cache: ReplyCache | None, cells: Sequence[Cell] | None = None) -> pa.Table:
        """The outputs that there are, of models by stored replies and of baselines; others have no row.

        ``cells`` are all cells of the plan, if they are at hand.
        """
        builder, all_cells = TableBuilder(), self.asked.cells() if cells is None else iter(cells)
        per_context = self.draws * len(self.models.asked)
        rows = self.contexts.rows
        for start in range(0, len(rows), CONTEXTS_AT_ONCE):
            part = rows[start : start + CONTEXTS_AT_ONCE]
            keys = [next(all_cells).key for _ in range(per_context * len(part))]
            replies = {} if cache is None else cache.find(keys)
            for at, row in enumerate(part):
                builder.start_context(row.context_id, row.text)
                self._add_rows(builder, row.text, [replies.get(key) for key in keys[at * per_context :][:per_context]])
        return builder.table()

    def _add_rows(self, builder: TableBuilder, text: str, replies: Sequence[Any]) -> None:
        """The rows of one context; ``replies`` are those of the asked models in their order, draw by draw."""
        waiting = iter(replies)
        for model in self.models.models:
            for draw in range(model.draws(self.draws)):
                if isinstance(model, BaselineModel):
                    builder.add_output(model.name, draw, model.baseline.output(text, draw))
                    continue
                reply = next(waiting)
                if reply is not None:
                    builder.add_reply(model.name, draw, reply, model.chat.price)

    def _named(self, cell: Cell) -> MissingCell:
        return MissingCell(self.contexts.rows[cell.context].context_id, self.models.asked[cell.model].name, cell.draw)

    def _baseline_cells(self) -> list[MissingCell]:
        baselines = [model for model in self.models.models if isinstance(model, BaselineModel)]
        return [
            MissingCell(row.context_id, model.name, draw)
            for row in self.contexts.rows
            for model in baselines
            for draw in range(model.draws(self.draws))
        ]

    def _estimate(self, model: AskedModel, missing: list[Cell], mean: float | None) -> ModelEstimate:
        """``mean`` is the mean number of tokens of stored outputs."""
        distinct = list({cell.key: cell for cell in missing}.values())
        outputs = len(self.contexts.rows) * self.draws
        return estimate_calls(model.chat, self.asked.requests(distinct), outputs, outputs - len(missing), mean)


def missing_cells(cells: Iterable[Cell], cache: ReplyCache | None) -> list[Cell]:
    """The cells without a stored reply."""
    found = list(cells)
    if cache is None:
        return found
    known = cache.known([cell.key for cell in found])
    return [cell for cell in found if cell.key not in known]


def _present(replay: Any) -> set[tuple[str, str, int]]:  # noqa: ANN401
    """The cells of an existing replay."""
    table = load_replay(replay).arrow
    columns = (table[name].to_pylist() for name in ("context_id", "model", "draw"))
    return set(zip(*columns, strict=True))

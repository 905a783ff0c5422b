"""A study: a log, an experiment and a replay that fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa

from deconfound.data import cross_table, table_sizes
from deconfound.data.log_counts import LogCounts, count_models
from deconfound.data.log_stream import LogStream
from deconfound.data.reading_choices import NO_CHOICES, ReadingChoices
from deconfound.data.tables import Experiment, Log, Replay
from deconfound.errors import DataError, Problem, UsageError
from deconfound.findings import Finding
from deconfound.formatting import pluralize, quote

IncompleteReplay = Literal["error", "drop"]
RatedTable = TypeVar("RatedTable", Log, Experiment)


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Three tables that fit together, the models to compare, and findings from reading the tables.

    ``uncompared_models`` occur only in the log or the experiment: they help to train the reward and get no value.
    Outcomes are numbers from 0 to 1; ``outcome_range`` is what 0 and 1 were in the user's tables, and ``outcome_unit``
    follows such numbers in sentences. Rows without an outcome are in tables of their own, ``unrated_log`` and
    ``unrated_experiment``, where the outcome is NaN. ``reading`` is what the user said about names in the tables.

    Where ``log_stream`` is present, it has every rated row of the log, and ``log`` is a uniform sample of them that
    depends neither on the order of files nor on the number of workers.
    """

    log: Log
    experiment: Experiment
    replay: Replay
    models: tuple[str, ...]
    uncompared_models: tuple[str, ...]
    findings: tuple[Finding, ...]
    outcome_range: tuple[float, float] = (0.0, 1.0)
    unrated_log: Log | None = None
    unrated_experiment: Experiment | None = None
    outcome_unit: str = ""
    reading: ReadingChoices = NO_CHOICES
    log_stream: LogStream | None = None

    def __repr__(self) -> str:
        """Tables and counts; names of models and findings are many."""
        log = (self.log,) if self.log_stream is None else (self.log, self.log_stream)
        tables = ", ".join(map(repr, (*log, self.experiment, self.replay)))
        counts = f"{pluralize(len(self.models), 'model')}, {pluralize(len(self.findings), 'finding')}"
        return f"Study({tables}, {counts})"

    @property
    def randomized(self) -> Experiment:
        """Every randomized row, with and without an outcome: those that were assigned a model."""
        if self.unrated_experiment is None:
            return self.experiment
        both = [self.experiment.arrow, self.unrated_experiment.arrow]
        return Experiment(pa.concat_tables(both), self.experiment.source).in_content_order()

    @property
    def log_rows(self) -> int:
        """Number of rated rows of the log, whether they are in memory or not."""
        return len(self.log) if self.log_stream is None else self.log_stream.rows

    @property
    def log_on_replayed(self) -> Log:
        """Where log and replay are compared on the same contexts: the log, or its rows on replayed contexts."""
        return self.log if self.log_stream is None else self.log_stream.on_replayed

    @property
    def has_text(self) -> bool:
        """Whether all tables have contexts and outputs as text."""
        return self.replay.has_text

    @property
    def label_names(self) -> tuple[str, ...]:
        """The log's ``label_*`` columns, sorted."""
        return self.log.columns_with_prefix("label_")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The ``feature_*`` columns, sorted; the same in all three tables."""
        return self.log.columns_with_prefix("feature_")

    @classmethod
    def from_tables(
        cls,
        log: Log,
        experiment: Experiment,
        replay: Replay,
        *,
        models: Sequence[str] | None = None,
        incomplete: IncompleteReplay = "error",
        outcome_range: tuple[float, float] = (0.0, 1.0),
        log_counts: LogCounts | None = None,
    ) -> Study:
        """Combine three tables, or raise one error with every mismatch between them.

        ``models`` are the models to compare, by default all that were replayed. Rows of other models stay in the log
        and in the experiment, where they help to train the reward and leave the propensities correct. ``log_counts``
        are those of a longer log of which ``log`` is a sample.
        """
        if incomplete not in ("error", "drop"):
            raise UsageError(f'incomplete must be "error" or "drop", not {quote(incomplete)}.')
        names = cross_table.resolve_models(replay, models)
        tables = (log, experiment, replay)
        findings = [*log.findings, *experiment.findings, *replay.findings, *cross_table.text_findings(tables)]
        problems = _mismatches(tables, names, models)
        if cross_table.missing_text_columns(tables):
            log, experiment, replay = log.drop_text(), experiment.drop_text(), replay.drop_text()
        counts = LogCounts.of(log) if log_counts is None else log_counts
        all_names = {*counts.rated, *counts.unrated, *experiment.unique_values("model")}
        log, unrated_log = split_unrated(log)
        experiment, unrated_experiment = split_unrated(experiment)
        complete = cross_table.rows_with_full_replay(experiment, replay, names)
        if not complete.all() and incomplete == "error":
            problems.append(cross_table.incomplete_problem(experiment, replay, names, complete))
        elif not complete.all():
            findings.append(cross_table.dropped_finding(experiment, complete))
            experiment = experiment.filter(complete)
        problems += table_sizes.too_few_rows(experiment)
        if problems:
            raise DataError(problems)
        findings += cross_table.unrated_log_findings(log.source, counts)
        findings += cross_table.rewritten_log_findings(log, replay)
        findings += cross_table.uncompared_model_findings(log.source, counts.rated, names)
        findings += cross_table.uncompared_model_findings(experiment.source, count_models(experiment.arrow), names)
        findings += table_sizes.size_findings(log.source, counts.rows, experiment, names)
        return cls(
            log,
            experiment,
            replay.for_models(names),
            names,
            tuple(sorted(all_names.difference(names))),
            tuple(findings),
            outcome_range,
            unrated_log,
            unrated_experiment,
        )

    def in_content_order(self) -> Study:
        """The same study with the rows of each table in an order that depends on their content alone.

        Samples, folds and permutations count rows in this order, so that a shuffled file gives the same numbers.
        """
        return replace(
            self,
            log=self.log.in_content_order(),
            experiment=self.experiment.in_content_order(),
            replay=self.replay.in_content_order(),
            unrated_log=None if self.unrated_log is None else self.unrated_log.in_content_order(),
            unrated_experiment=None if self.unrated_experiment is None else self.unrated_experiment.in_content_order(),
            log_stream=None if self.log_stream is None else self.log_stream.in_content_order(),
        )


def _mismatches(
    tables: tuple[Log, Experiment, Replay], names: tuple[str, ...], requested: Sequence[str] | None
) -> list[Problem]:
    """What does not fit together, whether rows have an outcome or not."""
    _, experiment, replay = tables
    problems = [*cross_table.conflicting_context_ids(tables), *cross_table.feature_mismatches(tables)]
    if cross_table.missing_text_columns(tables):
        problems += cross_table.text_problems(tables)
    problems += cross_table.too_few_models(replay, names)
    problems += cross_table.models_without_replay(experiment, replay, names) if requested is None else []
    return [*problems, *cross_table.impossible_assignments(experiment, names)]


def split_unrated(table: RatedTable) -> tuple[RatedTable, RatedTable | None]:
    """The rows with an outcome, and those without; None where every row has one."""
    missing = np.isnan(table.arrow["outcome"].to_numpy())
    return (table.filter(~missing), table.filter(missing)) if missing.any() else (table, None)

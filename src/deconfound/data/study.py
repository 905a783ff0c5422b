"""A study: three tables that fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deconfound.data import cross_table
from deconfound.data.tables import Experiment, Log, Replay
from deconfound.errors import DataError, UsageError
from deconfound.findings import Finding
from deconfound.formatting import quote

IncompleteReplay = Literal["error", "drop"]


@dataclass(frozen=True, eq=False)
class Study:
    """Three tables that fit together, the models they can compare, and what was noticed on the way.

    ``others`` occur in the log or the experiment only: they teach the reward and get no value of their own.
    """

    log: Log
    experiment: Experiment
    replay: Replay
    models: tuple[str, ...]
    others: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def has_text(self) -> bool:
        """Whether contexts and outputs are known as text, not only as features."""
        return "output" in self.replay.table.column_names

    @property
    def label_names(self) -> tuple[str, ...]:
        """The log's ``label_*`` columns, sorted."""
        return self.log.columns_like("label_")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The ``feature_*`` columns, sorted; the same in all three tables."""
        return self.log.columns_like("feature_")

    @classmethod
    def build(
        cls,
        log: Log,
        experiment: Experiment,
        replay: Replay,
        *,
        models: Sequence[str] | None = None,
        incomplete: IncompleteReplay = "error",
    ) -> Study:
        """Put three tables together, or say everything that does not fit between them.

        The candidates are ``models``, or all that were replayed. Rows of other models stay in the log and in the
        experiment: they teach the reward, and the experiment's propensities keep their meaning.
        """
        if incomplete not in ("error", "drop"):
            raise UsageError(f'incomplete must be "error" or "drop", not {quote(incomplete)}')
        names = cross_table.candidates(replay, models)
        tables = (log, experiment, replay)
        problems = [*cross_table.contradictory_texts(tables), *cross_table.unequal_features(tables)]
        unused = cross_table.text_findings(tables)
        if cross_table.lacking_text(tables):
            problems += cross_table.text_problems(tables)
            log, experiment, replay = log.without_text(), experiment.without_text(), replay.without_text()
        problems += cross_table.too_few_models(replay, names)
        problems += cross_table.unreplayed(experiment, replay, names) if models is None else []
        complete = cross_table.complete_rows(experiment, replay, names)
        dropped = [] if complete.all() else [cross_table.dropped_finding(experiment, complete)]
        if dropped and incomplete == "error":
            problems.append(cross_table.incomplete_problem(experiment, replay, names, complete))
        elif dropped:
            experiment = experiment.keep(complete)
        problems += cross_table.too_few_rows(experiment)
        if problems:
            raise DataError(problems)
        findings = (*log.findings, *experiment.findings, *replay.findings, *unused, *dropped)
        noticed = (*cross_table.log_only(log, experiment, names), *cross_table.thin_models(experiment, names))
        others = tuple(sorted((log.distinct("model") | experiment.distinct("model")).difference(names)))
        return cls(log, experiment, replay.only(names), names, others, (*findings, *noticed))

"""A study: three tables that fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deconfound.data import between
from deconfound.data.messages import quoted
from deconfound.data.tables import Experiment, Log, Replay
from deconfound.errors import DataError, Finding, UsageError

Incomplete = Literal["error", "drop"]


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
        incomplete: Incomplete = "error",
    ) -> Study:
        """Put three tables together, or say everything that does not fit between them.

        The candidates are ``models``, or all that were replayed. Rows of other models stay in the log and in the
        experiment: they teach the reward, and the experiment's propensities keep their meaning.
        """
        if incomplete not in ("error", "drop"):
            raise UsageError(f'incomplete must be "error" or "drop", not {quoted(incomplete)}')
        names = between.candidates(replay, models)
        tables = (log, experiment, replay)
        problems = [*between.contradictory_texts(tables), *between.unequal_features(tables)]
        unused = between.text_findings(tables)
        if between.lacking_text(tables):
            problems += between.text_problems(tables)
            log, experiment, replay = log.without_text(), experiment.without_text(), replay.without_text()
        problems += between.too_few_models(replay, names)
        problems += between.unreplayed(experiment, replay, names) if models is None else []
        complete = between.complete_rows(experiment, replay, names)
        dropped = [] if complete.all() else [between.dropped_finding(experiment, complete)]
        if dropped and incomplete == "error":
            problems.append(between.incomplete_problem(experiment, replay, names, complete))
        elif dropped:
            experiment = experiment.keep(complete)
        problems += between.too_few_rows(experiment)
        if problems:
            raise DataError(problems)
        findings = (*log.findings, *experiment.findings, *replay.findings, *unused, *dropped)
        noticed = (*between.log_only(log, experiment, names), *between.thin_models(experiment, names))
        others = tuple(sorted((log.distinct("model") | experiment.distinct("model")).difference(names)))
        return cls(log, experiment, replay.only(names), names, others, (*findings, *noticed))

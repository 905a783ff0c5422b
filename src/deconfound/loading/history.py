"""A log and a replay read without an experiment, which is still to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deconfound.data import Log, Replay, cross_table
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding
from deconfound.loading.align import align
from deconfound.loading.drafts import Scale
from deconfound.loading.draws import with_draws
from deconfound.loading.load import check_usage, drafts_of, finished
from deconfound.loading.sources import Source


@dataclass(frozen=True, slots=True, eq=False)
class LogAndReplay:
    """What there is before an experiment: ordinary use, and every candidate's outputs."""

    log: Log
    replay: Replay
    models: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was noticed while reading."""
        return (*self.log.findings, *self.replay.findings)


def load_log_and_replay(
    *,
    log: Source,
    replay: Source,
    columns: Mapping[str, str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    models: Sequence[str] | None = None,
    drop_missing: bool = False,
) -> LogAndReplay:
    """Read both tables as ``load`` would; whatever is wrong in either raises one ``DataError``."""
    check_usage(columns or {}, outcome_range)
    sources = {"log": log, "replay": replay}
    problems: list[Problem] = []
    drafts = drafts_of(sources, columns or {}, Scale(outcome_range, drop_missing), problems)
    if problems or len(drafts) < len(sources):
        raise DataError(problems)
    first, second = align([drafts[role] for role in sources], problems)
    second = with_draws(second, problems)
    if problems:
        raise DataError(problems)
    return _together(finished(Log, first), finished(Replay, second), models)


def _together(log: Log, replay: Replay, models: Sequence[str] | None) -> LogAndReplay:
    names = cross_table.candidates(replay, models)
    tables = (log, replay)
    problems = [*cross_table.contradictory_texts(tables), *cross_table.unequal_features(tables)]
    if cross_table.lacking_text(tables):
        problems += cross_table.text_problems(tables)
        log, replay = log.without_text(), replay.without_text()
    problems += cross_table.too_few_models(replay, names)
    if problems:
        raise DataError(problems)
    return LogAndReplay(log, replay.only(names), names)

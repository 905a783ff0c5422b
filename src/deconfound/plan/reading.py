"""A log and a replay read without an experiment, which is still to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deconfound.data import Log, Replay, between
from deconfound.errors import DataError, Finding, Problem
from deconfound.loading.align import align
from deconfound.loading.columns import Finder, candidates, check_mapping, unmatched
from deconfound.loading.drafts import Draft, Scale, draft
from deconfound.loading.draws import with_draws
from deconfound.loading.raw import Raw
from deconfound.loading.sources import Source, label, read


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """What there is before an experiment: ordinary use, and every candidate's outputs."""

    log: Log
    replay: Replay
    models: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was noticed while reading."""
        return (*self.log.findings, *self.replay.findings)


def load_history(
    *,
    log: Source,
    replay: Source,
    columns: Mapping[str, str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    models: Sequence[str] | None = None,
    drop_missing: bool = False,
) -> History:
    """Read both tables as ``load`` would; whatever is wrong in either raises one ``DataError``."""
    mapping = dict(columns or {})
    check_mapping(mapping)
    problems: list[Problem] = []
    raws = {role: read(source, role, label(source, role)) for role, source in (("log", log), ("replay", replay))}
    dead = unmatched(mapping, {role: (raw.source, raw.table.column_names) for role, raw in raws.items()})
    problems += dead.values()
    mapping = {name: column for name, column in mapping.items() if name not in dead}
    scale = Scale(outcome_range, drop_missing)
    drafts = [_drafted(role, raw, mapping, scale, problems) for role, raw in raws.items()]
    if problems:
        raise DataError(problems)
    first, second = align([made for made in drafts if made is not None], problems)
    second = with_draws(second, problems)
    if problems:
        raise DataError(problems)
    made = Log(first.table, first.source, first.ignored, first.findings, first.places)
    replayed = Replay(second.table, second.source, second.ignored, second.findings, second.places)
    return _together(made, replayed, models)


def _drafted(role: str, raw: Raw, mapping: Mapping[str, str], scale: Scale, problems: list[Problem]) -> Draft | None:
    names = raw.table.column_names
    text = mapping.get("context") in names or bool(candidates("context", names, bare_id=False))
    found = len(problems)
    naming = Finder(role, raw.source, mapping, not text).name_columns(names, problems)
    return draft(raw, naming, scale, problems) if len(problems) == found else None


def _together(log: Log, replay: Replay, models: Sequence[str] | None) -> History:
    names = between.candidates(replay, models)
    tables = (log, replay)
    problems = [*between.contradictory_texts(tables), *between.unequal_features(tables)]
    if between.lacking_text(tables):
        problems += between.text_problems(tables)
        log, replay = log.without_text(), replay.without_text()
    problems += between.too_few_models(replay, names)
    if problems:
        raise DataError(problems)
    return History(log, replay.only(names), names)

"""Read whole studies, logs with replays, single replays and contexts; all problems come in one error."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import pyarrow as pa

from deconfound.data import (
    Experiment,
    IncompleteReplay,
    Log,
    Replay,
    Study,
    cross_table,
    describe_context,
    is_in,
    split_unrated,
)
from deconfound.errors import DataError, Problem, UsageError, merge_problems
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize
from deconfound.loading.canonical import CanonicalTable, OutcomeScale, align_contexts, canonicalize
from deconfound.loading.column_mapping import (
    ColumnResolver,
    check_mapping,
    matching_columns,
    missing_column_problems,
    unmatched_mappings,
)
from deconfound.loading.draws import number_draws
from deconfound.loading.raw import RawTable
from deconfound.loading.sources import TableLike, read_table, source_name

MIN_RANGE, MAX_RANGE_END = 1e-9, 1e12  # of --outcome-range; beyond them outcomes lose their digits
TableType = TypeVar("TableType", Log, Experiment, Replay)


def load(
    *,
    log: TableLike,
    experiment: TableLike,
    replay: TableLike,
    columns: Mapping[str, str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    outcome_values: Mapping[str, float] | None = None,
    models: Sequence[str] | None = None,
    drop_missing: bool = True,  # noqa: ARG001
    incomplete: IncompleteReplay = "error",
) -> Study:
    """Read a study from files (Parquet, CSV, JSONL), pandas or polars DataFrames, or Arrow tables.

    ``columns`` maps canonical names to the user's: ``{"outcome": "thumbs_up"}``. ``outcome_values`` says what words
    mean, ``{"good": 1, "bad": 0}``; yes and no, thumbs and percentages are known. ``outcome_range`` are the ends of the
    outcomes' scale, by default 0 and 1; summaries are on this scale, numbers in Python from 0 to 1. Rows without an
    outcome are set aside and checked; ``drop_missing`` is for older code and changes nothing. Everything wrong in
    any of the three tables raises one ``DataError`` that lists it all.
    """
    _check_options(columns or {}, outcome_range)
    sources = {"log": log, "experiment": experiment, "replay": replay}
    problems = _same_file_problems(log, experiment)
    scale = OutcomeScale(outcome_range, dict(outcome_values or {}))
    tables = _read_canonical_tables(sources, columns or {}, scale, problems)
    if len(tables) < len(sources):
        raise DataError(merge_problems(problems))
    aligned = align_contexts([tables[role] for role in sources], problems)
    numbered = number_draws(aligned[2], problems)
    try:
        study = Study.from_tables(
            _to_table(Log, aligned[0]),
            _to_table(Experiment, aligned[1]),
            _to_table(Replay, numbered),
            models=models,
            incomplete=incomplete,
            outcome_range=(0.0, 1.0) if outcome_range is None else (float(outcome_range[0]), float(outcome_range[1])),
        )
    except DataError as error:
        problems += error.problems
    if problems:
        raise DataError(merge_problems(problems))
    return study


@dataclass(frozen=True, slots=True, eq=False)
class LogAndReplay:
    """The data available before an experiment: ordinary use, and every candidate's outputs."""

    log: Log
    replay: Replay
    models: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings from reading both tables."""
        return (*self.log.findings, *self.replay.findings)

    def in_content_order(self) -> LogAndReplay:
        """The same rows in an order that depends on their content alone, as in a ``Study``."""
        return replace(self, log=self.log.in_content_order(), replay=self.replay.in_content_order())


def load_log_and_replay(
    *,
    log: TableLike,
    replay: TableLike,
    columns: Mapping[str, str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    outcome_values: Mapping[str, float] | None = None,
    models: Sequence[str] | None = None,
) -> LogAndReplay:
    """Read a log and a replay without an experiment, with the arguments of ``load``."""
    _check_options(columns or {}, outcome_range)
    sources = {"log": log, "replay": replay}
    problems: list[Problem] = []
    scale = OutcomeScale(outcome_range, dict(outcome_values or {}))
    tables = _read_canonical_tables(sources, columns or {}, scale, problems)
    if problems or len(tables) < len(sources):
        raise DataError(merge_problems(problems))
    first, second = align_contexts([tables[role] for role in sources], problems)
    second = number_draws(second, problems)
    if problems:
        raise DataError(merge_problems(problems))
    return _validate(_to_table(Log, first), _to_table(Replay, second), models)


def _validate(log: Log, replay: Replay, models: Sequence[str] | None) -> LogAndReplay:
    names = cross_table.resolve_models(replay, models)
    log, unrated = split_unrated(log)
    log = replace(log, findings=(*log.findings, *cross_table.unrated_log_findings(log, unrated)))
    tables = (log, replay)
    problems = [*cross_table.conflicting_context_ids(tables), *cross_table.feature_mismatches(tables)]
    if cross_table.missing_text_columns(tables):
        problems += cross_table.text_problems(tables)
        log, replay = log.drop_text(), replay.drop_text()
    problems += cross_table.too_few_models(replay, names)
    if problems:
        raise DataError(merge_problems(problems))
    return LogAndReplay(log, replay.for_models(names), names)


def load_replay(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    study_columns: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
) -> Replay:
    """Read a replay by itself: the outputs of models on new contexts.

    ``study_columns`` is the mapping that the study was read with; its entries apply where their column exists and
    ``columns`` has no other. With ``models``, each of them must be present on every context, and rows of others are
    left out.
    """
    _check_options(columns or {}, None)
    problems: list[Problem] = []
    tables = _read_canonical_tables(
        {"replay": source}, columns or {}, OutcomeScale(), problems, default_columns=study_columns or {}
    )
    if not tables:
        raise DataError(problems)
    aligned = align_contexts([tables["replay"]], problems)
    replay = _to_table(Replay, number_draws(aligned[0], problems))
    if models is not None:
        problems += _incomplete_contexts(replay, models)
    if problems:
        raise DataError(problems)
    return replay if models is None else _for_models(replay, models)


def _incomplete_contexts(replay: Replay, models: Sequence[str]) -> list[Problem]:
    complete = is_in(replay.arrow["context_id"], replay.complete_contexts(models))
    if complete.all():
        return []
    row = int(complete.argmin())
    missing = sorted(set(models) - replay.models_on(replay.arrow["context_id"][row].as_py()))
    contexts = len(replay.filter(~complete).unique_values("context_id"))
    what = f"context {describe_context(replay.arrow, row)} has no output of {join_names(missing)}"
    what += f" ({pluralize(contexts, 'incomplete context')})"
    return [Problem(replay.locate(row), what, f"Replay {join_names(sorted(set(models)))} on every context.")]


def _for_models(replay: Replay, models: Sequence[str]) -> Replay:
    others = sorted(replay.unique_values("model").difference(models))
    if not others:
        return replay
    message = f"{replay.source}: outputs of {join_names(others)} are not used, because these models are not compared."
    selected = replay.for_models(models)
    return replace(selected, findings=(*selected.findings, Finding("models", "pass", Notice(message))))


def load_contexts(source: TableLike, *, columns: Mapping[str, str] | None = None) -> pa.Table:
    """Read the contexts to generalize to: ``context`` or ``context_id``, and ``feature_*`` columns.

    Entries of ``columns`` that name no column of this table are ignored, so that a study's mapping can be reused.
    """
    check_mapping(columns or {})
    raw = read_table(source, "target", source_name(source, "target"))
    names = raw.arrow.column_names
    mapping = {name: column for name, column in (columns or {}).items() if column in names}
    problems: list[Problem] = []
    resolver = ColumnResolver("target", raw.source, mapping, accept_id_alias=not _has_text(names, mapping))
    resolved = resolver.resolve(names, problems)
    problems += missing_column_problems({name: [raw.source] for name in resolved.missing}, {raw.source: names}, mapping)
    table = None if problems else canonicalize(raw, resolved, OutcomeScale(), problems)
    if table is None or problems:
        raise DataError(problems)
    return table.arrow


def _check_options(columns: Mapping[str, str], outcome_range: tuple[float, float] | None) -> None:
    """Refuse options that no table could satisfy."""
    check_mapping(columns)
    if outcome_range is None:
        return
    low, high = outcome_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"--outcome-range {low:g} {high:g}: give two finite numbers, the lower one first.")
    if high - low < MIN_RANGE or max(abs(low), abs(high)) > MAX_RANGE_END:
        raise UsageError(
            f"--outcome-range {low:g} {high:g}: the ends must be at least {MIN_RANGE:g} apart and lie between "
            f"{-MAX_RANGE_END:g} and {MAX_RANGE_END:g}."
        )


def _same_file_problems(log: TableLike, experiment: TableLike) -> list[Problem]:
    paths = [str(Path(source)) for source in (log, experiment) if isinstance(source, str | os.PathLike)]
    if log is not experiment and (len(paths) < 2 or not _is_same_file(paths[0], paths[1])):
        return []
    what = "the log and the experiment are the same table"
    return [Problem(source_name(log, "log"), what, "Put the randomized rows into a table of their own.")]


def _is_same_file(one: str, other: str) -> bool:
    """Whether two paths lead to one file, by a link of any kind; a path to nothing leads nowhere."""
    try:
        return Path(one).samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _read_canonical_tables(
    sources: Mapping[str, TableLike],
    columns: Mapping[str, str],
    scale: OutcomeScale,
    problems: list[Problem],
    *,
    default_columns: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, CanonicalTable]:
    """Convert every table that can be read; the others only add to ``problems``.

    ``default_columns`` are further mappings, ignored where they name no column of any table.
    """
    raws = _read_raw_tables(sources, problems)
    present = {role: (raw.source, raw.arrow.column_names) for role, raw in raws.items()}
    existing = {column for _, names in present.values() for column in names}
    columns = {**{name: column for name, column in default_columns.items() if column in existing}, **columns}
    unmatched = unmatched_mappings(columns, present) if len(raws) == len(sources) else {}
    problems += unmatched.values()
    columns = {name: column for name, column in columns.items() if name not in unmatched}
    accept_id_alias = not all(_has_text(names, columns) for _, names in present.values())
    tables: dict[str, CanonicalTable] = {}
    missing: dict[str, list[str]] = {}
    for role, raw in raws.items():
        before = len(problems)
        resolver = ColumnResolver(role, raw.source, columns, accept_id_alias)
        mapping = resolver.resolve(raw.arrow.column_names, problems)
        for name in mapping.missing:
            missing.setdefault(name, []).append(raw.source)
        faultless = len(problems) == before and not mapping.missing
        table = canonicalize(raw, mapping, scale, problems) if faultless else None
        if table is not None:
            tables[role] = table
    unexplained = {name: sources for name, sources in missing.items() if name not in unmatched}
    problems += missing_column_problems(unexplained, dict(present.values()), columns)
    return tables


def _read_raw_tables(sources: Mapping[str, TableLike], problems: list[Problem]) -> dict[str, RawTable]:
    names = {role: source_name(source, role) for role, source in sources.items()}
    if len(set(names.values())) < len(names):
        names = {role: f"{role} {name}" for role, name in names.items()}
    raws = {}
    for role, source in sources.items():
        try:
            raws[role] = read_table(source, role, names[role])
        except DataError as error:
            problems += error.problems
    return raws


def _has_text(names: Sequence[str], columns: Mapping[str, str]) -> bool:
    return columns.get("context") in names or bool(matching_columns("context", names, accept_id_alias=False))


def _to_table(kind: type[TableType], table: CanonicalTable) -> TableType:
    return kind(table.arrow, table.source, table.unused_columns, table.findings, table.row_numbers)

"""The way from three sources to a study, with all their problems in one error."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from deconfound.data import Experiment, IncompleteReplay, Log, Replay, Study, describe_context, is_in
from deconfound.errors import DataError, Problem, UsageError
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize
from deconfound.loading.align import align
from deconfound.loading.column_mapping import Finder, candidates, check_mapping, unmatched
from deconfound.loading.drafts import Draft, Scale, draft
from deconfound.loading.draws import with_draws
from deconfound.loading.raw import Raw
from deconfound.loading.sources import Source, label, read

Kind = TypeVar("Kind", Log, Experiment, Replay)


def load(
    *,
    log: Source,
    experiment: Source,
    replay: Source,
    columns: Mapping[str, str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    models: Sequence[str] | None = None,
    drop_missing: bool = False,
    incomplete: IncompleteReplay = "error",
) -> Study:
    """Read a study from files (Parquet, CSV, JSONL), pandas or polars DataFrames, or Arrow tables.

    ``columns`` maps canonical names to the user's: ``{"outcome": "thumbs_up"}``. Whatever is wrong in any of the
    three raises one ``DataError`` that lists it all.
    """
    check_usage(columns or {}, outcome_range)
    sources = {"log": log, "experiment": experiment, "replay": replay}
    problems = _same_file(sources)
    scale = Scale(outcome_range, drop_missing)
    drafts = drafts_of(sources, columns or {}, scale, problems)
    if len(drafts) < len(sources):
        raise DataError(problems)
    aligned = align([drafts[role] for role in sources], problems)
    replayed = with_draws(aligned[2], problems)
    try:
        study = Study.build(
            finished(Log, aligned[0]),
            finished(Experiment, aligned[1]),
            finished(Replay, replayed),
            models=models,
            incomplete=incomplete,
        )
    except DataError as error:
        problems += error.problems
    if problems:
        raise DataError(problems)
    return study


def load_replay(
    source: Source, *, columns: Mapping[str, str] | None = None, models: Sequence[str] | None = None
) -> Replay:
    """Read a replay by itself: the outputs of known models on new contexts.

    With ``models``, each of them must be there on every context, and rows of others are left out.
    """
    check_usage(columns or {}, None)
    problems: list[Problem] = []
    drafts = drafts_of({"replay": source}, columns or {}, Scale(), problems)
    if not drafts:
        raise DataError(problems)
    aligned = align([drafts["replay"]], problems)
    replay = finished(Replay, with_draws(aligned[0], problems))
    if models is not None:
        problems += _uncovered(replay, models)
    if problems:
        raise DataError(problems)
    return replay if models is None else _only(replay, models)


def check_usage(columns: Mapping[str, str], outcome_range: tuple[float, float] | None) -> None:
    """Refuse options that no table could satisfy."""
    check_mapping(columns)
    if outcome_range is None:
        return
    low, high = outcome_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"--outcome-range: {low} must be a number below {high}.")


def _same_file(sources: Mapping[str, Source]) -> list[Problem]:
    log, experiment = sources["log"], sources["experiment"]
    paths = [Path(s).resolve() for s in (log, experiment) if isinstance(s, str | os.PathLike)]
    if log is not experiment and (len(paths) < 2 or paths[0] != paths[1]):
        return []
    what = "the log and the experiment are the same table"
    return [Problem(label(log, "log"), what, "Put the randomized rows into a table of their own.")]


def drafts_of(
    sources: Mapping[str, Source], columns: Mapping[str, str], scale: Scale, problems: list[Problem]
) -> dict[str, Draft]:
    """Bring every table that can be read into canonical columns; one that cannot leaves its problems behind."""
    raws = _read_all(sources, problems)
    present = {role: (raw.source, raw.table.column_names) for role, raw in raws.items()}
    dead = unmatched(columns, present) if len(raws) == len(sources) else {}
    problems += dead.values()
    columns = {name: column for name, column in columns.items() if name not in dead}
    bare_id = not all(_has_text(names, columns) for _, names in present.values())
    drafts: dict[str, Draft] = {}
    for role, raw in raws.items():
        found = len(problems)
        naming = Finder(role, raw.source, columns, bare_id).name_columns(raw.table.column_names, problems)
        if len(problems) == found:
            made = draft(raw, naming, scale, problems)
            drafts |= {} if made is None else {role: made}
    return drafts


def _read_all(sources: Mapping[str, Source], problems: list[Problem]) -> dict[str, Raw]:
    labels = {role: label(source, role) for role, source in sources.items()}
    if len(set(labels.values())) < len(labels):
        labels = {role: f"{role} {name}" for role, name in labels.items()}
    raws = {}
    for role, source in sources.items():
        try:
            raws[role] = read(source, role, labels[role])
        except DataError as error:
            problems += error.problems
    return raws


def _has_text(names: Sequence[str], columns: Mapping[str, str]) -> bool:
    return columns.get("context") in names or bool(candidates("context", names, bare_id=False))


def finished(kind: type[Kind], made: Draft) -> Kind:
    """The table that a draft has become."""
    return kind(made.table, made.source, made.ignored, made.findings, made.places)


def _uncovered(replay: Replay, models: Sequence[str]) -> list[Problem]:
    complete = is_in(replay.table["context_id"], replay.complete_contexts(models))
    if complete.all():
        return []
    row = int(complete.argmin())
    name = replay.table["context_id"][row].as_py()
    lacking = sorted(set(models) - replay.models_on(name))
    contexts = len(replay.keep(~complete).distinct("context_id"))
    what = f"context {describe_context(replay.table, row)} has no output of {join_names(lacking)}"
    what += f" ({pluralize(contexts, 'context')} lack one)"
    return [Problem(replay.where(row), what, f"Replay {join_names(sorted(set(models)))} on every context.")]


def _only(replay: Replay, models: Sequence[str]) -> Replay:
    others = sorted(replay.distinct("model").difference(models))
    if not others:
        return replay
    message = f"{replay.source}: outputs of {join_names(others)} are left out; they are not among the models compared."
    kept = replay.only(models)
    return replace(kept, findings=(*kept.findings, Finding("models", "pass", Notice(message))))

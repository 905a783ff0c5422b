"""Read a replay, or contexts, by themselves: for a study that was evaluated before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from deconfound.data import NO_CHOICES, ReadingChoices, Replay, describe_context, is_in
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize
from deconfound.loading.canonical import align_contexts
from deconfound.loading.column_mapping import check_mapping
from deconfound.loading.draws import number_draws
from deconfound.loading.read_tables import read_canonical_tables
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.segment_columns import without_segments
from deconfound.loading.sources import TableLike
from deconfound.loading.table_scope import split_scope


def load_replay(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    rename_models: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    study: ReadingChoices = NO_CHOICES,
) -> Replay:
    """Read a replay by itself: the outputs of models on new contexts.

    ``study`` is what the study was read with; its names apply where they exist, and ``columns`` and ``rename_models``
    go first. With ``models``, each of them must be present on every context, and rows of others are left out.
    """
    problems: list[Problem] = []
    rules = ReadingRules.from_options(columns=columns, rename_models=rename_models)
    tables = read_canonical_tables({"replay": source}, rules, problems, defaults=study)
    if not tables:
        raise DataError(problems)
    table = replace(tables["replay"], arrow=without_segments(tables["replay"].arrow))
    aligned = align_contexts([table], problems)
    numbered = number_draws(aligned[0], problems)
    replay = Replay(numbered.arrow, numbered.source, numbered.unused_columns, numbered.findings, numbered.row_numbers)
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


def load_contexts(
    source: TableLike, *, columns: Mapping[str, str] | None = None, normalize_contexts: bool = False
) -> pa.Table:
    """Read the contexts to generalize to: ``context`` or ``context_id``, and ``feature_*`` columns.

    Entries of ``columns`` that name no column of this table are ignored, so that a study's mapping can be reused. Its
    units are those of the experiment alone.
    """
    check_mapping(columns or {})
    problems: list[Problem] = []
    own = {name: column for name, column in (columns or {}).items() if split_scope(name)[1] != "unit"}
    choices = ReadingChoices(own, normalize_contexts=normalize_contexts)
    tables = read_canonical_tables({"target": source}, ReadingRules(), problems, defaults=choices)
    if problems:
        raise DataError(problems)
    return tables["target"].arrow

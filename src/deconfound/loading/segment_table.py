"""Segments by context: from the replay, or from a table of contexts and their segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Experiment, ReadingChoices, Study, text_ids
from deconfound.data.encode import encode_by_appearance
from deconfound.errors import DataError, Problem
from deconfound.formatting import quote
from deconfound.loading.canonical import CanonicalTable, canonicalize
from deconfound.loading.column_mapping import ColumnResolver, missing_column_problems, unmatched_mappings
from deconfound.loading.normalized_contexts import with_normalized_contexts
from deconfound.loading.outcome_words import OutcomeScale
from deconfound.loading.raw import RawTable
from deconfound.loading.segment_columns import describe_value, is_segment, segment_mapping, without_segments
from deconfound.loading.sources import TableLike, read_table, source_name
from deconfound.loading.table_scope import split_scope

ROLE = "segments"
CONTEXT_COLUMNS = ("context_id", "context")


def with_segments(study: Study, source: TableLike, names: Sequence[str] | str | None = None) -> Study:
    """The study with segments of its randomized rows from a table of contexts, by id or by text.

    Segments are the columns ``names``, or all others. Contexts that the table lacks have none.
    """
    table = _read_segments(source, names, study.reading)
    by_text = not table.has("context_id")
    if by_text and not study.has_text:
        what = "the contexts are given by their text, which the study does not have"
        raise DataError([Problem(table.source, what, "Give a column context_id.")])
    key = _keys(table.arrow, by_text=by_text)
    if not pc.any(pc.is_in(_keys(study.experiment.arrow, by_text=by_text), value_set=key.combine_chunks())).as_py():
        what = "it has no context of the experiment"
        fix = "Give the contexts as the experiment has them, by context_id or by their text."
        raise DataError([Problem(table.source, what, fix)])
    problems: list[Problem] = []
    experiment, unrated = _joined(study.experiment, table, key, problems, by_text=by_text), study.unrated_experiment
    if problems:
        raise DataError(problems)
    if unrated is not None:
        unrated = _joined(unrated, table, key, problems, by_text=by_text)
    return replace(study, experiment=experiment, unrated_experiment=unrated)


def _read_segments(source: TableLike, names: Sequence[str] | str | None, reading: ReadingChoices) -> CanonicalTable:
    """A table of contexts and segments; names of the study's columns are used where the table has them."""
    raw = read_table(source, ROLE, source_name(source, ROLE))
    present, problems = raw.arrow.column_names, list[Problem]()
    mapping = _mapping_of_contexts(reading.columns, present)
    chosen = _resolver(raw, mapping).resolve(present, []).unused if names is None else names
    mapping, named = segment_mapping(chosen, mapping), {ROLE: (raw.source, present)}
    problems += unmatched_mappings(mapping, named).values()
    resolved = _resolver(raw, mapping).resolve(present, problems)
    problems += missing_column_problems({name: [ROLE] for name in resolved.missing}, named, mapping)
    if not chosen:
        fix = "Add columns such as a language or a task."
        problems.append(Problem(raw.source, "there is no column beside that of the contexts", fix))
    table = None if problems else canonicalize(raw, resolved, OutcomeScale(), problems)
    if table is None:
        raise DataError(problems)
    return with_normalized_contexts(table) if reading.normalize_contexts else table


def _mapping_of_contexts(columns: Mapping[str, str], present: Sequence[str]) -> dict[str, str]:
    """What the study says about the columns of contexts, in any of its tables, where the table has them."""
    names = {split_scope(name)[1]: column for name, column in columns.items() if column in present}
    return {name: column for name, column in names.items() if name in CONTEXT_COLUMNS}


def _resolver(raw: RawTable, mapping: Mapping[str, str]) -> ColumnResolver:
    return ColumnResolver(ROLE, raw.source, mapping, accept_id_alias=True)


def join_replay_segments(
    experiment: CanonicalTable, replay: CanonicalTable, problems: list[Problem]
) -> tuple[CanonicalTable, CanonicalTable]:
    """The experiment with the segments that only the replay has, by context, and the replay without segments."""
    names = [name for name in replay.arrow.column_names if is_segment(name) and not experiment.has(name)]
    for name in names:
        values = _by_context(experiment.arrow["context_id"], replay, replay.arrow["context_id"], name, problems)
        experiment = experiment.with_column(name, values)
    return experiment, replace(replay, arrow=without_segments(replay.arrow))


def _keys(arrow: pa.Table, *, by_text: bool) -> pa.ChunkedArray:
    """What identifies the context of each row."""
    return text_ids(arrow["context"]) if by_text else arrow["context_id"]


def _joined(
    own: Experiment, table: CanonicalTable, key: pa.ChunkedArray, problems: list[Problem], *, by_text: bool
) -> Experiment:
    arrow, own_key = own.arrow, _keys(own.arrow, by_text=by_text)
    for name in filter(is_segment, table.arrow.column_names):
        values = _by_context(own_key, table, key, name, problems)
        arrow = (arrow.drop_columns([name]) if name in arrow.column_names else arrow).append_column(name, values)
    return replace(own, arrow=arrow)


def _by_context(
    contexts: pa.ChunkedArray, table: CanonicalTable, key: pa.ChunkedArray, name: str, problems: list[Problem]
) -> pa.ChunkedArray:
    """The value of each given context, null where it has none; a context with two values is a problem."""
    values = table.arrow[name]
    filled = np.flatnonzero(values.is_valid().to_numpy())
    key, values = key.take(pa.array(filled)), values.take(pa.array(filled))
    _, context = encode_by_appearance(key)
    _, code = encode_by_appearance(values)
    _, first, inverse = np.unique(context, return_index=True, return_inverse=True)
    conflicts = np.flatnonzero(code != code[first[inverse]])
    if len(conflicts):
        row = int(conflicts[0])
        earlier = int(first[inverse[row]])
        count = len(np.unique(context[conflicts]))
        what = f"the context has {describe_value(name, values[row].as_py())}, but {quote(values[earlier].as_py())} in "
        what += f"{table.locate(int(filled[earlier]))} ({count:,} such context{'s' * (count > 1)})"
        fix = "Give every context one value, or put the column into the experiment, where every row has its own."
        problems.append(Problem(table.locate(int(filled[row])), what, fix))
    if not len(filled):
        return pa.chunked_array([pa.nulls(len(contexts), pa.string())])
    at = pc.index_in(contexts, value_set=key.combine_chunks())
    return values.take(at)

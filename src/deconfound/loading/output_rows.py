"""Tables with outputs, whatever else they have: the texts of every row, beside the user's own columns as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deconfound.errors import DataError, Problem, merge_problems
from deconfound.findings import Finding
from deconfound.formatting import join_names, quote
from deconfound.loading.canonical import CanonicalTable, align_contexts, canonicalize
from deconfound.loading.column_mapping import (
    ColumnMapping,
    ColumnResolver,
    matching_columns,
    missing_column_problems,
    unmatched_mappings,
)
from deconfound.loading.convert import Floats, to_floats
from deconfound.loading.message_columns import MessageColumns, message_column, read_messages
from deconfound.loading.outcome_words import OutcomeScale, translate_words
from deconfound.loading.raw import NESTED, RawTable
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.row_filter import filter_tables
from deconfound.loading.sources import TableLike, read_table, source_name

ROLE = "outputs"
HUMAN_FIX = "Name a column of numbers, or of words such as yes and no."


@dataclass(frozen=True, slots=True, eq=False)
class OutputTable:
    """One table: the user's columns, and for each of its rows what a judge needs to know.

    ``human`` are the scores of persons, NaN where there is none; None if the table has no such column.
    """

    source: str
    columns: pa.Table
    context_ids: tuple[str, ...]
    contexts: tuple[str, ...]
    models: tuple[str, ...]
    outputs: tuple[str, ...]
    human: Floats | None
    findings: tuple[Finding, ...]

    def __len__(self) -> int:
        return len(self.outputs)


def load_output_tables(
    sources: Sequence[TableLike],
    *,
    columns: Mapping[str, str] | None = None,
    where: Sequence[str] | str = (),
    human: str | None = None,
) -> tuple[OutputTable, ...]:
    """Read logs, experiments and replays, in any number; a context without text may have it in another of them.

    ``human`` names the column with scores of persons. Without it, a column that is the outcome by its name is used,
    where it can be read. Everything wrong in any table raises one ``DataError``.
    """
    rules = ReadingRules.from_options(columns=columns, where=where)
    problems: list[Problem] = []
    read = [_read(source, rules, problems) for source in sources]
    found = [one for one in read if one is not None]
    if problems or len(found) < len(read):
        raise DataError(merge_problems(problems))
    aligned = align_contexts([table for _, table in found], problems)
    problems += [] if problems else [_no_text(table) for table in aligned if not table.has("context")]
    scores = [_human_scores(raw, human, rules.columns, problems) for raw, _ in found]
    if human is not None and all(one is None for one in scores):
        names = join_names(dict.fromkeys(name for raw, _ in found for name in raw.arrow.column_names))
        what = f"there is no column {quote(human)}, which --human names; the columns are {names}"
        problems.append(Problem(join_names(raw.source for raw, _ in found), what, HUMAN_FIX))
    if problems:
        raise DataError(merge_problems(problems))
    return tuple(_table(raw, table, column) for (raw, _), table, column in zip(found, aligned, scores, strict=True))


def _no_text(table: CanonicalTable) -> Problem:
    fix = "Add a context column, or name a table that has the texts of these ids, too."
    return Problem(table.source, "contexts have ids only, and a judge needs their texts", fix)


def _read(source: TableLike, rules: ReadingRules, problems: list[Problem]) -> tuple[RawTable, CanonicalTable] | None:
    """The rows that are chosen, under the user's names and in canonical columns."""
    try:
        raw = read_table(source, ROLE, source_name(source, ROLE), rules.columns)
        raw = filter_tables({ROLE: raw}, rules.filters, rules.columns, problems)[ROLE]
    except DataError as error:
        problems += error.problems
        return None
    before = len(problems)
    text, mapping = _resolve(raw, rules, problems)
    if len(problems) > before:
        return None
    table = canonicalize(text, mapping, rules.scale, problems)
    return None if table is None else (raw, table)


def _resolve(raw: RawTable, rules: ReadingRules, problems: list[Problem]) -> tuple[RawTable, ColumnMapping]:
    """The table with messages as texts, and which of its columns is which."""
    present = {ROLE: (raw.source, raw.arrow.column_names)}
    problems += unmatched_mappings(rules.columns, present).values()
    has_text = "context" in rules.columns or matching_columns("context", raw.arrow.column_names, accept_id_alias=False)
    messages = None if has_text else message_column(raw)
    columns = rules.columns if messages is None else {**rules.columns, "context": messages}
    faults: list[Problem] = []
    resolver = ColumnResolver(ROLE, raw.source, columns, accept_id_alias=not has_text and messages is None)
    mapping = resolver.resolve(raw.arrow.column_names, faults)
    names = MessageColumns(mapping.columns.get("context"), mapping.columns.get("output"), "output" in mapping.missing)
    text = read_messages(raw, names)
    if text.arrow.num_columns > raw.arrow.num_columns:
        faults = []
        mapping = resolver.resolve(text.arrow.column_names, faults)
    problems += faults
    problems += missing_column_problems({name: [ROLE] for name in mapping.missing}, present, rules.columns)
    return text, mapping


def _human_scores(
    raw: RawTable, human: str | None, columns: Mapping[str, str], problems: list[Problem]
) -> Floats | None:
    """Scores of persons; those that were not asked for may be unreadable, and are then not used."""
    names = raw.arrow.column_names
    found = [human] if human is not None else [columns.get("outcome", "")]
    if human is None and found == [""]:
        found = matching_columns("outcome", names, accept_id_alias=False)
    if len(found) != 1 or found[0] not in names:
        return None
    faults: list[Problem] = []
    words, _ = translate_words(raw.column(found[0]), OutcomeScale(), faults)
    values = to_floats(words, faults, HUMAN_FIX)
    values = np.where(np.isfinite(values), values, np.nan)
    if faults and human is not None:
        problems += faults
    return None if faults or np.isnan(values).all() else values


def _table(raw: RawTable, table: CanonicalTable, human: Floats | None) -> OutputTable:
    texts = {name: tuple(table.arrow[name].to_pylist()) for name in ("context_id", "context", "model", "output")}
    return OutputTable(
        source=raw.source,
        columns=_writable(raw.arrow),
        context_ids=texts["context_id"],
        contexts=texts["context"],
        models=texts["model"],
        outputs=texts["output"],
        human=human,
        findings=table.findings,
    )


def _writable(columns: pa.Table) -> pa.Table:
    """The same columns; lists and objects of a JSON file as JSON in a text, which is read alike."""
    for at, field in enumerate(columns.schema):
        if field.type == NESTED:
            texts = [None if cell is None else cell["json"] for cell in columns[field.name].to_pylist()]
            columns = columns.set_column(at, field.name, pa.array(texts, pa.large_string()))
    return columns

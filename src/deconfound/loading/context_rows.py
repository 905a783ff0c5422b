"""The distinct contexts of any table, with the exact messages where contexts are messages: what can be asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deconfound.chat.conversation import Message, conversation_text, messages_from
from deconfound.chat.message_content import REQUEST_KEYS
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding
from deconfound.formatting import quote
from deconfound.loading.canonical import CanonicalTable, align_contexts, canonicalize
from deconfound.loading.column_mapping import (
    ColumnMapping,
    ColumnResolver,
    missing_column_problems,
    unmatched_mappings,
)
from deconfound.loading.message_columns import MessageColumns, message_cells, message_column, read_messages
from deconfound.loading.raw import RawTable
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.row_filter import filter_tables
from deconfound.loading.sources import TableLike, read_table, source_name

ROLE = "contexts"


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One context: its id and text as in every table, its messages if it has any, and its place in messages."""

    context_id: str
    text: str
    messages: object | None
    place: str


@dataclass(frozen=True, slots=True)
class ContextRows:
    """The distinct contexts of a table, in their order there."""

    source: str
    rows: tuple[ContextRow, ...]
    findings: tuple[Finding, ...]


def load_context_rows(
    source: TableLike, *, columns: Mapping[str, str] | None = None, where: Sequence[str] | str = ()
) -> ContextRows:
    """Read contexts from a log, an experiment, a replay or a table of nothing but contexts.

    The texts and ids are those that ``load`` gives them. An answer at the end of the messages is no part of the
    context, by the same rules.
    """
    rules = ReadingRules.from_options(columns=columns, where=where)
    problems: list[Problem] = []
    raw = read_table(source, ROLE, source_name(source, ROLE))
    raw = filter_tables({ROLE: raw}, rules.filters, rules.columns, problems)[ROLE]
    mapping = _resolve(raw, rules, problems)
    if problems:
        raise DataError(problems)
    column = mapping.columns["context"]
    cells = message_cells(raw, column)
    read = read_messages(
        raw, MessageColumns(column, mapping.columns.get("output"), may_lack_output=False, contexts_only=True)
    )
    used = {name: at for name, at in mapping.columns.items() if name != "output"}
    table = canonicalize(read, replace(mapping, columns=used), rules.scale, problems)
    if problems or table is None:
        raise DataError(problems)
    return _distinct(align_contexts([table], problems)[0], cells)


def _resolve(raw: RawTable, rules: ReadingRules, problems: list[Problem]) -> ColumnMapping:
    """Which column has the contexts; a column of messages only if there is no other."""
    names = raw.arrow.column_names
    present = {ROLE: (raw.source, names)}
    problems += unmatched_mappings(rules.columns, present).values()
    mapping = ColumnResolver(ROLE, raw.source, rules.columns, accept_id_alias=False).resolve(names, problems)
    if "context" not in mapping.columns:
        found = message_column(raw)
        if found is not None:
            mapping = replace(mapping, columns={**mapping.columns, "context": found})
    if "context" not in mapping.columns and not problems:
        problems += missing_column_problems({"context": [ROLE]}, present, rules.columns)
    return mapping


def _distinct(table: CanonicalTable, cells: Sequence[object] | None) -> ContextRows:
    ids, texts = (table.arrow[name].to_pylist() for name in ("context_id", "context"))
    rows: dict[str, ContextRow] = {}
    for at, (context_id, text) in enumerate(zip(ids, texts, strict=True)):
        earlier = rows.get(context_id)
        if earlier is None:
            messages = None if cells is None else _exact(cells[at], text)
            rows[context_id] = ContextRow(context_id, text, messages, table.locate(at))
        elif earlier.text != text:
            raise DataError([two_texts(context_id, table.locate(at), earlier.place)])
    return ContextRows(table.source, tuple(rows.values()), table.findings)


def two_texts(context_id: str, place: str, earlier: str) -> Problem:
    """The problem of an id with another text than in an earlier row."""
    what = f"context_id {quote(context_id)} has a different text in {earlier}"
    fix = "Give each text its own context_id, or leave the column out: contexts are then identified by text."
    return Problem(place, what, fix)


def _exact(cell: object, text: str) -> object | None:
    """The messages of a cell, without an answer at their end that is no part of the context; None for plain text."""
    if cell is None or isinstance(cell, str):
        return None
    messages = messages_from(cell)
    if conversation_text(messages) == text:
        return cell
    return _without_last(cell, messages)


def _without_last(cell: object, messages: Sequence[Message]) -> object:
    """All messages but the last; where the shape does not show which part that is, as plain messages."""
    if isinstance(cell, list) and len(cell) == len(messages):
        return cell[:-1]
    if isinstance(cell, Mapping):
        request: dict[str, Any] = dict(cell)
        key = next((key for key in REQUEST_KEYS if isinstance(request.get(key), list)), None)
        if key is not None and len(request[key]) in (len(messages), len(messages) - 1):
            return {**request, key: request[key][:-1]}
    return [{"role": message.role, "content": message.text} for message in messages[:-1]]

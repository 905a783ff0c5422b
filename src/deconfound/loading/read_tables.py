"""The tables of a study -> canonical columns; all of their problems are collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deconfound.data import NO_CHOICES, ReadingChoices
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, quote
from deconfound.loading.canonical import TEXT_FIXES, CanonicalTable, canonicalize
from deconfound.loading.column_mapping import (
    ColumnMapping,
    ColumnResolver,
    matching_columns,
    missing_column_problems,
    unmatched_mappings,
)
from deconfound.loading.ignored_columns import ignored_columns
from deconfound.loading.list_columns import embedding_names, expand_lists
from deconfound.loading.message_columns import MessageColumns, message_column, read_messages
from deconfound.loading.model_names import absent_model_problems, models_to_find, rename_models
from deconfound.loading.nested_columns import with_nested_columns
from deconfound.loading.normalized_contexts import with_normalized_contexts
from deconfound.loading.outcome_words import unknown_words
from deconfound.loading.raw import Column, RawTable, python_value
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.row_filter import filter_tables, filtered_columns
from deconfound.loading.sources import TableLike, read_table, table_names
from deconfound.loading.table_scope import scoped_to

IN_EVERY_FILE = ("context_id", "context", "model", "output", "outcome", "propensity", "draw")
ADD_COLUMN = "Name only the files of this table, add the column, or rename the one that is meant."


def read_canonical_tables(
    sources: Mapping[str, TableLike],
    rules: ReadingRules,
    problems: list[Problem],
    *,
    defaults: ReadingChoices = NO_CHOICES,
) -> dict[str, CanonicalTable]:
    """Convert every table that can be read; the others only add to ``problems``.

    ``defaults`` are further choices of names, each ignored where no table has what it names.
    """
    return read_with_rules(sources, rules, problems, defaults=defaults).tables


@dataclass(frozen=True, slots=True)
class ReadTables:
    """Tables in canonical columns, and how further rows of theirs are read.

    Where a table is only a part of a longer one, words of --outcome-values and models of --rename-model that no table
    has are no problems yet: ``absent_words``, ``absent_models``.
    """

    tables: dict[str, CanonicalTable]
    rules: MoreRows
    absent_words: tuple[str, ...]
    absent_models: tuple[str, ...]


def read_with_rules(
    sources: Mapping[str, TableLike],
    rules: ReadingRules,
    problems: list[Problem],
    *,
    defaults: ReadingChoices = NO_CHOICES,
) -> ReadTables:
    """Read tables as ``read_canonical_tables`` does."""
    raws = _read_raw_tables(sources, {**defaults.columns, **rules.columns}, problems)
    named = [*defaults.columns.values(), *rules.columns.values(), *(each.column for each in rules.filters)]
    raws = {role: with_nested_columns(raw, named) for role, raw in raws.items()}
    complete = len(raws) == len(sources)
    existing = {column for raw in raws.values() for column in raw.arrow.column_names}
    columns = {name: column for name, column in defaults.columns.items() if column in existing}
    normalize = rules.normalize_contexts or defaults.normalize_contexts
    rules = replace(rules, columns={**columns, **rules.columns}, normalize_contexts=normalize)
    if complete:
        raws = filter_tables(raws, rules.filters, rules.columns, problems)
    ignored = ignored_columns(raws, rules.ignore, problems) if complete else dict.fromkeys(raws, frozenset[str]())
    unneeded = ignored_columns(raws, defaults.ignore, [])
    ignored = {role: names | (unneeded[role] - set(rules.columns.values())) for role, names in ignored.items()}
    embeddings = _shared_embeddings(raws, ignored)
    raws = {role: expand_lists(raw, embeddings, ignored[role], problems) for role, raw in raws.items()}
    rules = replace(rules, columns={**rules.columns, **_message_contexts(raws, ignored, rules.columns)})
    reading = _Reading.of(raws, rules, ignored)
    unmatched = unmatched_mappings(rules.columns, reading.present) if complete else {}
    problems += unmatched.values()
    reading = reading.without(unmatched)
    tables, outcomes = reading.canonicalize(unmatched, problems)
    is_part = any(raw.is_part for raw in raws.values())
    words = unknown_words(outcomes, rules.scale)
    problems += [absent_words_problem(words, outcomes)] if words and outcomes and not is_part else []
    absent_models: list[str] = []
    if len(tables) == len(sources):
        absent_models = models_to_find(tables, rules.rename_models)
        problems += [] if is_part else absent_model_problems(tables, absent_models)
        tables = rename_models(tables, rules.rename_models, defaults.rename_models, problems)
    more = MoreRows(reading.rules, embeddings, reading.accept_id_alias)
    return ReadTables(tables, more, tuple(words), tuple(absent_models))


@dataclass(frozen=True, slots=True)
class MoreRows:
    """How further rows of a table are read: what was decided with all tables in sight."""

    rules: ReadingRules
    embeddings: frozenset[str]
    accept_id_alias: bool

    def with_fields(self, raw: RawTable) -> RawTable:
        """The rows with a column for every field of an object that an option names."""
        named = [*self.rules.columns.values(), *(each.column for each in self.rules.filters)]
        return with_nested_columns(raw, named)

    def read(self, role: str, raw: RawTable, problems: list[Problem]) -> tuple[CanonicalTable | None, ColumnMapping]:
        """Rows that were already chosen, in canonical columns, and which column is which; None if there are faults."""
        ignored = ignored_columns({role: raw}, self.rules.ignore, [])
        raw = expand_lists(raw, self.embeddings, ignored[role], problems)
        reading = _Reading({role: raw}, self.rules, ignored, self.accept_id_alias)
        missing: dict[str, list[str]] = {}
        _, mapping, table = reading.table(role, {}, missing, problems)
        problems += missing_column_problems(missing, reading.present, self.rules.columns)
        return table, mapping


@dataclass(frozen=True, slots=True)
class _Reading:
    """All tables as they were read, and what is known about all of them together."""

    raws: Mapping[str, RawTable]
    rules: ReadingRules
    ignored: Mapping[str, frozenset[str]]
    accept_id_alias: bool

    @classmethod
    def of(cls, raws: Mapping[str, RawTable], rules: ReadingRules, ignored: Mapping[str, frozenset[str]]) -> _Reading:
        with_text = (_has_text(raw.arrow.column_names, scoped_to(rules.columns, role)) for role, raw in raws.items())
        return cls(raws, rules, ignored, not all(with_text))

    @property
    def present(self) -> dict[str, tuple[str, Sequence[str]]]:
        """The source and the columns of each table."""
        return {role: (raw.source, raw.arrow.column_names) for role, raw in self.raws.items()}

    def without(self, names: Mapping[str, Problem]) -> _Reading:
        """The same without mappings that were already reported."""
        columns = {name: column for name, column in self.rules.columns.items() if name not in names}
        return replace(self, rules=replace(self.rules, columns=columns))

    def canonicalize(
        self, unmatched: Mapping[str, Problem], problems: list[Problem]
    ) -> tuple[dict[str, CanonicalTable], list[Column]]:
        """The tables in canonical columns, and the outcomes as they were written.

        A missing column is reported once for all tables that lack it.
        """
        tables: dict[str, CanonicalTable] = {}
        missing: dict[str, list[str]] = {}
        outcomes: list[Column] = []
        for role in self.raws:
            raw, mapping, table = self.table(role, unmatched, missing, problems)
            outcomes += [raw.column(mapping.columns["outcome"])] if "outcome" in mapping.columns else []
            if table is not None:
                tables[role] = table
        problems += missing_column_problems(missing, self.present, self.rules.columns)
        return tables, outcomes

    def table(
        self,
        role: str,
        unmatched: Mapping[str, Problem],
        missing: dict[str, list[str]],
        problems: list[Problem],
    ) -> tuple[RawTable, ColumnMapping, CanonicalTable | None]:
        """One table with messages as texts, which of its columns is which, and the canonical columns."""
        before = len(problems)
        raw, mapping = self._resolve(role, problems)
        for name in mapping.missing:
            if name not in unmatched and f"{role}.{name}" not in unmatched:
                missing.setdefault(name, []).append(role)
        problems += _join_problems(raw, mapping)
        raw = replace(raw, findings=(*raw.findings, *_join_findings(raw, mapping)))
        faultless = len(problems) == before and not mapping.missing
        table = canonicalize(raw, mapping, self.rules.scale, problems) if faultless else None
        if table is not None and self.rules.normalize_contexts:
            table = with_normalized_contexts(table)
        return raw, mapping, table

    def _resolve(self, role: str, problems: list[Problem]) -> tuple[RawTable, ColumnMapping]:
        """The table with messages as texts, and which of its columns is which."""
        raw, faults = self.raws[role], list[Problem]()
        mapping = self._mapping(role, raw, faults)
        columns = MessageColumns(
            mapping.columns.get("context"), mapping.columns.get("output"), "output" in mapping.missing
        )
        read = read_messages(raw, columns)
        if read.arrow.num_columns > raw.arrow.num_columns:
            faults = []
            mapping = self._mapping(role, read, faults)
        problems += faults
        return read, mapping

    def _mapping(self, role: str, raw: RawTable, problems: list[Problem]) -> ColumnMapping:
        columns = scoped_to(self.rules.columns, role)
        resolver = ColumnResolver(role, raw.source, columns, self.accept_id_alias, raw.partial)
        ignored = self.ignored[role]
        mapping = resolver.resolve([name for name in raw.arrow.column_names if name not in ignored], problems)
        mapping = replace(mapping, unused=(*mapping.unused, *sorted(ignored)))
        return mapping.with_used(filtered_columns(raw, role, self.rules.filters, self.rules.columns))


def _has_text(names: Sequence[str], columns: Mapping[str, str]) -> bool:
    """Whether a table has a column for the text of contexts."""
    return columns.get("context") in names or bool(matching_columns("context", names, accept_id_alias=False))


def _message_contexts(
    raws: Mapping[str, RawTable], ignored: Mapping[str, frozenset[str]], columns: Mapping[str, str]
) -> dict[str, str]:
    """Columns of messages that are the contexts of tables without a column for them, as --map would say it."""
    lacking = {
        role: raw for role, raw in raws.items() if not _has_text(raw.arrow.column_names, scoped_to(columns, role))
    }
    found = {role: message_column(raw) for role, raw in lacking.items()}
    return {f"{role}.context": name for role, name in found.items() if name is not None and name not in ignored[role]}


def _read_raw_tables(
    sources: Mapping[str, TableLike], columns: Mapping[str, str], problems: list[Problem]
) -> dict[str, RawTable]:
    names = table_names(sources)
    raws = {}
    for role, source in sources.items():
        try:
            raws[role] = read_table(source, role, names[role], scoped_to(columns, role))
        except DataError as error:
            problems += error.problems
    return raws


def _shared_embeddings(raws: Mapping[str, RawTable], ignored: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Embeddings that every table has, as every feature must be in all of them."""
    names = [embedding_names(raw, ignored[role]) for role, raw in raws.items()]
    return frozenset.intersection(*names) if names else frozenset()


def absent_words_problem(words: Sequence[str], outcomes: Sequence[Column]) -> Problem:
    """Words of --outcome-values that are in no table: probably written differently there."""
    cells = (str(python_value(cell)) for column in outcomes for cell in column.values.unique()[:10])
    found = join_names(list(dict.fromkeys(cells)))
    what = f"no outcome is {join_names(words)}, which --outcome-values names; there are {found}"
    return Problem(join_names([column.source for column in outcomes]), what, "Correct the word, or leave it out.")


def _join_problems(raw: RawTable, mapping: ColumnMapping) -> list[Problem]:
    """Faults of used columns of which the files of a table differ: some lack it, or a name has lost its zeros."""
    problems = []
    for name, column in mapping.columns.items():
        partial, joined = raw.partial.get(column), raw.joined.get(column)
        if partial is not None and name in IN_EVERY_FILE:
            problems += partial.problems(f"there is no column {quote(column)}", ADD_COLUMN)
        if joined is not None and joined.doubt is not None and name in TEXT_FIXES:
            problems.append(joined.doubt)
    return problems


def _join_findings(raw: RawTable, mapping: ColumnMapping) -> tuple[Finding, ...]:
    """Used columns that the files of a table store in different types."""
    notices = (raw.joined[column].notice for column in mapping.columns.values() if column in raw.joined)
    return tuple(Finding("columns", "pass", Notice(f"{raw.source}: {notice}.")) for notice in notices if notice)

"""RawTable -> canonical columns, then the same context ids in all tables and a number for every draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import RowNumbers, count_by_model, text_ids
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize, quote, shell_argument
from deconfound.loading.column_findings import column_findings
from deconfound.loading.column_mapping import ColumnMapping
from deconfound.loading.convert import (
    MAX_EXACT_INTEGER,
    Floats,
    is_blank,
    refuse_infinite,
    to_finite_floats,
    to_floats,
    to_moderate_floats,
    to_strings,
    without_missing_words,
)
from deconfound.loading.decimal_commas import read_decimal_commas, read_percentages
from deconfound.loading.missing_codes import without_missing_codes
from deconfound.loading.nested_columns import field_names
from deconfound.loading.outcome_ends import direction_finding, outside_range
from deconfound.loading.outcome_words import OutcomeScale, translate_words
from deconfound.loading.propensity_columns import is_propensity, to_propensities
from deconfound.loading.raw import Column, RawTable
from deconfound.loading.segment_columns import is_segment, to_segments
from deconfound.loading.times import to_times

COLUMN_ORDER = ("context_id", "context", "model", "output", "outcome", "propensity", "cluster", "time", "draw")
OUTCOME_FIX = (
    "Write one number such as 0.5 (with a point), or a word such as yes or no; give other words a meaning with "
    "--outcome-values good=1,bad=0, and WORD=missing to one that stands for no rating."
)
TEXT_FIXES = {
    "context_id": "Give every row a context_id, or leave the column out: contexts are then identified by their text.",
    "context": "Write the context of every row, or remove the row.",
    "model": 'Name the model of every row, or leave such rows of a log out with --where "log.model!=".',
    "output": 'Write the output of every row ("" if the model answered nothing), or leave failed calls of a log out '
    'with --where "log.output!=".',
    "cluster": "Name the cluster of every row, or leave the column out.",
    "unit": "Name the unit of every row, or remove the row: its model was drawn for nobody.",
}


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalTable:
    """A table in canonical columns that may still lack ``context_id``, ``context`` or ``draw``."""

    arrow: pa.Table
    source: str
    unused_columns: tuple[str, ...]
    findings: tuple[Finding, ...]
    row_numbers: RowNumbers

    def has(self, name: str) -> bool:
        """Whether a canonical column is present."""
        return name in self.arrow.column_names

    def with_column(self, name: str, values: pa.ChunkedArray | pa.Array) -> CanonicalTable:
        """The same table with one column more."""
        return replace(self, arrow=self.arrow.append_column(name, values))

    def locate(self, row: int) -> str:
        """Name the place of a row in a message."""
        return self.row_numbers.locate(self.source, row)

    def in_order(self) -> CanonicalTable:
        """The same table with its columns in ``COLUMN_ORDER``, all others after them by name."""
        names = self.arrow.column_names
        ordered = [name for name in COLUMN_ORDER if name in names]
        return replace(self, arrow=self.arrow.select(ordered + sorted(set(names) - set(ordered))))


def canonicalize(
    raw: RawTable, mapping: ColumnMapping, scale: OutcomeScale, problems: list[Problem]
) -> CanonicalTable | None:
    """Convert every column; None if a text column is faulty, since later checks need all of them."""
    columns = {name: raw.column(user_name) for name, user_name in mapping.columns.items()}
    columns, comma_findings = _with_decimal_points(columns)
    columns, findings = _without_faulty_options(columns)
    findings += comma_findings
    converted, texts_valid = _convert_texts(columns, problems)
    if "outcome" in columns:
        outcome, outcome_findings = _read_outcome(columns["outcome"], scale, problems, is_part=raw.is_part)
        findings += outcome_findings
        converted["outcome"] = pa.chunked_array([outcome])
    if "time" in columns:
        converted["time"] = pa.chunked_array([to_times(columns["time"], problems)])
    if "draw" in columns:
        converted["draw"] = pa.chunked_array([_convert_draw(columns["draw"], problems)])
    propensities = {name: column for name, column in columns.items() if is_propensity(name)}
    if texts_valid and propensities:
        values = to_propensities(propensities, converted["model"], problems)
        converted |= {name: pa.chunked_array([column]) for name, column in values.items()}
    for name in sorted(columns):
        if name.startswith(("label_", "feature_")):
            kind = name.partition("_")[0]
            fix = f"Fill it in, or leave the column out: a {kind} needs a number in every row."
            converted[name] = pa.chunked_array([to_moderate_floats(columns[name], problems, fix)])
    segments = {name: to_segments(column, problems) for name, column in columns.items() if is_segment(name)}
    converted |= segments
    if not texts_valid or None in segments.values():
        return None
    arrow = pa.table(converted)
    findings = [*raw.findings, *column_findings(raw.source, mapping), *findings, *_empty_output_findings(raw, arrow)]
    return CanonicalTable(arrow, raw.source, mapping.unused, tuple(findings), raw.row_numbers)


def _with_decimal_points(columns: Mapping[str, Column]) -> tuple[dict[str, Column], list[Finding]]:
    """Columns of numbers in which decimal commas are points, and a finding for each of them."""
    read, findings = dict(columns), []
    for name, column in columns.items():
        if name == "outcome" or is_propensity(name) or name.startswith(("label_", "feature_")):
            read[name], found = read_decimal_commas(column)
            if is_propensity(name) and not found:
                read[name], found = read_percentages(column)
            findings += found
    return read, findings


def _without_faulty_options(columns: Mapping[str, Column]) -> tuple[dict[str, Column], list[Finding]]:
    """The columns without times, clusters and labels that cannot be read in every row, and a warning for each."""
    kept, findings = dict(columns), []
    for name, column in columns.items():
        faults: list[Problem] = []
        if name == "time":
            to_times(column, faults)
        elif name == "cluster":
            to_strings(without_missing_words(column), faults, allow_blank=False, fix=TEXT_FIXES[name])
        elif name.startswith("label_"):
            to_finite_floats(column, faults, "Fill it in, or remove the column.")
        if faults:
            del kept[name]
            message = f"{faults[0].where}: {faults[0].what}. The column is left out."
            findings.append(Finding("columns left out", "warn", Notice(message, faults[0].fix)))
    return kept, findings


def _convert_texts(columns: Mapping[str, Column], problems: list[Problem]) -> tuple[dict[str, pa.ChunkedArray], bool]:
    converted, all_valid = {}, True
    for name, fix in TEXT_FIXES.items():
        if name in columns:
            values = to_strings(columns[name], problems, allow_blank=name == "output", fix=fix)
            converted[name] = values
            all_valid = all_valid and values is not None
    return converted, all_valid


def _read_outcome(
    column: Column, scale: OutcomeScale, problems: list[Problem], *, is_part: bool
) -> tuple[Floats, list[Finding]]:
    """Outcomes from 0 to 1, a missing one as NaN, and findings on words and codes; 0 throughout if there are problems.

    NaN would then be reported a second time, as rows without an outcome.
    """
    before = len(problems)
    fields = field_names(column.values)
    if fields:
        filled = column.values.is_valid().to_numpy()
        option = shell_argument(f"outcome={column.name}.{fields[0]}")
        fix = f"Name the field that is meant: --map {option} (it has {join_names(fields)})."
        problems.append(column.row_problem(filled, "is an object, not a number", fix))
        return np.zeros(len(column.values)), []
    rated, missing = without_missing_codes(column, scale)
    translated, words = translate_words(rated, scale, problems)
    values = _convert_outcome(translated, scale, problems, is_part=is_part)
    found = (missing, words, direction_finding(column, scale))
    findings = [finding for finding in found if finding is not None]
    return (values if len(problems) == before else np.nan_to_num(values)), findings


def _convert_outcome(column: Column, scale: OutcomeScale, problems: list[Problem], *, is_part: bool) -> Floats:
    """Rescale outcomes to [0, 1]; a missing one is NaN."""
    before = len(problems)
    values = to_floats(column, problems, OUTCOME_FIX)
    refuse_infinite(column, values, problems)
    if np.isnan(values).all() and len(problems) == before and not is_part:
        problems.append(no_outcome(column.source))
    low, high = scale.ends
    outside = np.isfinite(values) & ((values < min(low, high)) | (values > max(low, high)))
    if outside.any():
        problems.append(outside_range(column, values, outside, scale))
    return np.asarray((values - low) / (high - low))


def no_outcome(source: str) -> Problem:
    """The problem of a table without any outcome."""
    return Problem(source, "no row has an outcome", "Name the right column with --map outcome=COLUMN.")


def _convert_draw(column: Column, problems: list[Problem]) -> pa.Array:
    fix = "Number the draws of each context and model, or leave the column out."
    values = to_finite_floats(column, problems, fix)
    filled = np.where(np.isfinite(values), values, 0.0)
    fractional = (filled != np.floor(filled)) | (np.abs(filled) >= MAX_EXACT_INTEGER)
    if fractional.any():
        fix = "Number the draws of each context and model with whole numbers: 0, 1, 2, …"
        problems.append(column.row_problem(fractional, "is not a valid draw number", fix))
    return pa.array(np.where(fractional, 0.0, filled).astype(np.int64))


def _empty_output_findings(raw: RawTable, arrow: pa.Table) -> list[Finding]:
    blank = empty_outputs(arrow)
    return [] if not blank.num_rows else [empty_output_finding(raw.source, blank.num_rows, count_by_model(blank))]


def empty_outputs(arrow: pa.Table) -> pa.Table:
    """The rows whose output is blank; none where there are no outputs."""
    return arrow.filter(pa.array(is_blank(arrow["output"]))) if "output" in arrow.column_names else arrow.slice(0, 0)


def empty_output_finding(source: str, count: int, by_model: str) -> Finding:
    """Count the blank outputs; ``by_model`` says whose they are."""
    message = f"{source}: {pluralize(count, 'empty output')} ({by_model})."
    return Finding("empty outputs", "warn", Notice(message, "Check that these models really answered nothing."))


def align_contexts(tables: Sequence[CanonicalTable], problems: list[Problem]) -> list[CanonicalTable]:
    """Give every table a context_id, and the text of its contexts where another table has it."""
    need_ids = not all(table.has("context_id") for table in tables)
    return ContextKeys.of(tables, need_ids=need_ids).align(tables, problems)


@dataclass(frozen=True, slots=True, eq=False)
class ContextKeys:
    """What tables say about contexts: the id of each text (by its hash), and the text of each id."""

    id_by_text: pa.Table | None
    text_by_id: pa.Table | None

    @classmethod
    def of(cls, tables: Sequence[CanonicalTable], *, need_ids: bool) -> ContextKeys:
        """What these tables say together; ``need_ids``: some table has texts without ids."""
        ids = _ids_by_text(tables) if need_ids else None
        with_ids = [table if table.has("context_id") else _add_ids(table, ids) for table in tables]
        texts = [t.arrow.select(["context_id", "context"]) for t in with_ids if t.has("context")]
        return cls(ids, pa.concat_tables(texts) if texts else None)

    def align(self, tables: Sequence[CanonicalTable], problems: list[Problem]) -> list[CanonicalTable]:
        """The tables with ids, and with texts where they are known."""
        return [self._with_text(self._with_ids(table), problems).in_order() for table in tables]

    def _with_ids(self, table: CanonicalTable) -> CanonicalTable:
        return table if table.has("context_id") else _add_ids(table, self.id_by_text)

    def _with_text(self, table: CanonicalTable, problems: list[Problem]) -> CanonicalTable:
        known = table.has("context") or self.text_by_id is None
        return table if known else _join_text(table, self.text_by_id, problems)


def _ids_by_text(tables: Sequence[CanonicalTable]) -> pa.Table | None:
    """A text gets the id that a table gives it (the smallest, if there are several)."""
    pairs = [
        pa.table({"text": text_ids(t.arrow["context"]), "id": t.arrow["context_id"]})
        for t in tables
        if t.has("context") and t.has("context_id")
    ]
    return pa.concat_tables(pairs).group_by("text").aggregate([("id", "min")]) if pairs else None


def _add_ids(table: CanonicalTable, id_by_text: pa.Table | None) -> CanonicalTable:
    """Ids by text, else the hash of the text."""
    ids = text_ids(table.arrow["context"])
    if id_by_text is not None:
        at = pc.index_in(ids, value_set=id_by_text["text"].combine_chunks())
        ids = pc.coalesce(id_by_text["id_min"].combine_chunks().take(at), ids)
    return table.with_column("context_id", ids)


def _join_text(table: CanonicalTable, text_by_id: pa.Table, problems: list[Problem]) -> CanonicalTable:
    """Add the text by id. Ids without text are a problem, unless the table has features instead."""
    at = pc.index_in(table.arrow["context_id"], value_set=text_by_id["context_id"].combine_chunks())
    missing = np.flatnonzero(at.is_null().to_numpy())
    if len(missing) and any(name.startswith("feature_") for name in table.arrow.column_names):
        return table
    if len(missing):
        row = int(missing[0])
        name = table.arrow["context_id"][row].as_py()
        what = f"context {quote(name)} has no text, here or in another table ({pluralize(len(missing), 'row')})"
        fix = "Add a context column, or rows with this context_id and its text to the replay."
        problems.append(Problem(table.locate(row), what, fix))
    return table.with_column("context", pc.fill_null(text_by_id["context"].take(at), ""))

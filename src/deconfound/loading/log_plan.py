"""How every batch of a long log is read: exactly as its first rows, or not at all.

Whether numbers have decimal commas, what words mean, how times and messages are written: all this is decided by whole
columns. Each batch is therefore read together with a few of the first rows, the evidence. Where the batch agrees with
them, it is read as the whole log would be. Where their values change, or cannot be read any more, it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.data.row_order import take_rows
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import quote
from deconfound.loading.canonical import CanonicalTable
from deconfound.loading.column_mapping import ColumnMapping
from deconfound.loading.convert import is_string_type
from deconfound.loading.evidence_texts import first_difference, shorten_evidence
from deconfound.loading.joined_columns import FilePart, join_column
from deconfound.loading.log_files import with_columns
from deconfound.loading.raw import RawTable, python_value
from deconfound.loading.read_tables import MoreRows
from deconfound.loading.row_filter import choose_rows

ROLE = "log"
EVIDENCE_ROWS = 64  # at first; more where these do not show what all first rows show
MAX_WORDS = 1_000  # different outcomes in words, all of which are evidence
LEFT_OUT = "columns left out"
WORDS = "outcome words"
ONE_WAY = "Write the column in one way in all rows, or name only the files that agree."


class LeftOutError(Exception):
    """An optional column cannot be read in some row, and is left out of all of them: reading has to begin again."""

    def __init__(self, columns: frozenset[str], findings: tuple[Finding, ...]) -> None:
        self.columns = columns
        self.findings = findings
        super().__init__(", ".join(sorted(columns)))


@dataclass(frozen=True, slots=True, eq=False)
class ReadBatch:
    """A batch under the user's names and in canonical columns; ``left`` counts rows after each condition."""

    raw: RawTable
    table: CanonicalTable
    mapping: ColumnMapping
    left: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LogPlan:
    """Rules for all rows, and the evidence: some of the first rows, as they were written and as they are read."""

    more: MoreRows
    names: tuple[str, ...]
    columns: Mapping[str, str]  # canonical name -> the user's
    unread: frozenset[str]  # columns of the first rows that nothing uses
    evidence: RawTable
    expected: pa.Table
    has_words: bool
    joined: frozenset[str]
    left_out: frozenset[str] = frozenset()

    @classmethod
    def of(cls, more: MoreRows, head: RawTable) -> LogPlan:
        """The rules, with enough of the chosen first rows to show what all of them show."""
        whole = _read(more, head)
        rows, unread = len(whole.table.arrow), _unread(more, whole)
        count = EVIDENCE_ROWS
        while True:
            at = _evidence_rows(whole, rows, count)
            evidence = _take(_emptied(replace(head, findings=()), unread), at)
            expected = whole.table.arrow.take(pa.array(at))
            if count >= rows or _agrees(_read_or_none(more, evidence), whole, expected):
                break
            count *= 4
        evidence, expected = shorten_evidence(evidence, expected, whole.mapping.columns, partial(_read_arrow, more))
        plan = cls(
            more,
            tuple(head.arrow.column_names),
            whole.mapping.columns,
            unread,
            evidence,
            expected,
            _has_words(whole),
            frozenset(head.joined),
        )
        return plan.without(_left_out(whole))

    def without(self, columns: frozenset[str]) -> LogPlan:
        """The same without optional columns."""
        return replace(
            self,
            expected=self.expected.drop_columns([name for name in self.expected.column_names if name in columns]),
            left_out=self.left_out | columns,
        )

    def with_evidence(self, raw: RawTable, table: CanonicalTable, at: Sequence[int]) -> LogPlan:
        """The same with further rows as evidence."""
        rows = _take(replace(raw, findings=()), np.asarray(at))
        expected = table.arrow.select(self.expected.column_names).take(pa.array(at))
        return replace(
            self, evidence=_below(self.evidence, rows)[0], expected=pa.concat_tables([self.expected, expected])
        )

    def read(self, raw: RawTable) -> ReadBatch | None:
        """The chosen rows of a batch in canonical columns, or an error that names its rows; None if none is chosen."""
        rules = self.more.rules
        batch = with_columns(self.more.with_fields(_emptied(raw, self.unread)), self.names)
        batch, left = choose_rows(batch, ROLE, rules.filters, rules.columns)
        if not batch.arrow.num_rows:
            return None
        try:
            return replace(self._read(batch), left=left)
        except DataError as error:
            raise DataError([_in_rows(problem, batch) for problem in error.problems]) from None

    def _read(self, batch: RawTable) -> ReadBatch:
        both, mixed = _below(self.evidence, batch)
        known = self.evidence.arrow.num_rows
        read = _read(self.more, replace(both, findings=batch.findings, is_part=True))
        self._refuse_mixed(mixed, read.mapping, batch)
        arrow = read.table.arrow
        faulty = _left_out(read) & set(self.expected.column_names)
        if faulty:
            raise LeftOutError(faulty, tuple(each for each in read.table.findings if each.check == LEFT_OUT))
        arrow = arrow.drop_columns([name for name in arrow.column_names if name in self.left_out])
        self._refuse_other_reading(arrow, batch)
        self._refuse_new_dates(read.mapping, batch)
        if _has_words(read) != self.has_words:
            raise _differs(batch, read.mapping.columns["outcome"], "has words here, and numbers in the first rows")
        numbers = both.row_numbers.take(np.arange(known, both.arrow.num_rows))
        table = replace(read.table, arrow=arrow.slice(known), row_numbers=numbers)
        return ReadBatch(batch, table, read.mapping, ())

    def _refuse_mixed(self, mixed: frozenset[str], mapping: ColumnMapping, batch: RawTable) -> None:
        """Refuse a used column whose type is another one than in the first rows."""
        for column in mapping.columns.values():
            if column in mixed and column not in self.joined:
                kind, first = batch.arrow[column].type, self.evidence.arrow[column].type
                raise _differs(batch, column, f"has values of type {kind} here, and of type {first} in the first rows")

    def _refuse_new_dates(self, mapping: ColumnMapping, batch: RawTable) -> None:
        """Refuse dates with slashes that the first rows do not have: which of day and month is first, is not known."""
        column = mapping.columns.get("time")
        if column is None or "time" not in self.expected.column_names:
            return
        if _has_slashes(batch.arrow[column]) and not _has_slashes(self.evidence.arrow[column]):
            raise _differs(batch, column, "has dates with slashes here, unlike in the first rows")

    def _refuse_other_reading(self, arrow: pa.Table, batch: RawTable) -> None:
        """Refuse a batch with other columns, or beside which the first rows would be read differently."""
        if set(arrow.column_names) != set(self.expected.column_names):
            names = set(arrow.column_names) ^ set(self.expected.column_names)
            raise _differs(batch, min(names), "is not in all rows, or is written differently in some")
        for name in self.expected.column_names:
            row = first_difference(arrow[name].slice(0, len(self.expected)), self.expected[name])
            if row is not None:
                here, there = (quote(str(column[row].as_py())) for column in (arrow[name], self.expected[name]))
                where = self.evidence.row_numbers.locate(self.evidence.source, row)
                what = f"is written differently here than in {where}, where {there} would be read as {here}"
                raise _differs(batch, name, what)


def _unread(more: MoreRows, whole: ReadBatch) -> frozenset[str]:
    """Columns that nothing uses: no canonical column, no condition, and no name that leads into their objects."""
    named = [*more.rules.columns.values(), *(each.column for each in more.rules.filters)]
    unused = whole.mapping.unused
    return frozenset(name for name in unused if not any(each.startswith(f"{name}.") for each in named))


def _emptied(raw: RawTable, names: frozenset[str]) -> RawTable:
    """The table without the values of some columns."""
    arrow = raw.arrow
    for at, name in enumerate(arrow.column_names):
        if name in names:
            arrow = arrow.set_column(at, name, pa.nulls(arrow.num_rows))
    return replace(raw, arrow=arrow)


def _evidence_rows(whole: ReadBatch, rows: int, count: int) -> np.ndarray:
    """First rows, rows from everywhere, and one for each outcome where they are words."""
    at = {*range(min(rows, count // 2)), *np.linspace(0, rows - 1, min(rows, count - count // 2)).astype(int).tolist()}
    if _has_words(whole):
        at |= set(new_outcomes(whole, set()).values())
    return np.array(sorted(at))


def new_outcomes(batch: ReadBatch, known: set[object]) -> dict[object, int]:
    """The first row of every outcome, as it is written, that is not among these."""
    values = batch.raw.arrow[batch.mapping.columns["outcome"]]
    found: dict[object, int] = {}
    for cell in values.unique():
        value = python_value(cell)
        if value not in known and len(found) < MAX_WORDS and cell.is_valid:
            found[value] = int(pa.compute.index(values, cell).as_py())
    return found


def _read(more: MoreRows, raw: RawTable) -> ReadBatch:
    problems: list[Problem] = []
    table, mapping = more.read(ROLE, raw, problems)
    if problems or table is None:
        raise DataError(problems)
    return ReadBatch(raw, table, mapping, ())


def _read_or_none(more: MoreRows, raw: RawTable) -> ReadBatch | None:
    try:
        return _read(more, raw)
    except DataError:
        return None


def _read_arrow(more: MoreRows, raw: RawTable) -> pa.Table | None:
    read = _read_or_none(more, raw)
    return None if read is None else read.table.arrow


def _agrees(read: ReadBatch | None, whole: ReadBatch, expected: pa.Table) -> bool:
    """Whether some rows alone are read as they are among all first rows."""
    if read is None or _has_words(read) != _has_words(whole):
        return False
    arrow = read.table.arrow
    same = arrow.column_names == expected.column_names
    return same and all(first_difference(arrow[name], expected[name]) is None for name in expected.column_names)


def _has_words(read: ReadBatch) -> bool:
    return any(finding.check == WORDS for finding in read.table.findings)


def _left_out(read: ReadBatch) -> frozenset[str]:
    """The optional columns that could not be read in every row."""
    return frozenset(read.mapping.columns) - set(read.table.arrow.column_names)


def _has_slashes(values: pa.ChunkedArray) -> bool:
    return is_string_type(values.type) and bool(pa.compute.any(pa.compute.match_substring(values, "/")).as_py())


def _below(first: RawTable, second: RawTable) -> tuple[RawTable, frozenset[str]]:
    """Rows of the second table below those of the first, and the columns that had to become text for that."""
    names = list(dict.fromkeys([*first.arrow.column_names, *second.arrow.column_names]))
    first, second = with_columns(first, names), with_columns(second, names)
    columns, mixed = {}, set()
    for name in names:
        one, other = first.arrow[name], second.arrow[name]
        if one.type == other.type:
            columns[name] = pa.chunked_array([*one.chunks, *other.chunks], one.type)
            continue
        parts = [FilePart(first.source, len(one), one), FilePart(second.source, len(other), other)]
        columns[name], note = join_column(name, parts)
        mixed |= {name} if note is not None and note.notice else set()
    return replace(first, arrow=pa.table(columns), row_numbers=_numbers_below(first, second)), frozenset(mixed)


def _numbers_below(first: RawTable, second: RawTable) -> RowNumbers:
    one, other = first.row_numbers, second.row_numbers
    numbers = [
        np.arange(1, raw.arrow.num_rows + 1) if raw.row_numbers.numbers is None else raw.row_numbers.numbers
        for raw in (first, second)
    ]
    file = None if one.file is None or other.file is None else np.concatenate([one.file, other.file])
    return RowNumbers(other.unit, np.concatenate(numbers), one.files, file)


def _take(raw: RawTable, at: np.ndarray) -> RawTable:
    return replace(raw, arrow=take_rows(raw.arrow, at), row_numbers=raw.row_numbers.take(at))


def _rows_of(batch: RawTable) -> str:
    """Which rows a batch has, for messages."""
    numbers, last = batch.row_numbers, batch.arrow.num_rows - 1
    return f"{numbers.locate(batch.source, 0)} to {numbers.number(last)}"


def _in_rows(problem: Problem, batch: RawTable) -> Problem:
    """A problem of a whole column, with the rows in which it was found."""
    return replace(problem, where=_rows_of(batch)) if problem.where == batch.source else problem


def _differs(batch: RawTable, column: str, how: str) -> DataError:
    return DataError([Problem(_rows_of(batch), f"column {quote(column)} {how}", ONE_WAY)])


def more_rows_note(finding: Finding) -> Finding:
    """The finding of one batch, where later ones have the same."""
    details = finding.details
    if not isinstance(details, Notice):
        return finding
    return replace(
        finding, details=replace(details, message=f"{details.message} There are more such rows further down.")
    )

"""The first rows of a long log, by which all others are read, and what is said about messages that count only these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from deconfound.errors import DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.loading.log_files import LogFiles, slice_raw
from deconfound.loading.log_size import LongLog
from deconfound.loading.nested_columns import with_nested_columns
from deconfound.loading.no_row import SeenValues, no_row_problem
from deconfound.loading.raw import RawTable
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.row_filter import choose_rows

LOG = "log"
STOPPED = "Reading a long log stopped after the first rows of its files"
AMONG_THESE = "numbers of rows above are among these"
CORRECT = "Correct what is named, and run it again."
ROW_NUMBER = re.compile(r"\d rows?\b|\brows? \d")


def chosen_head(opened: LogFiles, rules: ReadingRules, sizes: LongLog) -> RawTable:
    """The first rows that fulfill all conditions; if the files begin with others, the first ones after these.

    If no row fulfills them, all were read, and the error lists values of all rows.
    """
    named = [*rules.columns.values(), *(each.column for each in rules.filters)]
    head = with_nested_columns(opened.head, named)
    chosen, _ = choose_rows(head, LOG, rules.filters, rules.columns)
    if chosen.arrow.num_rows or not rules.filters:
        return chosen
    seen = [SeenValues() for _ in rules.filters]
    totals = [0] * len(seen)
    for file in opened.files:
        for raw, _ in file.batches(sizes.batch_rows):
            rows, left = choose_rows(with_nested_columns(raw, named), LOG, rules.filters, rules.columns, seen)
            if rows.arrow.num_rows:
                found = slice_raw(rows, 0, sizes.head_rows)
                return replace(head, arrow=found.arrow, row_numbers=found.row_numbers)
            totals = [one + other for one, other in zip(totals, left, strict=True)]
    at = totals.index(0)
    if not seen[at].rows:
        return head  # there are no rows at all, which has its own message
    raise DataError([no_row_problem(head.source, rules.filters[at], seen[at], is_first=at == 0)])


def first_rows_remark(problems: Sequence[Problem], opened: LogFiles, name: str) -> str:
    """Where the first rows are wrong, no others were read, and counts in messages are of these rows."""
    places = (name, *(file.name for file in opened.files))
    of_log = [problem for problem in problems if problem.where.startswith(places)]
    if not of_log:
        return ""
    has_numbers = any(ROW_NUMBER.search(f"{problem.where} {problem.what}") for problem in of_log)
    return f"{STOPPED}{f'; {AMONG_THESE}' * has_numbers}. {CORRECT}"


def about_rows(finding: Finding, rows: int, total: int) -> Finding:
    """A finding that counts faults in the first ``rows`` of ``total`` rows, with a sentence that says so."""
    details = finding.details
    if rows >= total or not isinstance(details, Notice):
        return finding
    note = f"This is about the {rows:,} rows that were read first; later ones were not counted."
    return replace(finding, details=replace(details, message=f"{details.message} {note}"))

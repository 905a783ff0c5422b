"""A study whose log is too long for memory: the log is read in batches, experiment and replay as always."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from deconfound.data import Log, LogStream, Study, is_in
from deconfound.data.tables import describe_counts
from deconfound.errors import DataError, Problem, merge_problems
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names
from deconfound.loading.canonical import (
    CanonicalTable,
    ContextKeys,
    align_contexts,
    empty_output_finding,
    no_outcome,
)
from deconfound.loading.context_checks import ContextChecks
from deconfound.loading.first_rows import LOG, about_rows, chosen_head, first_rows_remark
from deconfound.loading.log_files import LogFiles, open_log
from deconfound.loading.log_parts import LogFilePart, LogReader, only_columns
from deconfound.loading.log_plan import LEFT_OUT, WORDS, LeftOutError, LogPlan, more_rows_note
from deconfound.loading.log_scan import COMMAS, ROW_FINDINGS, LogScan
from deconfound.loading.log_size import LongLog
from deconfound.loading.missing_codes import missing_code_finding
from deconfound.loading.model_names import absent_models, renamed_findings
from deconfound.loading.raw import RawTable
from deconfound.loading.read_tables import ReadTables, read_with_rules
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.row_filter import where_finding
from deconfound.loading.same_table import share_a_file
from deconfound.loading.sources import TableLike, table_names
from deconfound.loading.table_scope import scoped_to
from deconfound.progress import Progress, StreamMeter

STAGE = "reading the log"
RECOUNTED = ("rows left out", "empty outputs", "missing codes", "models", "contexts", COMMAS, WORDS, *ROW_FINDINGS)
"""Findings that count rows: those of the first rows are replaced by those of all."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamedLog:
    """The samples of a long log, all of it in parts, and the other tables with aligned contexts."""

    log: Log  # rows with an outcome, then those without
    stream: LogStream
    experiment: CanonicalTable
    replay: CanonicalTable

    def stream_for(self, study: Study) -> LogStream:
        """The stream with the columns of a study: where another table lacks text, none is used."""
        on_replayed = self.stream.on_replayed
        on_replayed = on_replayed.filter(
            is_in(on_replayed.arrow["context_id"], study.replay.unique_values("context_id"))
        )
        if study.has_text:
            return replace(self.stream, on_replayed=on_replayed)
        parts = tuple(
            replace(part, reader=replace(part.reader, drop_text=True)) if isinstance(part, LogFilePart) else part
            for part in self.stream.parts
        )
        return replace(self.stream, parts=parts, on_replayed=on_replayed.drop_text())


def stream_log(
    sources: Mapping[str, TableLike],
    rules: ReadingRules,
    problems: list[Problem],
    sizes: LongLog,
    progress: Progress,
) -> StreamedLog:
    """Read the log in batches, checking every row; everything wrong in it or in another table raises."""
    names = table_names(sources)
    opened = open_log(sources[LOG], names[LOG], scoped_to(rules.columns, LOG), sizes)
    head = chosen_head(opened, rules, sizes)
    read = read_with_rules({**sources, LOG: head}, rules, problems)
    if problems or len(read.tables) < len(sources):
        raise DataError(merge_problems(problems), first_rows_remark(problems, opened, names[LOG]))
    scan, left_out = _scan(opened, head, read, sizes, _shared_rows(sources, read), progress)
    problems += [*scan.problems, *_absent(scan, read)]
    if problems:
        raise DataError(merge_problems(problems))
    return _streamed(scan, read, sizes, left_out)


def _scan(
    opened: LogFiles,
    head: RawTable,
    read: ReadTables,
    sizes: LongLog,
    shared_rows: frozenset[str],
    progress: Progress,
) -> tuple[LogScan, list[tuple[Finding, int]]]:
    """The first pass; it begins again without an optional column that turns out to be faulty in some row.

    Findings on such columns come with the number of rows that had been read.
    """
    first = read.tables[LOG]
    others = [table for role, table in read.tables.items() if role != LOG]
    lacks = not (first.has("context_id") and first.has("context"))
    keys = ContextKeys.of(others, need_ids=not first.has("context_id")) if lacks else ContextKeys(None, None)
    reader = LogReader(LogPlan.of(read.rules, head), keys)
    used = frozenset(opened.head.arrow.column_names) - reader.plan.unread
    files = [only_columns(file, used) for file in opened.files]
    left_out: list[tuple[Finding, int]] = []
    while True:
        scan = LogScan(reader, sizes, ContextChecks(others, first.has("context_id"), shared_rows))
        try:
            scan.read(files, StreamMeter(progress, STAGE, opened.size))
        except LeftOutError as error:
            left_out += [(finding, scan.total) for finding in error.findings]
            no_text = "context" in error.columns
            reader = replace(
                reader,
                plan=reader.plan.without(error.columns),
                keys=replace(reader.keys, text_by_id=None) if no_text else reader.keys,
            )
        else:
            return scan, left_out


def _shared_rows(sources: Mapping[str, TableLike], read: ReadTables) -> frozenset[str]:
    """The rows of the experiment, by their places, where it is a table that the log is in, too."""
    if not share_a_file(sources[LOG], sources["experiment"]):
        return frozenset()
    table = read.tables["experiment"]
    return frozenset(table.row_numbers.label(row) for row in range(table.arrow.num_rows))


def _absent(scan: LogScan, read: ReadTables) -> list[Problem]:
    """What no row of any table has, and some row must have."""
    if scan.problems:
        return []
    source = read.tables[LOG].source
    if not scan.rated:
        return [no_outcome(source)]
    words = [word for word in read.absent_words if word not in scan.words]
    what = f"no outcome is {join_names(words)}, which --outcome-values names"
    problems = [Problem(source, what, "Correct the word, or leave it out.")] if words else []
    absent = [name for name in read.absent_models if name not in scan.models]
    present = {name for table in read.tables.values() for name in table.arrow["model"].unique().to_pylist()}
    return problems + absent_models(source, sorted(present | set(scan.models)), absent)


def _streamed(scan: LogScan, read: ReadTables, sizes: LongLog, left_out: Sequence[tuple[Finding, int]]) -> StreamedLog:
    rated, unrated, replayed = scan.log.rows(), scan.unrated_log.rows(), scan.on_replayed.rows()
    if rated is None:
        raise DataError([no_outcome(read.tables[LOG].source)])
    problems: list[Problem] = []
    others = [table for role, table in read.tables.items() if role != LOG]
    _, experiment, replay = align_contexts([scan.checks.key_rows(rated), *others], problems)
    if problems:
        raise DataError(merge_problems(problems))
    replayed = rated.filter(scan.checks.is_replayed(rated)) if replayed is None else replayed
    later = [about_rows(finding, rows, scan.total) for finding, rows in left_out]
    findings = (*log_findings(scan, read), *later, _sample_finding(scan, len(rated), len(replayed)))
    log = rated if unrated is None else _concatenated(rated, unrated)
    parts = tuple(LogFilePart(scan.reader, part, sizes.batch_rows) for part in scan.parts)
    stream = LogStream(parts, sum(scan.rated.values()), replayed, scan.counts)
    return StreamedLog(replace(log, findings=findings), stream, experiment, replay)


def _concatenated(rated: Log, unrated: Log) -> Log:
    """Both samples as one table; places in the files are those of the rated rows."""
    first, second = rated.row_numbers, unrated.row_numbers
    numbers = pa.concat_arrays([pa.array(first.numbers), pa.array(second.numbers)]).to_numpy()
    file = None
    if first.file is not None and second.file is not None:
        file = pa.concat_arrays([pa.array(first.file), pa.array(second.file)]).to_numpy()
    arrow = pa.concat_tables([rated.arrow, unrated.arrow.select(rated.arrow.column_names)])
    return replace(rated, arrow=arrow, row_numbers=replace(first, numbers=numbers, file=file))


def log_findings(scan: LogScan, read: ReadTables) -> list[Finding]:
    """Findings of the first rows that hold for all, and those that count rows."""
    first = read.tables[LOG]
    plan = scan.reader.plan
    chosen = scan.left[-1] if scan.left else scan.total
    findings = [
        about_rows(each, first.arrow.num_rows, chosen) if each.check == LEFT_OUT else each
        for each in first.findings
        if each.check not in RECOUNTED or _is_about_option(each)
    ]
    findings += [each for check in ROW_FINDINGS for each in _once(scan.findings.get(check, []))]
    findings += [*scan.findings.get(COMMAS, []), *_once(scan.findings.get(LEFT_OUT, []))]
    before = [scan.total, *scan.left]
    for condition, total, rows in zip(plan.more.rules.filters, before, scan.left, strict=False):
        if any(condition.text in each.details.message for each in first.findings if each.check == "rows left out"):  # type: ignore[attr-defined]
            findings.append(where_finding(first.source, condition, rows, total))
    evidence, _ = plan.more.read(LOG, replace(plan.evidence, is_part=True), [])
    findings += [] if evidence is None else [each for each in evidence.findings if each.check == WORDS]
    if scan.codes:
        findings.append(missing_code_finding(first.source, list(scan.codes.items())))
    if scan.empty:
        count, by_model = sum(scan.empty.values()), describe_counts(scan.empty)
        findings.append(empty_output_finding(first.source, count, by_model))
    findings += [each for each in first.findings if each.check == "contexts"]
    return findings + renamed_findings(first.source, plan.more.rules.rename_models, scan.models)


def _is_about_option(finding: Finding) -> bool:
    """Whether a note is about an option, and counts nothing."""
    return isinstance(finding.details, Notice) and finding.details.message.startswith("--where")


def _once(findings: list[Finding]) -> list[Finding]:
    """The first of the same findings of several batches."""
    return findings if len(findings) < 2 else [more_rows_note(findings[0])]


def _sample_finding(scan: LogScan, rows: int, replayed: int) -> Finding:
    total = sum(scan.rated.values())
    message = (
        f"{scan.reader.plan.evidence.source}: {total:,} rows are read in batches. Checks that look at rows use a "
        f"uniform sample of {rows:,} of them, and {replayed:,} rows on replayed contexts."
    )
    return Finding("log in batches", "pass", Notice(message))

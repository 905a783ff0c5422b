"""The first pass over a long log: every row is read and checked; counts and two samples remain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data.log_counts import LogCounts, count_models
from deconfound.errors import MAX_PRINTED_PROBLEMS, DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import quote
from deconfound.loading.canonical import empty_outputs
from deconfound.loading.context_checks import ContextChecks
from deconfound.loading.convert import is_string_type
from deconfound.loading.joined_files import own_names
from deconfound.loading.log_files import LogFile, until
from deconfound.loading.log_parts import LogReader
from deconfound.loading.log_plan import LEFT_OUT, MAX_WORDS, ReadBatch, new_outcomes
from deconfound.loading.log_size import LongLog
from deconfound.loading.raw import PartialColumn, RawTable, python_value
from deconfound.loading.read_tables import ADD_COLUMN, IN_EVERY_FILE
from deconfound.loading.row_sample import RowSample
from deconfound.loading.text_rows import TextRows
from deconfound.progress import StreamMeter

ROW_FINDINGS = ("blank rows", "merged rows")
COMMAS = "decimal commas"
ONE_SIGN = "Write all numbers of the file with a decimal point."


@dataclass(slots=True)
class LogScan:
    """What is known about the rows read so far."""

    reader: LogReader
    sizes: LongLog
    checks: ContextChecks
    rated: Counter[str] = field(default_factory=Counter)
    unrated: Counter[str] = field(default_factory=Counter)
    empty: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)  # under the names of the files
    codes: Counter[str] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)  # of --outcome-values that occur
    total: int = 0
    left: list[int] = field(default_factory=list)  # rows after each condition
    parts: list[LogFile] = field(default_factory=list)
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    outcomes: set[object] = field(default_factory=set)
    signs: dict[tuple[str, str], str] = field(default_factory=dict)
    log: RowSample = field(init=False)
    unrated_log: RowSample = field(init=False)
    on_replayed: RowSample = field(init=False)

    def __post_init__(self) -> None:
        rows, size = self.sizes.sample_rows, self.sizes.sample_bytes
        self.log, self.unrated_log, self.on_replayed = (RowSample(rows, size) for _ in range(3))
        self.left = [0] * len(self.reader.plan.more.rules.filters)

    @property
    def counts(self) -> LogCounts:
        """Rows by model."""
        return LogCounts(self.rated, self.unrated)

    def read(self, files: Sequence[LogFile], meter: StreamMeter) -> None:
        """Read all files; reading ends early where there are too many problems."""
        keys: dict[str, dict[str, None]] = {}
        read_to_end = []
        for file in files:
            try:
                self._read_file(file, keys.setdefault(file.name, {}), meter)
                read_to_end.append(file)
            except DataError as error:
                self.problems += error.problems
            if len(self.problems) >= MAX_PRINTED_PROBLEMS:
                return
        self.problems += self._missing_keys(read_to_end, keys)

    def _read_file(self, file: LogFile, keys: dict[str, None], meter: StreamMeter) -> None:
        """Read a file, and cut it into parts that can be read again."""
        part, left = file, file.rows.size
        for raw, after in file.batches(self.sizes.batch_rows):
            keys |= dict.fromkeys(raw.arrow.column_names)
            try:
                self.add(raw)
            except DataError as error:
                self.problems += error.problems
                if len(self.problems) >= MAX_PRINTED_PROBLEMS:
                    return
            size = int(raw.arrow.nbytes)
            meter.add(raw.arrow.num_rows, size, min(size, left))
            left -= min(size, left)
            if after is not None and part.rows.size - after.rows.size >= self.sizes.part_bytes and after.rows.size:
                self.parts.append(until(part, after))
                part = after
        self.parts.append(part)
        meter.add(0, 0, left)

    def add(self, raw: RawTable) -> None:
        """Read one batch."""
        self.total += raw.arrow.num_rows
        for finding in raw.findings:
            self.findings.setdefault(finding.check, []).append(finding)
        read = self.reader.read(raw)
        if read is None:
            return
        batch, log = read
        self.left = [one + other for one, other in zip(self.left, batch.left, strict=True)]
        self._note_outcomes(batch)
        self._note_signs(batch)
        self._note_left_out(batch)
        self.models += count_models(batch.table.arrow)
        self.empty += count_models(empty_outputs(log.arrow))
        self.problems += self.checks.add(log)
        missing = np.isnan(log.arrow["outcome"].to_numpy())
        rated = log.filter(~missing) if missing.any() else log
        self.rated += count_models(rated.arrow)
        self.log.add(rated)
        self.on_replayed.add(rated.filter(self.checks.is_replayed(rated)))
        if missing.any():
            unrated = log.filter(missing)
            self.unrated += count_models(unrated.arrow)
            self.unrated_log.add(unrated)

    def _note_outcomes(self, batch: ReadBatch) -> None:
        """Count what stands for a missing outcome, and make every new word evidence for later batches."""
        scale = self.reader.plan.more.rules.scale
        values = batch.raw.arrow[batch.mapping.columns["outcome"]]
        if scale.named and not pa.types.is_nested(values.type):
            for row in values.value_counts().to_pylist() if len(values) else []:
                word = scale.match(row["values"])
                if word is not None:
                    self.words.add(word)
                if word in scale.missing:
                    self.codes[word] += row["counts"]
        plan = self.reader.plan
        if not plan.has_words or len(self.outcomes) >= MAX_WORDS:
            return
        if not self.outcomes:
            column = plan.evidence.arrow[batch.mapping.columns["outcome"]]
            self.outcomes |= {python_value(cell) for cell in column.unique()}
        new = new_outcomes(batch, self.outcomes)
        if new:
            self.outcomes |= new.keys()
            plan = plan.with_evidence(batch.raw, batch.table, sorted(new.values()))
            self.reader = replace(self.reader, plan=plan)

    def _note_signs(self, batch: ReadBatch) -> None:
        """Refuse a file that has decimal points in some batches and decimal commas in others."""
        commas = {_message(found): found for found in batch.table.findings if found.check == COMMAS}
        numbers = batch.raw.row_numbers
        file = batch.raw.source if numbers.file is None else numbers.files[numbers.file[0]]
        for name, column in batch.mapping.columns.items():
            values = batch.raw.arrow[column]
            is_number = name == "outcome" or name.startswith(("label_", "feature_"))
            if not is_number or not is_string_type(values.type):
                continue
            found = [each for text, each in commas.items() if text.startswith(f"{file}: {column} has")]
            sign = "," if found else ("." if pc.any(pc.match_substring(values, ".")).as_py() else "")
            if found and (file, column) not in self.signs:
                self.findings.setdefault(COMMAS, []).extend(found)
            if sign and self.signs.setdefault((file, column), sign) != sign:
                what = f"{column} has decimal commas in some rows of the file, and decimal points in others"
                raise DataError([Problem(numbers.locate(batch.raw.source, 0), what, ONE_SIGN)])

    def _note_left_out(self, batch: ReadBatch) -> None:
        """Columns that only later rows have, and not all of them."""
        known = {_message(each) for each in self.findings.get(LEFT_OUT, [])}
        new = [each for each in batch.table.findings if each.check == LEFT_OUT and _message(each) not in known]
        if new and frozenset(batch.mapping.columns) - set(self.reader.plan.columns):
            self.findings.setdefault(LEFT_OUT, []).extend(new)

    def _missing_keys(self, files: Iterable[LogFile], keys: Mapping[str, Iterable[str]]) -> list[Problem]:
        """Files of JSON lines that lack a column altogether, which every file must have."""
        several = {file.name: file for file in files if file.names and isinstance(file.rows, TextRows)}
        problems = []
        for name, column in self.reader.plan.columns.items():
            lacking = [file for file in several if column not in keys[file]]
            having = next((file for file in keys if column in keys[file]), None)
            if name in IN_EVERY_FILE and lacking and having is not None and "." not in column:
                own = tuple(own_names(keys[file], several[file].renamed) for file in lacking)
                partial = PartialColumn(tuple(lacking), having, own)
                problems += partial.problems(f"there is no column {quote(column)}", ADD_COLUMN)
        return problems


def _message(finding: Finding) -> str:
    return finding.details.message if isinstance(finding.details, Notice) else ""

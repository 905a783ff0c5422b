"""Parts of a long log that can be read again: what to read, and how, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from deconfound.data import Log
from deconfound.errors import DataError, Problem
from deconfound.loading.canonical import ContextKeys
from deconfound.loading.log_files import LogFile
from deconfound.loading.log_plan import LeftOutError, LogPlan, ReadBatch
from deconfound.loading.model_names import rename_models
from deconfound.loading.parquet_rows import ParquetRows
from deconfound.loading.raw import RawTable


@dataclass(frozen=True, slots=True, eq=False)
class LogReader:
    """How a batch becomes a validated log: the plan, and the ids and texts that other tables give its contexts."""

    plan: LogPlan
    keys: ContextKeys
    drop_text: bool = False

    def read(self, raw: RawTable) -> tuple[ReadBatch, Log] | None:
        """The chosen rows, with and without an outcome; None if there are none. Faults raise."""
        batch = self.plan.read(raw)
        if batch is None:
            return None
        problems: list[Problem] = []
        table = rename_models({"log": batch.table}, self.plan.more.rules.rename_models, {}, problems)["log"]
        table = self.keys.align([table], problems)[0]
        if problems:
            raise DataError(problems)
        if self.keys.text_by_id is not None and not table.has("context"):
            raise LeftOutError(frozenset({"context"}), ())
        log = Log(table.arrow, table.source, table.unused_columns, (), table.row_numbers)
        return batch, (log.drop_text() if self.drop_text else log)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogFilePart:
    """Some rows of one file of a log, or of a table in memory."""

    reader: LogReader
    file: LogFile
    batch_rows: int

    def __repr__(self) -> str:
        return f"LogFilePart({self.name!r})"

    @property
    def name(self) -> str:
        """The file, and where in it the part begins."""
        return f"{self.file.name} from row {self.file.rows.rows + 1:,}"

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self.file.rows.size

    def batches(self) -> Iterator[Log]:
        """Rows with an outcome."""
        for raw, _ in self.file.batches(self.batch_rows):
            read = self.reader.read(raw)
            if read is None:
                continue
            missing = np.isnan(read[1].arrow["outcome"].to_numpy())
            log = read[1].filter(~missing) if missing.any() else read[1]
            if len(log):
                yield log


def only_columns(file: LogFile, used: frozenset[str]) -> LogFile:
    """A Parquet file of which only these columns are read; other files are read as they are."""
    if not isinstance(file.rows, ParquetRows):
        return file
    names = {old for old, new in (file.renamed or {}).items() if new in used}
    return replace(file, rows=replace(file.rows, columns=tuple(sorted(used | names))))

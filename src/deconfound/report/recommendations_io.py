"""Recommendations as text and as files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.atomic import write_bytes, write_text
from deconfound.data import Replay, text_ids
from deconfound.decide.recommendation import MANY, Recommendation
from deconfound.errors import UsageError
from deconfound.escaping import escape_formulas, escape_json, escape_name, escape_text
from deconfound.formatting import (
    format_percent,
    pluralize,
    quote,
    text_table,
    to_jsonable,
    wrap,
)
from deconfound.report.decision_text import SMALL_DIFFERENCES
from deconfound.report.json_text import dump_json
from deconfound.report.scale import UNIT, Scale

FORMATS = (".csv", ".json", ".jsonl", ".parquet")
MAX_PRINTED_ROWS = 40  # on a terminal; a file gets all
MAX_CONTEXT_CHARACTERS = 40  # of a context's text on a terminal


@dataclass(frozen=True, slots=True)
class RecommendationTable:
    """Recommendations with what a reader needs to recognize their contexts."""

    rows: Sequence[Recommendation]
    text_by_id: Mapping[str, str]  # of the contexts whose id is only a hash of their text
    level: float
    scale: Scale = UNIT  # of the terminal; files have numbers from 0 to 1
    has_cost: bool = False
    assumes_small_differences: bool = False  # between contexts, as in ``Policy``

    @classmethod
    def from_replay(
        cls,
        rows: Sequence[Recommendation],
        replay: Replay,
        level: float,
        scale: Scale = UNIT,
        *,
        has_cost: bool = False,
        assumes_small_differences: bool = False,
    ) -> Self:
        """Look up the texts of the contexts to which the user gave no id."""
        table = replay.arrow
        text_by_id: dict[str, str] = {}
        if "context" in table.column_names:
            unnamed = table.filter(pc.equal(table["context_id"], text_ids(table["context"])))
            ids, texts = (unnamed[name].to_pylist() for name in ("context_id", "context"))
            text_by_id = dict(zip(ids, texts, strict=True))
        return cls(rows, text_by_id, level, scale, has_cost, assumes_small_differences)

    def records(self) -> list[dict[str, Any]]:
        """What is recommended for each context; ``context`` is the text of a context without an id of its own."""
        records = []
        for row in self.rows:
            record = row.record()
            text = {"context": self.text_by_id.get(row.context_id)} if self.text_by_id else {}
            records.append({"context_id": record.pop("context_id"), **text, **record})
        return records

    def label(self, row: Recommendation) -> str:
        """The user's id of the context, or the beginning of its text in quotes."""
        text = self.text_by_id.get(row.context_id)
        if text is None:
            return escape_name(row.context_id)
        line = " ".join(text.split())
        cut = len(line) > MAX_CONTEXT_CHARACTERS
        return f'"{escape_text(line[:MAX_CONTEXT_CHARACTERS])}{"…" if cut else ""}"'


def recommendation_text(table: RecommendationTable, *, written: bool = False) -> str:
    """Counts, a table and the meaning of its columns, for a terminal; ``written`` says that a file has all rows."""
    rows = table.rows
    headings = ("", "context", "model", "value", "runner-up", "margin", "verdict")
    body = [
        (
            "",
            table.label(row),
            escape_name(row.model),
            table.scale.value(row.q),
            escape_name(row.runner_up),
            table.scale.improvement(row.margin),
            row.verdict,
        )
        for row in rows[:MAX_PRINTED_ROWS]
    ]
    unclear = sum(row.verdict == "cannot tell" for row in rows)
    where = ", in the file" if written else "; -o FILE writes all"
    rest = f"and {len(rows) - MAX_PRINTED_ROWS:,} more{where}\n" if len(rows) > MAX_PRINTED_ROWS else ""
    given = ", where the most likely one is given" if unclear else ""
    count = f"{pluralize(len(rows), 'context')}; the best model is not clear on {unclear:,} of them{given}.\n"
    return f"{count}\n{text_table([headings, *body], left=(1, 2, 4))}\n{rest}\n{wrap(_legend(table))}\n"


def _legend(table: RecommendationTable) -> str:
    scale, error = table.scale, format_percent(round(1 - table.level, 10))
    unit = f" {scale.description}" if scale.description else ""
    has_clear = any(row.verdict == "clear" for row in table.rows)
    before, net = (", before cost", ", net of cost") if table.has_cost else ("", "")
    return (
        f"value: predicted outcome of the model on this context{unit}{before}. margin: how far the model is ahead of "
        f"the runner-up, corrected by the experiment{net}. verdict: clear if the probability that another model is "
        f"better is at most {error}." + f" {SMALL_DIFFERENCES}" * (has_clear and table.assumes_small_differences)
    )


def numbers_meaning(scale: Scale) -> str:
    """What the numbers in files and JSON mean on the user's scale, as the end of a sentence."""
    return f"from 0, which is {scale.with_unit(f'{scale.low:g}')}, to 1, which is {scale.with_unit(f'{scale.high:g}')}"


def recommendation_json(table: RecommendationTable) -> str:
    """All recommendations as a JSON list."""
    return dump_json(table.records())


def write_recommendations(table: RecommendationTable, path: Path) -> None:
    """Write all recommendations in the format given by the file extension."""
    if path.suffix == ".parquet":
        write_bytes(path, _parquet(table.records()))
    elif path.suffix == ".csv":
        write_text(path, _csv(table.records()))
    elif path.suffix == ".jsonl":
        lines = (json.dumps(to_jsonable(one), ensure_ascii=False, allow_nan=False) for one in table.records())
        write_text(path, "".join(f"{escape_json(line)}\n" for line in lines))
    else:
        write_text(path, recommendation_json(table))


def require_supported_format(path: Path) -> None:
    """Refuse a file whose extension names no format, before any work is done."""
    if path.suffix not in FORMATS:
        raise UsageError(f"-o takes a file ending in {', '.join(FORMATS)}, not {quote(path.name)}.")


def _parquet(records: Sequence[dict[str, Any]]) -> bytes:
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(records), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _csv(records: Sequence[dict[str, Any]]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(
        records[0] if records else [field.name for field in fields(Recommendation) if field.name not in MANY]
    )
    for record in records:
        writer.writerow([escape_formulas(cell) if isinstance(cell, str) else cell for cell in record.values()])
    return buffer.getvalue()

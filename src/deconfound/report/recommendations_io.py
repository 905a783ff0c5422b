"""Recommendations as text and as files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from deconfound.decide.recommendation import Recommendation
from deconfound.errors import UsageError
from deconfound.formatting import escape_control_characters, text_table, to_jsonable
from deconfound.report.document import dump_json

FORMATS = (".csv", ".json", ".jsonl", ".parquet")
MAX_PRINTED_ROWS = 40  # on a terminal; a file gets all
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs cells that start with these


def recommendation_text(rows: Sequence[Recommendation], as_json: bool) -> str:
    """Recommendations for stdout."""
    if as_json:
        return dump_json([asdict(row) for row in rows])
    headings = ("", "context", "model", "q", "margin", "runner-up", "verdict")
    body = [
        (
            "",
            escape_control_characters(row.context_id),
            escape_control_characters(row.model),
            f"{row.q:.3f}",
            f"{row.margin:+.3f}",
            escape_control_characters(row.runner_up),
            row.verdict,
        )
        for row in rows[:MAX_PRINTED_ROWS]
    ]
    unclear = sum(row.verdict == "cannot tell" for row in rows)
    rest = f"and {len(rows) - MAX_PRINTED_ROWS:,} more; -o FILE writes all\n" if len(rows) > MAX_PRINTED_ROWS else ""
    count = f"{len(rows):,} contexts; the best model is not clear on {unclear:,} of them.\n"
    return f"{count}\n{text_table([headings, *body], left=(1,))}\n{rest}"


def write_recommendations(rows: Sequence[Recommendation], path: Path) -> None:
    """Write all recommendations in the format given by the file extension."""
    if path.suffix not in FORMATS:
        raise UsageError(f"-o takes a file ending in {', '.join(FORMATS)}, not {path.name!r}.")
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows]), path)
    elif path.suffix == ".csv":
        path.write_text(_csv(rows), encoding="utf-8", newline="")
    elif path.suffix == ".jsonl":
        path.write_text(
            "".join(json.dumps(to_jsonable(asdict(row)), ensure_ascii=False, allow_nan=False) + "\n" for row in rows),
            encoding="utf-8",
        )
    else:
        path.write_text(recommendation_text(rows, as_json=True), encoding="utf-8")


def _csv(rows: Sequence[Recommendation]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([field.name for field in fields(Recommendation)])
    for row in rows:
        writer.writerow([_escape_formula(value) for value in asdict(row).values()])
    return buffer.getvalue()


def _escape_formula(value: object) -> object:
    """Put an apostrophe before text that a spreadsheet would run as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_PREFIXES) else value

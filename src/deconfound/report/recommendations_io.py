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
from deconfound.formatting import escape_control_characters
from deconfound.report.text import aligned

FORMATS = (".csv", ".json", ".jsonl", ".parquet")
SHOWN = 40  # contexts listed on a terminal; a file takes all
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run if a cell began with it


def recommendation_text(rows: Sequence[Recommendation], as_json: bool) -> str:
    """Recommendations for stdout."""
    if as_json:
        return json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False) + "\n"
    heads = ("", "context", "model", "q", "lead", "over", "verdict")
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
        for row in rows[:SHOWN]
    ]
    unclear = sum(row.verdict == "cannot tell" for row in rows)
    rest = f"and {len(rows) - SHOWN:,} more; -o FILE takes all\n" if len(rows) > SHOWN else ""
    count = f"{len(rows):,} contexts; for {unclear:,} the data cannot tell the best model from the runner-up.\n"
    return f"{count}\n{aligned([heads, *body])}\n{rest}"


def write_recommendations(rows: Sequence[Recommendation], path: Path) -> None:
    """Write all recommendations in the format that the file's ending names."""
    if path.suffix not in FORMATS:
        raise UsageError(f"-o takes a file ending in {', '.join(FORMATS)}, not {path.name!r}.")
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows]), path)
    elif path.suffix == ".csv":
        path.write_text(_csv(rows), encoding="utf-8", newline="")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    else:
        path.write_text(recommendation_text(rows, as_json=True), encoding="utf-8")


def _csv(rows: Sequence[Recommendation]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([field.name for field in fields(Recommendation)])
    for row in rows:
        writer.writerow([_harmless(value) for value in asdict(row).values()])
    return buffer.getvalue()


def _harmless(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value

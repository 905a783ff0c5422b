"""Runs of LangSmith, feedback and exposure tables in a few lines, for conversions."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

MODELS = ("aspen", "cedar")


def make_runs(count: int = 8, note: str = "") -> list[dict[str, Any]]:
    """Calls with the ids ``run-0``, ...; every second one has metadata.exp=yes, each has a user of its own."""
    return [_run(number, MODELS[number % 2], note) for number in range(count)]


def _run(number: int, model: str, note: str) -> dict[str, Any]:
    return {
        "id": f"run-{number}",
        "run_type": "llm",
        "trace_id": f"trace-{number}",
        "start_time": f"2026-05-01T10:{number % 60:02d}:00Z",
        "inputs": {"messages": [{"role": "user", "content": f"question {number}?{note}"}]},
        "outputs": {
            "choices": [{"message": {"role": "assistant", "content": f"answer {number} by {model}"}}],
            "model": model,
        },
        "extra": {
            "metadata": {"ls_model_name": model, "user_id": f"u{number}", "exp": "yes" if number % 2 else "no"},
        },
    }


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    """A table with the columns of the first row."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path

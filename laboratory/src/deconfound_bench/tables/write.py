"""Write the tables of a benchmark as files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from deconfound.errors import UsageError
from deconfound_bench.results import Score
from deconfound_bench.tables import layout
from deconfound_bench.tables.budgets import by_budget
from deconfound_bench.tables.overall import overall
from deconfound_bench.tables.paired import Axis, varying
from deconfound_bench.tables.table import Table, to_csv, to_markdown, to_text
from deconfound_bench.tables.values import BOTH, ORDER, direct_against_dr, dr_curve, ranking
from deconfound_bench.tables.winners import winner_map


def write_tables(scores: Sequence[Score], directory: Path) -> tuple[Path, ...]:
    """Write each table as .txt and .md to read and as .csv to compute with.

    A table of metrics that the benchmark does not have, all NaN, and one along an axis with a single level are not
    written.
    """
    written: list[Path] = []
    for name, read, compute in _tables(scores):
        texts = {".txt": to_text(read), ".md": to_markdown(read), ".csv": to_csv(compute)}
        written += [write_file(directory, name + ending, text.encode()) for ending, text in texts.items()]
    return tuple(written)


def write_file(directory: Path, name: str, data: bytes) -> Path:
    """Write one file, making its folder."""
    path = directory / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}). Name another folder.") from error
    return path


def moving_axes(scores: Sequence[Score]) -> tuple[Axis, ...]:
    """Axes along which there is something to see."""
    return varying([one.cell for one in scores])


def known(scores: Sequence[Score], metrics: Sequence[str]) -> bool:
    """Whether the benchmark has these metrics at all."""
    return any(all(math.isfinite(getattr(one, metric)) for metric in metrics) for one in scores)


def _tables(scores: Sequence[Score]) -> list[tuple[str, Table, Table]]:
    """Name, table to read and table to compute with."""
    tables: list[tuple[str, Table, Table]] = []
    winners = winner_map(scores)
    tables.append(("winners", layout.winner_grid(winners), layout.winner_rows(winners)))
    tables.append(_same("overall", layout.overall_table(overall(scores))))
    for axis in moving_axes(scores):
        curve = by_budget(scores, axis)
        tables.append((f"regret-by-{axis}", layout.curve_grid(curve), layout.curve_rows(curve)))
    if known(scores, BOTH):
        tables.append(_same("values", layout.values_table(direct_against_dr(scores))))
        if "n_experiment" in moving_axes(scores):
            tables.append(_same("values-by-n_experiment", layout.dr_curve_table(dr_curve(scores))))
    if known(scores, ORDER):
        tables.append(_same("ranking", layout.ranking_table(ranking(scores))))
    return tables


def _same(name: str, table: Table) -> tuple[str, Table, Table]:
    return name, table, table

"""Winner maps of the paper and ours in one table, and small pieces that every section lays out alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from deconfound_bench.reproduction.paper import SYNTHETIC_CONFOUNDINGS, Reported
from deconfound_bench.tables import Table, Win, WinnerMap

Winners: TypeAlias = Mapping[tuple[int, int], Sequence[Reported]]
NO_FITS = "No alignment.parquet of this grid was given, so the R² are not compared."
UNKNOWN = "the paper gives no errors of its gaps"


def winners_table(ours: WinnerMap, told: Winners) -> Table:
    """Budgets down, confounding across; the paper's winner above ours."""
    found = {(win.cell.n_log, win.cell.n_experiment, win.cell.confounding): win for win in ours.wins}
    rows = []
    for (log, experiment), reported in told.items():
        mine = [found.get((log, experiment, confounding)) for confounding in SYNTHETIC_CONFOUNDINGS]
        rows += pair_of_rows(f"{log:,} log, {experiment} experiment", reported, mine)
    columns = ("budget", "", *(f"confounding {confounding:g}" for confounding in SYNTHETIC_CONFOUNDINGS))
    note = f"Family with the lowest mean regret and its gap to the runner-up; {UNKNOWN}."
    return Table("Winner of each cell", columns, tuple(rows), note)


def pair_of_rows(name: str, told: Sequence[Reported], mine: Sequence[Win | None]) -> list[tuple[str, ...]]:
    """Winners and gaps, the paper's and ours."""
    return [
        (name, "paper", *(f"{win.family} {win.gap:.4f}" for win in told)),
        ("", "here", *(f"{win.winner} {win.gap.shown()}" if win else "" for win in mine)),
    ]


def agreement(ours: WinnerMap, told: Winners, about_gaps: str) -> str:
    """In how many cells the same family wins, and how many of our gaps are more than luck."""
    same = clear = 0
    for win in ours.wins:
        reported = told[win.cell.n_log, win.cell.n_experiment]
        same += reported[SYNTHETIC_CONFOUNDINGS.index(win.cell.confounding)].family == win.winner
        clear += win.gap.clear
    return (
        f"The same family wins in {same} of {len(ours.wins)} cells. Here {clear} gaps exceed two of their errors; "
        f"{about_gaps}"
    )


def signed(value: float) -> str:
    """A difference as the paper prints it."""
    return f"{value:+.4f}"


def joined(parts: Sequence[str]) -> str:
    """Paragraphs and tables of a section, empty ones left out."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"

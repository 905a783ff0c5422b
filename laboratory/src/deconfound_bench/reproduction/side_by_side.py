"""Tables that show the paper's winners above ours, and small pieces that all sections share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from deconfound_bench.reproduction.paper import CONFOUNDINGS, ReportedWin
from deconfound_bench.score_tables import Table, Win, WinnerMap

ReportedWinners: TypeAlias = Mapping[tuple[int, int], Sequence[ReportedWin]]
NO_TARGET_FITS = "No alignment.parquet of this grid was given, so R² values are not compared."
WINNERS_NOTE = (
    "Family with the lowest mean regret and its gap to the runner-up; the paper gives no standard errors of its gaps."
)


def winners_table(ours: WinnerMap, reported: ReportedWinners) -> Table:
    """Budgets in rows, confounding in columns; the paper's winner above ours."""
    by_cell = {(win.cell.n_log, win.cell.n_experiment, win.cell.confounding): win for win in ours.wins}
    rows = []
    for (log, experiment), paper_wins in reported.items():
        our_wins = [by_cell.get((log, experiment, confounding)) for confounding in CONFOUNDINGS]
        rows += paired_rows(f"{log:,} log, {experiment} experiment", paper_wins, our_wins)
    columns = ("budget", "", *(f"confounding {confounding:g}" for confounding in CONFOUNDINGS))
    return Table("Winner of each cell", columns, tuple(rows), WINNERS_NOTE)


def paired_rows(name: str, paper_wins: Sequence[ReportedWin], our_wins: Sequence[Win | None]) -> list[tuple[str, ...]]:
    """Winners and gaps, the paper's row above ours."""
    return [
        (name, "paper", *(f"{win.family} {win.gap:.4f}" for win in paper_wins)),
        ("", "here", *(f"{win.winner} {win.gap.format()}" if win else "" for win in our_wins)),
    ]


def winner_agreement(ours: WinnerMap, reported: ReportedWinners, paper_gaps: str) -> str:
    """In how many cells the same family wins, and how many of our gaps exceed two standard errors."""
    same = clear = 0
    for win in ours.wins:
        paper_wins = reported[win.cell.n_log, win.cell.n_experiment]
        same += paper_wins[CONFOUNDINGS.index(win.cell.confounding)].family == win.winner
        clear += win.gap.exceeds_two_se
    return (
        f"The same family wins in {same} of {len(ours.wins)} cells. Here {clear} gaps exceed two standard errors; "
        f"{paper_gaps}"
    )


def format_signed(value: float) -> str:
    """A difference in the paper's format."""
    return f"{value:+.4f}"


def join_parts(parts: Sequence[str]) -> str:
    """The paragraphs and tables of a section, without empty ones."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"

"""Small grids of the three kinds for the cached benchmarks, and how close their numbers must come."""

from __future__ import annotations

from pathlib import Path

from laboratory.tests.support.grids import make_rows, write_grid, write_rows

CLOSE = {"rtol": 0.0, "atol": 1e-12}


def write_kinds(where: Path) -> None:
    """A grid of each kind; in that of summaries, models copy one another and one context another."""
    asked, given = make_rows(12, 6)
    models = sorted({row["model"] for row in given})
    by = {(row["context_id"], row["model"]): row for row in given}
    ids = [row["context_id"] for row in asked]
    for to, source in (((0, 1), (0, 0)), ((0, 4), (0, 0)), ((5, 2), (5, 3)), ((7, 0), (0, 0))):
        by[ids[to[0]], models[to[1]]]["output"] = by[ids[source[0]], models[source[1]]]["output"]
    write_rows(where / "summaries", asked, given)
    write_grid(where / "patches", 10, 4, kind="coding")
    write_grid(where / "answers", 10, 4, kind="instructions")

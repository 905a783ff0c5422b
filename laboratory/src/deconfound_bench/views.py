"""Parts of a benchmark that are shown apart, because averages over all of its cells would mix unlike things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deconfound_bench.pictures import write_all
from deconfound_bench.results import Cell, Score


@dataclass(frozen=True, slots=True)
class View:
    """A named part of the cells, and of the families where not all belong in it."""

    name: str
    cells: tuple[Cell, ...]
    families: tuple[str, ...] | None = None

    def of(self, scores: Sequence[Score]) -> tuple[Score, ...]:
        """The scores that belong in it."""
        wanted = set(self.cells)
        return tuple(
            one for one in scores if one.cell in wanted and (self.families is None or one.family in self.families)
        )


def write_views(scores: Sequence[Score], views: Sequence[View], directory: Path) -> tuple[Path, ...]:
    """Tables and pictures of every view that has scores, each in a folder of its own if there are several."""
    written: list[Path] = []
    for view in views:
        shown = view.of(scores)
        if shown:
            written += write_all(shown, directory if len(views) == 1 else directory / view.name)
    return tuple(written)

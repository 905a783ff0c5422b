"""Pick cells of a benchmark by their settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from deconfound.errors import UsageError
from deconfound_bench.results import Cell

NAMES = tuple(field.name for field in fields(Cell))


def select(cells: Sequence[Cell], text: str) -> tuple[Cell, ...]:
    """Keep the cells that meet every condition of a text like ``confounding=0.9,n_experiment=20|100``.

    Alternatives stand between bars, or in conditions of the same name.
    """
    wanted: dict[str, list[str]] = {}
    for condition in text.split(","):
        name, equals, values = (part.strip() for part in condition.partition("="))
        if name not in NAMES or not equals:
            example = "confounding=0.9,n_experiment=20|100"
            known = f"The names are {', '.join(NAMES)}"
            raise UsageError(f'--cells takes conditions like {example}, not "{condition.strip()}". {known}.')
        wanted.setdefault(name, []).extend(value.strip() for value in values.split("|"))
    for name, allowed in wanted.items():
        _must_exist(cells, name, allowed)
    chosen = tuple(cell for cell in cells if all(_meets(cell, name, wanted[name]) for name in wanted))
    if not chosen:
        listed = "\n".join(f"  {describe(cell)}" for cell in cells)
        raise UsageError(f"--cells {text}: no cell meets all conditions at once. The cells are\n{listed}")
    return chosen


def describe(cell: Cell) -> str:
    """A cell in the words of ``select``."""
    return ",".join(f"{name}={getattr(cell, name)}" for name in NAMES)


def _must_exist(cells: Sequence[Cell], name: str, values: Sequence[str]) -> None:
    for value in values:
        if not any(_meets(cell, name, [value]) for cell in cells):
            there = ", ".join(str(one) for one in sorted({getattr(cell, name) for cell in cells}))
            raise UsageError(f'--cells: no cell has {name}="{value}". There are cells with {name} {there}.')


def _meets(cell: Cell, name: str, values: Sequence[str]) -> bool:
    setting = getattr(cell, name)
    return setting in (values if isinstance(setting, str) else [_number(value) for value in values])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

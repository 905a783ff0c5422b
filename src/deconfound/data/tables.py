"""The three tables of a study, each with its canonical columns and its way to point at a row.

All have ``context_id`` and ``model``, with text also ``context`` and ``output``; ``feature_*`` in all three or in none.

    log          outcome, label_* (optional), cluster (optional), time (optional)
    experiment   outcome, propensity (optional), cluster (optional), time (optional)
    replay       draw

``time`` orders the rows of one table: seconds since 1970 where it was a calendar time, else the user's own number.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deconfound.errors import DataError, Problem
from deconfound.findings import Finding
from deconfound.formatting import quote

TEXT_COLUMNS = ("context", "output")

Mask = NDArray[np.bool_]


def text_ids(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Name contexts by their text: BLAKE2b of its UTF-8 bytes, 8 bytes long, as 16 hexadecimal digits."""
    return pa.chunked_array([_chunk_ids(chunk) for chunk in texts.chunks], type=pa.string())


def _chunk_ids(chunk: pa.Array) -> pa.Array:
    encoded = chunk.dictionary_encode()
    ids = [_text_id(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(ids, pa.string()).take(encoded.indices)


def _text_id(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def describe_context(table: pa.Table, row: int) -> str:
    """Name a context in a message as its owner knows it: by its id, or by its text where the id was made from it."""
    name = table["context_id"][row].as_py()
    if "context" in table.column_names:
        text = table["context"][row].as_py()
        return quote(text if name == _text_id(text) else name)
    return quote(name)


def is_in(values: pa.ChunkedArray, names: Collection[str]) -> Mask:
    """Mark the rows whose value is one of the names."""
    mask: Mask = pc.is_in(values, value_set=pa.array(list(names), pa.string())).to_numpy()
    return mask


@dataclass(frozen=True, slots=True, eq=False)
class RowNumbers:
    """Where each row stood in the user's file: ``numbers[i]``, or ``i + 1`` where nothing was left out."""

    unit: Literal["row", "line"] = "row"
    numbers: NDArray[np.int64] | None = None

    def number(self, row: int) -> int:
        """Give the number by which the user finds a row."""
        return row + 1 if self.numbers is None else int(self.numbers[row])

    def keep(self, mask: Mask) -> RowNumbers:
        """Stay true after rows are dropped."""
        numbers = np.arange(1, len(mask) + 1) if self.numbers is None else self.numbers
        return RowNumbers(self.unit, numbers[mask])


@dataclass(frozen=True, eq=False)
class Table:
    """What the three tables share: rows, the columns left unused, and what was noticed while reading them."""

    table: pa.Table
    source: str
    ignored: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    places: RowNumbers = field(default_factory=RowNumbers)

    role: ClassVar[str]
    required: ClassVar[dict[str, str]]
    optional: ClassVar[dict[str, str]]
    prefixes: ClassVar[tuple[str, ...]] = ("feature_",)

    def __post_init__(self) -> None:
        problems = [*self._missing(), *self._mistyped()]
        if problems:
            raise DataError(problems)

    def _missing(self) -> list[Problem]:
        absent = [name for name in self.required if name not in self.table.column_names]
        return [Problem(self.source, f"there is no column {quote(name)}", "Add it.") for name in absent]

    def _mistyped(self) -> list[Problem]:
        known = {**self.required, **self.optional}
        problems = []
        for name, kind in zip(self.table.column_names, map(str, self.table.schema.types), strict=True):
            expected = "double" if name.startswith(self.prefixes) else known.get(name)
            if expected is None:
                problems.append(Problem(self.source, f"{quote(name)} is no column of the {self.role}", "Drop it."))
            elif kind != expected:
                problems.append(Problem(self.source, f"column {quote(name)} is {kind}", f"Cast it to {expected}."))
        return problems

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def where(self, row: int) -> str:
        """Point at a row the way the user counts it."""
        return f"{self.source} {self.places.unit} {self.places.number(row)}"

    def keep(self, mask: Mask) -> Self:
        """Hold only the rows of the mask, still knowing where they stood."""
        return replace(self, table=self.table.filter(pa.array(mask)), places=self.places.keep(mask))

    def without_text(self) -> Self:
        """Hold everything but what was written."""
        held = [name for name in TEXT_COLUMNS if name in self.table.column_names]
        return replace(self, table=self.table.drop_columns(held)) if held else self

    @property
    def has_text(self) -> bool:
        """Whether contexts and outputs are given as text, not only as features."""
        return all(name in self.table.column_names for name in TEXT_COLUMNS)

    def columns_like(self, prefix: str) -> tuple[str, ...]:
        """List the columns of one kind, sorted."""
        return tuple(sorted(name for name in self.table.column_names if name.startswith(prefix)))

    def distinct(self, column: str) -> set[str]:
        """Collect the values a text column takes."""
        return set(self.table[column].unique().to_pylist())


_KEYS = {"context_id": "string", "model": "string"}
_TEXTS = dict.fromkeys(TEXT_COLUMNS, "string")


@dataclass(frozen=True, eq=False)
class Log(Table):
    """Ordinary use: the model was chosen by a person or a router, so outcomes are confounded with the choice."""

    role: ClassVar[str] = "log"
    required: ClassVar[dict[str, str]] = {**_KEYS, "outcome": "double"}
    optional: ClassVar[dict[str, str]] = {**_TEXTS, "cluster": "string", "time": "double"}
    prefixes: ClassVar[tuple[str, ...]] = ("feature_", "label_")


@dataclass(frozen=True, eq=False)
class Experiment(Table):
    """Rows whose model was drawn at random; ``propensity`` is the probability of the model that was drawn."""

    role: ClassVar[str] = "experiment"
    required: ClassVar[dict[str, str]] = {**_KEYS, "outcome": "double"}
    optional: ClassVar[dict[str, str]] = {**_TEXTS, "propensity": "double", "cluster": "string", "time": "double"}


@dataclass(frozen=True, eq=False)
class Replay(Table):
    """Each candidate's output on each context, one row a draw, without outcomes."""

    role: ClassVar[str] = "replay"
    required: ClassVar[dict[str, str]] = {**_KEYS, "draw": "int64"}
    optional: ClassVar[dict[str, str]] = _TEXTS

    def only(self, models: Collection[str]) -> Replay:
        """Leave out the rows of all other models."""
        mask = is_in(self.table["model"], models)
        return self if mask.all() else self.keep(mask)

    def complete_contexts(self, models: Collection[str]) -> list[str]:
        """List the contexts on which every one of these models was replayed."""
        pairs = self.only(models).table.select(["context_id", "model"]).group_by(["context_id", "model"]).aggregate([])
        counts = pairs.group_by("context_id").aggregate([("model", "count")])
        complete: list[str] = counts.filter(pc.equal(counts["model_count"], len(models)))["context_id"].to_pylist()
        return complete

    def models_on(self, context_id: str) -> set[str]:
        """Collect the models that were replayed on one context."""
        return set(self.table.filter(pc.equal(self.table["context_id"], context_id))["model"].unique().to_pylist())

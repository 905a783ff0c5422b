"""The three tables of a study in canonical columns, with the row numbers of the user's files.

All have ``context_id`` and ``model``, with text also ``context`` and ``output``; ``feature_*`` in all three or in none.

    log          outcome, label_* (optional), cluster (optional), time (optional)
    experiment   outcome, propensity and propensity_* (optional), cluster (optional), time (optional),
                 unit, segment_* and assigned_model (optional)
    replay       draw

``time`` orders the rows of one table: seconds since 1970 for calendar times, otherwise the user's own number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deconfound.data.encode import encode_by_appearance
from deconfound.data.row_order import SEGMENT_PREFIX, content_order, take_rows
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding
from deconfound.formatting import join_noted_names, pluralize, quote

TEXT_COLUMNS = ("context", "output")
PROPENSITY_PREFIX = "propensity_"  # and a model's name

Mask = NDArray[np.bool_]


def text_ids(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Derive context ids from texts: BLAKE2b of the UTF-8 bytes, 8 bytes long, as 16 hexadecimal digits."""
    distinct, codes = encode_by_appearance(texts)
    ids = pa.array([_text_id(text) for text in distinct.to_pylist()], pa.string())
    return pa.chunked_array([ids.take(pa.array(codes))], type=pa.string())


def _text_id(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def describe_context(table: pa.Table, row: int) -> str:
    """Quote a context as the user knows it: by its id, or by its text where the id is a hash of the text."""
    name = table["context_id"][row].as_py()
    if "context" in table.column_names:
        text = table["context"][row].as_py()
        return quote(text if name == _text_id(text) else name)
    return quote(name)


def count_by_model(table: pa.Table) -> str:
    """The number of rows of each model, in words: "ant: 3, bee: 1"."""
    return describe_counts({row["values"]: row["counts"] for row in table["model"].value_counts().to_pylist()})


def describe_counts(counts: Mapping[str, int]) -> str:
    """Numbers of rows by model, in words."""
    return join_noted_names((name, f": {counts[name]:,}") for name in sorted(counts))


def is_in(values: pa.ChunkedArray, names: Collection[str]) -> Mask:
    """Mark the rows whose value is one of the names."""
    mask: Mask = pc.is_in(values, value_set=pa.array(list(names), pa.string())).to_numpy()
    return mask


@dataclass(frozen=True, slots=True, eq=False)
class RowNumbers:
    """The number of each row in the user's file: ``numbers[i]``, or ``i + 1`` if no row was left out.

    In a table of several files, row ``i`` is from ``files[file[i]]`` and has the number that it has there.
    """

    unit: Literal["row", "line"] = "row"
    numbers: NDArray[np.int64] | None = None
    files: tuple[str, ...] = ()
    file: NDArray[np.int64] | None = None

    def number(self, row: int) -> int:
        """The user's number of a row."""
        return row + 1 if self.numbers is None else int(self.numbers[row])

    def label(self, row: int) -> str:
        """The user's number of a row, after the name of its file if there are several."""
        return str(self.number(row)) if self.file is None else f"{self.files[self.file[row]]} {self.number(row)}"

    def locate(self, source: str, row: int) -> str:
        """Name the place of a row in a message, such as "log.csv row 12"."""
        name = source if self.file is None else self.files[self.file[row]]
        return f"{name} {self.unit} {self.number(row)}"

    def filter(self, mask: Mask) -> RowNumbers:
        """The numbers of the rows that remain."""
        return self.take(np.flatnonzero(mask))

    def take(self, order: NDArray[np.int64]) -> RowNumbers:
        """The numbers of the rows in another order."""
        numbers = order + 1 if self.numbers is None else self.numbers[order]
        return replace(self, numbers=numbers, file=None if self.file is None else self.file[order])


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """What the three tables have in common: rows, unused columns, and findings from reading them."""

    arrow: pa.Table
    source: str
    unused_columns: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    row_numbers: RowNumbers = field(default_factory=RowNumbers)

    role: ClassVar[str]
    required: ClassVar[dict[str, str]]
    optional: ClassVar[dict[str, str]]
    prefixes: ClassVar[tuple[str, ...]] = ("feature_",)
    text_prefixes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        problems = [*self._missing_columns(), *self._invalid_columns()]
        if problems:
            raise DataError(problems)

    def _missing_columns(self) -> list[Problem]:
        absent = [name for name in self.required if name not in self.arrow.column_names]
        return [Problem(self.source, f"there is no column {quote(name)}", "Add it.") for name in absent]

    def _invalid_columns(self) -> list[Problem]:
        types = {**self.required, **self.optional}
        problems = []
        for name, kind in zip(self.arrow.column_names, map(str, self.arrow.schema.types), strict=True):
            by_prefix = "string" if name.startswith(self.text_prefixes) else "double"
            expected = by_prefix if name.startswith((*self.prefixes, *self.text_prefixes)) else types.get(name)
            if expected is None:
                what = f"column {quote(name)} does not belong to the {self.role}"
                problems.append(Problem(self.source, what, "Drop it."))
            elif kind != expected:
                what = f"column {quote(name)} has type {kind}"
                problems.append(Problem(self.source, what, f"Cast it to {expected}."))
        return problems

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __repr__(self) -> str:
        """Source and size; contents are a user's, and many."""
        size = f"{pluralize(len(self), 'row')}, {pluralize(self.arrow.num_columns, 'column')}"
        return f"{type(self).__name__}({self.source!r}, {size})"

    @property
    def has_text(self) -> bool:
        """Whether contexts and outputs are available as text."""
        return all(name in self.arrow.column_names for name in TEXT_COLUMNS)

    def locate(self, row: int) -> str:
        """Name the place of a row in a message, by its number in the user's file."""
        return self.row_numbers.locate(self.source, row)

    def filter(self, mask: Mask) -> Self:
        """Only the rows of the mask, with their original numbers."""
        return replace(self, arrow=self.arrow.filter(pa.array(mask)), row_numbers=self.row_numbers.filter(mask))

    def in_content_order(self) -> Self:
        """The same rows with their original numbers, in an order that does not depend on the file's."""
        order = content_order(self.arrow)
        return replace(self, arrow=take_rows(self.arrow, order), row_numbers=self.row_numbers.take(order))

    def drop_text(self) -> Self:
        """The same table without its text columns."""
        present = [name for name in TEXT_COLUMNS if name in self.arrow.column_names]
        return replace(self, arrow=self.arrow.drop_columns(present)) if present else self

    def columns_with_prefix(self, prefix: str) -> tuple[str, ...]:
        """Names of the columns that start with a prefix, sorted."""
        return tuple(sorted(name for name in self.arrow.column_names if name.startswith(prefix)))

    def unique_values(self, column: str) -> set[str]:
        """The distinct values of a text column."""
        return set(self.arrow[column].unique().to_pylist())


_KEYS = {"context_id": "string", "model": "string"}
_TEXTS = dict.fromkeys(TEXT_COLUMNS, "string")


@dataclass(frozen=True, eq=False, repr=False)
class Log(Table):
    """Ordinary use: a person or a router chose the model, so outcomes are confounded with that choice."""

    role: ClassVar[str] = "log"
    required: ClassVar[dict[str, str]] = {**_KEYS, "outcome": "double"}
    optional: ClassVar[dict[str, str]] = {**_TEXTS, "cluster": "string", "time": "double"}
    prefixes: ClassVar[tuple[str, ...]] = ("feature_", "label_")


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Table):
    """Rows whose model was assigned at random.

    ``propensity`` is the probability of the assigned model, ``propensity_*`` that of each model that could be assigned.
    Rows of one ``unit`` were drawn together. Values may be reported, and models chosen, by ``segment_*``.
    ``assigned_model`` is what the declared assignment draws for the row's unit, whatever model answered; it is empty
    where the unit takes no part in the experiment.
    """

    role: ClassVar[str] = "experiment"
    required: ClassVar[dict[str, str]] = {**_KEYS, "outcome": "double"}
    optional: ClassVar[dict[str, str]] = {
        **_TEXTS,
        "propensity": "double",
        "cluster": "string",
        "time": "double",
        "unit": "string",
        "assigned_model": "string",
    }
    prefixes: ClassVar[tuple[str, ...]] = ("feature_", PROPENSITY_PREFIX)
    text_prefixes: ClassVar[tuple[str, ...]] = (SEGMENT_PREFIX,)

    def propensities(self) -> dict[str, NDArray[np.float64]]:
        """The declared probabilities by model; empty where only that of the assigned model is known."""
        names = self.columns_with_prefix(PROPENSITY_PREFIX)
        return {name.removeprefix(PROPENSITY_PREFIX): self.arrow[name].to_numpy() for name in names}

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Names of the columns that divide the rows into segments, sorted."""
        return tuple(name.removeprefix(SEGMENT_PREFIX) for name in self.columns_with_prefix(SEGMENT_PREFIX))


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Table):
    """Each candidate's output on each context, one row per draw, without outcomes."""

    role: ClassVar[str] = "replay"
    required: ClassVar[dict[str, str]] = {**_KEYS, "draw": "int64"}
    optional: ClassVar[dict[str, str]] = _TEXTS

    def for_models(self, models: Collection[str]) -> Replay:
        """Only the rows of these models."""
        mask = is_in(self.arrow["model"], models)
        return self if mask.all() else self.filter(mask)

    def complete_contexts(self, models: Collection[str]) -> list[str]:
        """Ids of the contexts on which each of these models was replayed."""
        rows = self.for_models(models).arrow.select(["context_id", "model"])
        pairs = rows.group_by(["context_id", "model"]).aggregate([])
        counts = pairs.group_by("context_id").aggregate([("model", "count")])
        complete: list[str] = counts.filter(pc.equal(counts["model_count"], len(models)))["context_id"].to_pylist()
        return complete

    def models_on(self, context_id: str) -> set[str]:
        """The models that were replayed on one context."""
        return set(self.arrow.filter(pc.equal(self.arrow["context_id"], context_id))["model"].unique().to_pylist())

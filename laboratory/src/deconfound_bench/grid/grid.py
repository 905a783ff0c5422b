"""A complete grid of contexts and models, and the digest that identifies its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from deconfound.design import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Every model's output on every context, and the judged components of each output.

    Two grids with the same digest have the same content. ``omissions`` has one sentence per omitted column or group of
    contexts, ``notes`` one per unusual property of the data that is used.
    """

    name: str
    context_ids: tuple[str, ...]  # sorted
    contexts: tuple[str, ...]
    models: tuple[str, ...]  # sorted
    outputs: tuple[tuple[str, ...], ...]  # [context][model]
    components: Mapping[str, FloatArray]  # each (contexts, models)
    context_columns: Mapping[str, tuple[str, ...]]  # further text columns, each (contexts,); "" where missing
    digest: str
    omissions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def with_digest(grid: Grid) -> Grid:
    """The grid with the SHA-256 of its content, independent of the file format and the order of rows and columns."""
    total = hashlib.sha256()
    for part in _digest_parts(grid):
        # Each part is preceded by its length, so that moving text between neighbouring fields changes the digest.
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return replace(grid, digest=total.hexdigest())


def _digest_parts(grid: Grid) -> Iterable[bytes]:
    # The titles are part of the digest and must not change.
    yield from _encode_texts("name", [grid.name])
    yield from _encode_texts("context ids", grid.context_ids)
    yield from _encode_texts("contexts", grid.contexts)
    yield from _encode_texts("models", grid.models)
    for row in grid.outputs:
        yield from _encode_texts("outputs", row)
    for name in sorted(grid.components):
        yield from _encode_texts("component", [name])
        yield _encode_numbers(grid.components[name])
    for name in sorted(grid.context_columns):
        yield from _encode_texts("extra", [name, *grid.context_columns[name]])


def _encode_texts(title: str, texts: Iterable[str]) -> Iterable[bytes]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    yield f"{title} {len(encoded)}".encode()
    yield from encoded


def _encode_numbers(values: FloatArray) -> bytes:
    """Equal numbers give equal bytes: one zero, one NaN, one byte order."""
    return np.where(np.isnan(values), np.nan, values + 0.0).astype("<f8").tobytes()

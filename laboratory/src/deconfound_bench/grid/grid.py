"""A full grid of contexts and models, and the digest by which it is known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from deconfound.design import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """What every model wrote on every context, and how each output was judged.

    Two grids are the same where their digests are. ``dropped`` holds one sentence for each thing left out, ``notes``
    one for each thing that is kept and may surprise.
    """

    name: str
    context_ids: tuple[str, ...]  # sorted
    contexts: tuple[str, ...]
    models: tuple[str, ...]  # sorted
    outputs: tuple[tuple[str, ...], ...]  # [context][model]
    components: Mapping[str, FloatArray]  # each (contexts, models)
    extras: Mapping[str, tuple[str, ...]]  # each (contexts,); "" where nothing was given
    digest: str
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def signed(grid: Grid) -> Grid:
    """Give a grid the SHA-256 of its content, which neither file format nor order of rows and columns changes."""
    total = hashlib.sha256()
    for part in _parts(grid):
        # Each part tells its length first: no text can move from one field to its neighbour unseen.
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return replace(grid, digest=total.hexdigest())


def _parts(grid: Grid) -> Iterable[bytes]:
    yield from _written("name", [grid.name])
    yield from _written("context ids", grid.context_ids)
    yield from _written("contexts", grid.contexts)
    yield from _written("models", grid.models)
    for line in grid.outputs:
        yield from _written("outputs", line)
    for name in sorted(grid.components):
        yield from _written("component", [name])
        yield _bits(grid.components[name])
    for name in sorted(grid.extras):
        yield from _written("extra", [name, *grid.extras[name]])


def _written(title: str, texts: Iterable[str]) -> Iterable[bytes]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    yield f"{title} {len(encoded)}".encode()
    yield from encoded


def _bits(values: FloatArray) -> bytes:
    """Write numbers so that equal ones have equal bytes: one zero, one NaN, one byte order."""
    return np.where(np.isnan(values), np.nan, values + 0.0).astype("<f8").tobytes()

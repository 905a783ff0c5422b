"""A cached grid in numbers: made once, kept, and mapped into every worker."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from deconfound.bench.cached.router import Router, Routing
from deconfound.bench.cached.world import World, compress
from deconfound.bench.grid import Grid
from deconfound.bench.outputs import hash_pairs
from deconfound.design import FloatArray, IntArray
from deconfound.linalg import one_blas_thread
from deconfound.stored import Store, triangular_store

VERSION = 1
BUCKETS = 2**18


@dataclass(frozen=True, slots=True)
class CachedPool:
    """Features and proxies of every distinct output, and the world around them."""

    store: Store
    row: IntArray  # (contexts, models) into the store
    psi: FloatArray  # (rows, proxies)
    world: World

    def save(self, directory: Path, digest: str) -> None:
        """Write a folder that appears whole or not at all."""
        made = directory.with_name(f"{directory.name}.{os.getpid()}.tmp")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        np.save(made / "kernel.npy", self.store.kernel)
        np.save(made / "coordinates.npy", self.store.coordinates)
        world, router = self.world, self.world.router
        np.savez(
            made / "world.npz",
            row=self.row,
            psi=self.psi,
            judged=world.judged,
            auxiliary=world.auxiliary,
            features=router.features,
            context=router.context,
            affinity=router.affinity,
            cost=router.cost,
            liking=np.stack(list(world.liking.values())),
        )
        told = {"version": VERSION, "digest": digest, "models": world.models, "precision": world.precision}
        told["rewards"] = list(world.liking)
        (made / "pool.json").write_text(json.dumps({**told, "routing": asdict(router.routing)}) + "\n")
        shutil.rmtree(directory, ignore_errors=True)
        made.rename(directory)


def make_cached_pool(grid: Grid, world: World, proxies: int) -> CachedPool:
    """Hash every distinct pair of context and output, multiply them out, compress what can be seen of them."""
    row, outputs, context = _distinct(grid)
    with one_blas_thread():
        pairs = hash_pairs(grid.contexts, outputs, context, BUCKETS)
        store = triangular_store(pairs.kernel(pairs))
    psi = compress(world.auxiliary, proxies)
    first = np.empty(len(outputs), dtype=np.int64)
    first[row.ravel()[::-1]] = np.arange(row.size)[::-1]  # the first cell with each output
    return CachedPool(store, row, psi[first], world)


def _distinct(grid: Grid) -> tuple[IntArray, list[str], IntArray]:
    """Number outputs; equal texts on one context are one row, whichever models wrote them."""
    row = np.empty((len(grid.contexts), len(grid.models)), dtype=np.int64)
    outputs: list[str] = []
    context: list[int] = []
    for number, written in enumerate(grid.outputs):
        places: dict[str, int] = {}
        for model, output in enumerate(written):
            if output not in places:
                places[output] = len(outputs)
                outputs.append(output)
                context.append(number)
            row[number, model] = places[output]
    return row, outputs, np.array(context, dtype=np.int64)


def is_kept(directory: Path, digest: str) -> bool:
    """Whether the folder holds the pool of these inputs."""
    try:
        told = json.loads((directory / "pool.json").read_text())
    except (OSError, ValueError):
        return False
    return bool((told.get("version"), told.get("digest")) == (VERSION, digest))


def load_cached_pool(directory: Path) -> CachedPool:
    """The pool, its large arrays mapped so that workers share one copy."""
    kernel, coordinates = (np.load(directory / f"{name}.npy", mmap_mode="r") for name in ("kernel", "coordinates"))
    told = json.loads((directory / "pool.json").read_text())
    with np.load(directory / "world.npz") as held:
        parts = dict(held)
    router = Router(parts["features"], parts["context"], parts["affinity"], parts["cost"], Routing(**told["routing"]))
    liking = dict(zip(told["rewards"], parts["liking"], strict=True))
    world = World(tuple(told["models"]), liking, parts["judged"], parts["auxiliary"], router, told["precision"])
    return CachedPool(Store(coordinates, kernel), parts["row"], parts["psi"], world)

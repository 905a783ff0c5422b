"""A cached grid in numbers: made once, kept, and mapped into every worker."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.linalg import one_blas_thread
from deconfound_bench.cached.router import Router, Routing
from deconfound_bench.cached.world import World, compress
from deconfound_bench.gram_rows import GramStore, gram_store_by_cholesky
from deconfound_bench.grid import Grid
from deconfound_bench.kept import appearing, tell, told
from deconfound_bench.outputs import hash_pairs

VERSION = 1
BUCKETS = 2**18


@dataclass(frozen=True, slots=True)
class CachedPool:
    """Features and proxies of every distinct output, and the world around them."""

    store: GramStore
    row: IntArray  # (contexts, models) into the store
    psi: FloatArray  # (rows, proxies)
    world: World

    def save(self, directory: Path, digest: str) -> None:
        """Write a folder that appears whole or not at all."""
        with appearing(directory) as made:
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
            about = {"version": VERSION, "digest": digest, "models": world.models, "precision": world.precision}
            tell(made, {**about, "rewards": list(world.liking), "routing": asdict(router.routing)})


def make_cached_pool(grid: Grid, world: World, proxies: int) -> CachedPool:
    """Hash every distinct pair of context and output, multiply them out, compress what can be seen of them."""
    row, outputs, context = _distinct(grid)
    with one_blas_thread():
        pairs = hash_pairs(grid.contexts, outputs, context, BUCKETS)
        store = gram_store_by_cholesky(pairs.kernel(pairs))
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


def load_cached_pool(directory: Path) -> CachedPool:
    """The pool, its large arrays mapped so that workers share one copy."""
    kernel, coordinates = (np.load(directory / f"{name}.npy", mmap_mode="r") for name in ("kernel", "coordinates"))
    about = told(directory)
    with np.load(directory / "world.npz") as held:
        parts = dict(held)
    router = Router(parts["features"], parts["context"], parts["affinity"], parts["cost"], Routing(**about["routing"]))
    liking = dict(zip(about["rewards"], parts["liking"], strict=True))
    world = World(tuple(about["models"]), liking, parts["judged"], parts["auxiliary"], router, about["precision"])
    return CachedPool(GramStore(coordinates, kernel), parts["row"], parts["psi"], world)

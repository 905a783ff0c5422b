"""The grid as arrays: built once, saved, and memory-mapped by every worker."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.threads import one_blas_thread
from deconfound_bench.artifact_dir import atomic_directory, require_intact, write_manifest
from deconfound_bench.cached.environment import Environment, pca_proxies
from deconfound_bench.cached.router import Router, RouterConstants
from deconfound_bench.gram_rows import GramStore, gram_store_by_cholesky
from deconfound_bench.grid import Grid
from deconfound_bench.hashed_pairs import hash_pairs

POOL_VERSION = 3  # of the files in the folder
BUCKETS = 2**18  # of the hashed text


@dataclass(frozen=True, slots=True)
class CachedPool:
    """Features, proxies and effect modifiers of every distinct output, and the environment around them."""

    store: GramStore
    row: IntArray  # (contexts, models), row numbers of the store
    psi: FloatArray  # (rows, proxies)
    modifiers: FloatArray  # (rows, c) effect modifiers before scaling
    environment: Environment

    def save(self, directory: Path, digest: str) -> None:
        """Save to a folder that is either complete or absent."""
        with atomic_directory(directory) as folder:
            np.save(folder / "kernel.npy", self.store.kernel)
            np.save(folder / "coordinates.npy", self.store.coordinates)
            environment, router = self.environment, self.environment.router
            np.savez(
                folder / "environment.npz",
                row=self.row,
                psi=self.psi,
                modifiers=self.modifiers,
                components=environment.components,
                statistics=environment.statistics,
                features=router.features,
                context_weights=router.context_weights,
                affinity=router.affinity,
                cost=router.cost,
                expected_outcome=np.stack(list(environment.expected_outcome.values())),
            )
            manifest = {
                "version": POOL_VERSION,
                "digest": digest,
                "models": environment.models,
                "precision": environment.precision,
                "rewards": list(environment.expected_outcome),
                "router": asdict(router.constants),
            }
            write_manifest(folder, manifest)


def build_cached_pool(grid: Grid, environment: Environment, proxies: int) -> CachedPool:
    """Hash every distinct (context, output) pair, compute all inner products, and compress the statistics."""
    row, outputs, context = _distinct_outputs(grid)
    with one_blas_thread():
        pairs = hash_pairs(grid.contexts, outputs, context, BUCKETS)
        store = gram_store_by_cholesky(pairs.kernel(pairs))
    psi = pca_proxies(environment.statistics, proxies)
    first_cell = np.empty(len(outputs), dtype=np.int64)
    first_cell[row.ravel()[::-1]] = np.arange(row.size)[::-1]
    return CachedPool(store, row, psi[first_cell], pairs.modifiers, environment)


def _distinct_outputs(grid: Grid) -> tuple[IntArray, list[str], IntArray]:
    """Number the outputs; equal texts on one context share a row, whichever models wrote them."""
    row = np.empty((len(grid.contexts), len(grid.models)), dtype=np.int64)
    outputs: list[str] = []
    context: list[int] = []
    for number, texts in enumerate(grid.outputs):
        row_of_text: dict[str, int] = {}
        for model, text in enumerate(texts):
            if text not in row_of_text:
                row_of_text[text] = len(outputs)
                outputs.append(text)
                context.append(number)
            row[number, model] = row_of_text[text]
    return row, outputs, np.array(context, dtype=np.int64)


def load_cached_pool(directory: Path) -> CachedPool:
    """Load a saved pool; its large arrays are memory-mapped so that workers share one copy."""
    manifest = require_intact(directory)
    kernel, coordinates = (np.load(directory / f"{name}.npy", mmap_mode="r") for name in ("kernel", "coordinates"))
    with np.load(directory / "environment.npz") as stored:
        arrays = dict(stored)
    router = Router(
        arrays["features"],
        arrays["context_weights"],
        arrays["affinity"],
        arrays["cost"],
        RouterConstants(**manifest["router"]),
    )
    environment = Environment(
        tuple(manifest["models"]),
        dict(zip(manifest["rewards"], arrays["expected_outcome"], strict=True)),
        arrays["components"],
        arrays["statistics"],
        router,
        manifest["precision"],
    )
    store = GramStore(coordinates, kernel)
    return CachedPool(store, arrays["row"], arrays["psi"], arrays["modifiers"], environment)

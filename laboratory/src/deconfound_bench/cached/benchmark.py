"""A cached benchmark as the sweep runs it; tasks differ in their grid, users and rewards only."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from deconfound_bench.artifact_dir import building, is_current, sha256_hex
from deconfound_bench.cached.draws import HELD_OUT_SHARE, CachedSampler
from deconfound_bench.cached.environment import CLIP_SD, Environment
from deconfound_bench.cached.pool import BUCKETS, POOL_VERSION, build_cached_pool, load_cached_pool
from deconfound_bench.grid import Grid
from deconfound_bench.replication import FOLDS, candidate_for, score_candidates
from deconfound_bench.results import Cell, Score
from deconfound_bench.sweep import Opener, Progress, Task

PROTOCOL_VERSION = 5  # results of different versions are not mixed


@dataclass(frozen=True, slots=True)
class BenchmarkSpec:
    """How a grid becomes an environment, and every constant involved."""

    name: str
    read: Callable[[Path], Grid]
    environment: Callable[[Grid], Environment]
    constants: str  # canonical JSON of the task's own constants
    proxies: int
    max_log_rows: int
    max_experiment_rows: int


@dataclass(frozen=True, slots=True)
class CachedBenchmark:
    """One task on one grid."""

    spec: BenchmarkSpec
    grid: Path
    grid_digest: str
    pool: Path  # folder of the saved arrays

    @property
    def name(self) -> str:
        """The value of the ``benchmark`` column."""
        return self.spec.name

    @property
    def constants(self) -> str:
        """Canonical JSON of everything that determines the results. The keys are a file format."""
        spec = self.spec
        document = {
            "benchmark": spec.name,
            "version": PROTOCOL_VERSION,
            "grid": self.grid_digest,
            "buckets": BUCKETS,
            "held_out": HELD_OUT_SHARE,
            "proxies": spec.proxies,
            "proxies_cut": CLIP_SD,
            "folds": FOLDS,
            "longest_log": spec.max_log_rows,
            "longest_experiment": spec.max_experiment_rows,
            **json.loads(spec.constants),
        }
        return json.dumps(document, sort_keys=True)

    def group(self, cell: Cell) -> str:
        """All rewards and experiment sizes share one draw of contexts, users and models."""
        return f"confounding {cell.confounding:g}, {cell.n_log} log rows"

    def prepare(self, directory: Path, progress: Progress) -> None:  # noqa: ARG002  (the pool has its own folder)
        """Build the pool, unless it is already saved."""
        digest = sha256_hex(self.constants)
        with building(self.pool):
            if is_current(self.pool, POOL_VERSION, digest):
                return
            progress("reading the grid", 0.0)
            grid = self.spec.read(self.grid)
            progress("computing statistics of the outputs", 0.0)
            environment = self.spec.environment(grid)
            progress("hashing texts and computing inner products", 0.0)
            build_cached_pool(grid, environment, self.spec.proxies).save(self.pool, digest)

    def opener(self, directory: Path) -> Opener:  # noqa: ARG002
        """Name, pool and sizes."""
        sizes = [self.spec.max_log_rows, self.spec.max_experiment_rows]
        settings = {"name": self.spec.name, "pool": str(self.pool.absolute()), "sizes": sizes}
        return Opener(__name__, open_cached.__name__, json.dumps(settings))


def open_cached(settings: str) -> CachedWorker:
    """Memory-map the pool."""
    document = json.loads(settings)
    sampler = CachedSampler(load_cached_pool(Path(document["pool"])), *document["sizes"])
    return CachedWorker(document["name"], sampler)


@dataclass(frozen=True, slots=True)
class CachedWorker:
    """The benchmark in one process."""

    name: str
    sampler: CachedSampler

    def run(self, task: Task) -> Sequence[Score]:
        """Draw one replication per log and reward, and score the families at each experiment size."""
        scores = []
        cells = sorted({cell for cell, _ in task.pairs}, key=lambda cell: (_without_size(cell), cell))
        for _, sizes in groupby(cells, key=_without_size):
            replication = None
            for cell in sizes:
                replication = replication or self.sampler.replication(cell, task.seed)
                candidates = [candidate_for(family) for other, family in task.pairs if other == cell]
                scores += score_candidates(replication, candidates, self.name, cell, task.seed)
        return scores


def _without_size(cell: Cell) -> Cell:
    """Cells that differ in the experiment size only share a replication: a smaller experiment is its start."""
    return replace(cell, n_experiment=0)

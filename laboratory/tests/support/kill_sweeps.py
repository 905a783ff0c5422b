"""Kill sweeps and builds of their pool, many times: ``python -m laboratory.tests.support.kill_sweeps``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from deconfound_bench.artifact_dir import (
    atomic_directory,
    building,
    is_current,
    read_manifest,
    require_intact,
    write_manifest,
)
from deconfound_bench.results import scores_digest
from deconfound_bench.sweep import Opener

from laboratory.tests.support.fake_benchmark import (
    FakeBenchmark,
    FakeWorker,
    expected_digest,
    open_fake,
    run_fake_sweep,
)
from tests.support.kill_driver import MAX_FACTOR, files, kill_repeatedly

MAX_DELAY = 0.08  # seconds until a sweep is killed; it takes about as long


def save_pool(pool: Path, digest: str) -> None:
    """A small pool whose content follows from its digest."""
    with building(pool):
        write_pool(pool, digest)


def write_pool(pool: Path, digest: str) -> None:
    """The same for a pool that is already locked."""
    with atomic_directory(pool) as folder:
        np.save(folder / "kernel.npy", np.full((80, 80), float(len(digest))))
        np.save(folder / "coordinates.npy", np.full((80, 20), float(len(digest))))
        write_manifest(folder, {"version": 1, "digest": digest})


@dataclass(frozen=True)
class PoolBenchmark(FakeBenchmark):
    """The fake benchmark with a pool beside its tasks."""

    def prepare(self, directory: Path, progress: Callable[[str, float], None]) -> None:
        FakeBenchmark.prepare(self, directory, progress)
        pool = directory.parent / "pool"
        with building(pool):
            if not is_current(pool, 1, "a"):
                write_pool(pool, "a")

    def opener(self, directory: Path) -> Opener:
        return Opener(__name__, open_with_pool.__name__, self.settings(directory))


def open_with_pool(settings: str) -> FakeWorker:
    """As the fake benchmark, from an intact pool."""
    require_intact(Path(json.loads(settings)["directory"]).parent / "pool")
    return open_fake(settings)


def kill_pools(place: Path, kills: int) -> int:
    """Builds of two pools in one folder: afterwards it is one of them, or absent."""
    place.mkdir()
    pool = place / "pool"

    def check() -> None:
        if pool.exists() and require_intact(pool)["digest"] not in ("a", "bb"):
            raise AssertionError(read_manifest(pool))

    return kill_repeatedly(lambda at: save_pool(pool, ("a", "bb")[at]), check, kills, place, read_meanwhile=False)


def kill_sweeps(place: Path, kills: int) -> int:
    """Sweeps in new folders: the next sweep continues, with the same scores, and leaves nothing but its own files."""
    benchmark, moments, hits = PoolBenchmark(place / "history"), np.random.default_rng(0), 0
    place.mkdir()
    run_fake_sweep(benchmark, place / "whole")
    clean, expected = files(place / "whole"), expected_digest(benchmark)
    for kill in range(MAX_FACTOR * kills):
        if kill >= kills and hits:
            break
        folder = place / "sweep"
        child = os.fork()
        if child == 0:
            run_fake_sweep(benchmark, folder)
            os._exit(0)
        time.sleep(moments.uniform(0, MAX_DELAY))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        hits += folder.exists() and files(folder) != clean
        if scores_digest(run_fake_sweep(benchmark, folder)) != expected:
            raise AssertionError("other scores")
        if files(folder) != clean:
            raise AssertionError(f"left behind: {set(files(folder)) ^ set(clean)}")
        shutil.rmtree(folder)
    return hits


def main() -> None:
    """Arguments: what to kill, a new folder, the number of kills."""
    what, place, kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    run = {"pool": kill_pools, "sweep": kill_sweeps}[what]
    sys.stdout.write(json.dumps({"kills": kills, "hits": run(place, kills)}))


if __name__ == "__main__":
    main()

"""Sweeps on a Dask cluster, and on a disk that is full: the same scores, or an error and a later continuation."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from deconfound_bench.results import scores_digest

from deconfound.engines import EngineOptions
from deconfound.errors import UsageError
from laboratory.tests.support.fake_benchmark import TASKS, expected_digest, finished_tasks, run_counts, run_fake_sweep
from tests.support.engine_workers import dask_cluster
from tests.support.small_disk import mounted_disk


def test_a_dask_cluster_gives_the_same_bytes(fake_benchmark, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed")
    run_fake_sweep(fake_benchmark, tmp_path / "here")
    with dask_cluster(workers=2) as address:
        run_fake_sweep(fake_benchmark, tmp_path / "there", engine=EngineOptions("dask", address))
    here, there = ((tmp_path / name / "results.parquet").read_bytes() for name in ("here", "there"))
    assert here == there
    assert run_counts(fake_benchmark).total() == 2 * TASKS


def test_a_cluster_that_does_not_answer_is_refused_before_any_work(fake_benchmark, sweep_folder, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr("deconfound.engines.dask_engine.CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match="no Dask scheduler answers there"):
        run_fake_sweep(fake_benchmark, sweep_folder, engine=EngineOptions("dask", "tcp://127.0.0.1:9"))
    assert not sweep_folder.exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_sweep_and_it_continues_when_there_is_space(fake_benchmark, tmp_path, workers):
    with mounted_disk(tmp_path / "disk") as disk:
        run_fake_sweep(fake_benchmark, disk / "sweep", workers, seeds=[0])
        filler = fill(disk, free=6 * 4096)
        with pytest.raises(OSError, match="No space left"):
            run_fake_sweep(fake_benchmark, disk / "sweep", workers)
        assert 4 <= len(finished_tasks(disk / "sweep")) < TASKS
        filler.unlink()
        assert scores_digest(run_fake_sweep(fake_benchmark, disk / "sweep", workers)) == expected_digest(fake_benchmark)


def fill(disk: Path, free: int) -> Path:
    """A file that leaves only some bytes of a disk."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(filler, filler.stat().st_size - free)
    return filler

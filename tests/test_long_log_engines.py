"""A long log in files is summed on any engine with the same bits, or ends in an error that names its file."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.data import Study
from deconfound.engines import EngineOptions, process_engine
from deconfound.errors import DataError, UsageError
from deconfound.evaluation_options import EvaluationOptions
from deconfound.features import FeatureSpec, spread_pass
from deconfound.features.spread_pass import group_parts, run_pass
from deconfound.features.summed_study import plan_pass
from deconfound.loading.log_size import LongLog
from deconfound.progress import no_progress
from tests.support.streams import write_study

IN_PARTS = LongLog(min_rows=0, min_bytes=0, batch_rows=25, part_bytes=20_000)
HERE = EngineOptions()
OTHERS = [EngineOptions("local", workers=2), EngineOptions("processes", workers=2)]


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    return write_study(tmp_path)


@pytest.fixture
def study(tables: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Study:
    """As a stream of many parts, each of which is a payload of its own."""
    monkeypatch.setattr(spread_pass, "GROUP_BYTES", 1)
    loaded = dc.load(**tables, long_log=IN_PARTS)
    assert loaded.log_stream is not None
    assert len(loaded.log_stream.parts) >= 3
    return loaded


def statistics(study: Study, engine: EngineOptions) -> bytes:
    log_pass = plan_pass(study, FeatureSpec(buckets=128), 5, 0).log_pass
    return run_pass(log_pass, study.log_stream, no_progress, engine).to_bytes()


@pytest.mark.parametrize("engine", OTHERS, ids=["threads", "processes"])
def test_statistics_are_the_same_to_the_last_bit(study, engine):
    assert statistics(study, engine) == statistics(study, HERE)


@pytest.mark.slow
def test_statistics_of_a_dask_cluster_are_the_same_to_the_last_bit(study):
    pytest.importorskip("distributed", reason="Dask is not installed")
    from tests.support.engine_workers import dask_cluster

    with dask_cluster(workers=2) as address:
        assert statistics(study, EngineOptions("dask", address)) == statistics(study, HERE)


@pytest.mark.slow
def test_values_are_the_same_on_processes(study):
    features = FeatureSpec(buckets=128)
    here, there = (
        dc.evaluate(study, "obs-only", options=EvaluationOptions(features=features, engine=engine))
        for engine in (HERE, OTHERS[1])
    )
    np.testing.assert_array_equal(there.values.estimate, here.values.estimate)
    np.testing.assert_array_equal(there.values.covariance, here.values.covariance)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_a_worker_killed_in_mid_run_changes_no_bit(study, moment, monkeypatch):
    """Some seconds after it was started, whatever it does then."""
    started: list[int] = []
    start = process_engine._Worker.__init__

    def record(worker: process_engine._Worker) -> None:
        start(worker)
        started.append(worker._process.pid)

    def kill_the_first() -> None:
        while not started:
            time.sleep(0.01)
        time.sleep(moment)
        with suppress(ProcessLookupError):  # a fast machine may have finished
            os.kill(started[0], signal.SIGKILL)

    monkeypatch.setattr(process_engine._Worker, "__init__", record)
    killer = threading.Thread(target=kill_the_first)
    killer.start()
    found = statistics(study, OTHERS[1])
    killer.join()
    assert found == statistics(study, HERE)


def test_a_file_that_changes_between_the_passes_is_named(study, tables):
    path = tables["log"] / "c.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(DataError, match=r"c\.parquet: the file was changed while the log was read"):
        statistics(study, OTHERS[1])


def test_a_log_in_a_data_frame_cannot_be_sent(tables):
    pd = pytest.importorskip("pandas")
    frame = pd.concat([pd.read_parquet(tables["log"] / name) for name in ("a.parquet", "c.parquet")])
    study = dc.load(**{**tables, "log": frame}, long_log=IN_PARTS)
    with pytest.raises(UsageError, match=r"type DataFrame cannot be sent to workers. Write it to a Parquet file"):
        statistics(study, OTHERS[1])


def test_an_arrow_table_can_be_sent(tables, monkeypatch):
    monkeypatch.setattr(spread_pass, "GROUP_BYTES", 1)
    table = pa.concat_tables([pq.read_table(tables["log"] / name) for name in ("a.parquet", "c.parquet")])
    study = dc.load(**{**tables, "log": table}, long_log=IN_PARTS)
    assert statistics(study, OTHERS[1]) == statistics(study, HERE)


def test_parts_are_summed_in_groups_of_consecutive_parts(study, monkeypatch):
    """Every part is in one group, whatever their sizes are."""
    parts = study.log_stream.parts
    sizes = [part.size for part in parts]
    for limit in (1, sizes[0] + 1, sum(sizes) // 2, 10 * sum(sizes)):
        monkeypatch.setattr(spread_pass, "GROUP_BYTES", limit)
        groups = group_parts(parts)
        assert [at for first, last in groups for at in range(first, last)] == list(range(len(parts)))
        assert all(sum(sizes[first:last]) >= limit for first, last in groups[:-1])
    assert len(groups) == 1
    assert group_parts(()) == []

"""Whether a log is long is found out from its beginning, or its footer."""

from __future__ import annotations

import gzip
import os

import pyarrow as pa
import pytest

from deconfound.loading.log_size import LongLog
from tests.support.studies import WRITERS, Good

ROWS = [row | {"output": f"{number} {'word ' * (number % 50)}"} for number, row in enumerate(Good().log * 500)]


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstd)])
def test_rows_and_bytes_of_files_are_estimated(tmp_path, ending, suffix, pack):
    """Within ten percent for texts: rows are of similar length. Parquet is exact, and is not compressed as a file."""
    if ending == "parquet" and suffix:
        pytest.skip("not a format")
    data = WRITERS[ending](ROWS)
    path = tmp_path / f"log.{ending}{suffix}"
    path.write_bytes(pack(data))
    assert not LongLog().applies_to(path)
    assert LongLog(min_rows=5_400).applies_to(path)
    assert not LongLog(min_rows=6_600).applies_to(path)
    assert LongLog(min_bytes=1_000).applies_to(path)
    (tmp_path / f"other.{ending}{suffix}").write_bytes(pack(data))
    assert LongLog(min_rows=10_800).applies_to(tmp_path)
    assert not LongLog(min_rows=13_200).applies_to([path, tmp_path / f"other.{ending}{suffix}"])


def test_only_the_beginning_of_a_compressed_file_is_read(tmp_path):
    """A cut-off end shows that the estimate stops before it."""
    lines = b"".join(b'{"model": "ant", "output": "%s"}\n' % os.urandom(500).hex().encode() for _ in range(8_000))
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(lines)[:-1_000])
    assert LongLog(min_rows=7_200).applies_to(path)
    assert not LongLog(min_rows=8_800).applies_to(path)


def test_tables_in_memory_are_counted():
    table = pa.Table.from_pylist(ROWS)
    assert LongLog(min_rows=5_999).applies_to(table)
    assert not LongLog(min_rows=6_000).applies_to(table)


def test_files_that_cannot_be_measured_are_left_to_the_usual_path(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 nothing")
    assert not LongLog(min_rows=0, min_bytes=0).applies_to(path)
    assert not LongLog(min_rows=0, min_bytes=0).applies_to(tmp_path / "missing.csv")
    listed = tmp_path / "log.json"
    listed.write_bytes(b"[{}]")
    assert not LongLog(min_rows=0, min_bytes=0).applies_to(listed)

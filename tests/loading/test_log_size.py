"""Whether a log is long is found out from its beginning, or its footer."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.loading import parquet_footer
from deconfound.loading.log_size import LongLog
from deconfound.loading.parquet_footer import Footer, read_footer
from deconfound.loading.parquet_size import PROBED_FILES, ParquetSize
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


PROMPTS = [f"{number} {os.urandom(1_000).hex()}" for number in range(5)]
ENCODINGS = {
    "one group": {},
    "several groups": {"row_group_size": 300},
    "prefixes": {"use_dictionary": False, "column_encoding": {"context": "DELTA_BYTE_ARRAY"}},
    "nested": {},
}


@pytest.fixture(params=["sizes", "no sizes"])
def sizes_in_footers(request, monkeypatch):
    """Footers that say how long texts are, and those of other writers, which do not."""
    if request.param == "no sizes":
        no_sizes(monkeypatch)


def no_sizes(monkeypatch):
    monkeypatch.setattr(parquet_footer, "SIZE_STATISTICS", -1)


def footer_of(path: Path) -> Footer:
    with path.open("rb") as handle:
        return read_footer(handle)


def write_prompts(path: Path, name: str, rows: int = 1_000) -> Path:
    """Prompts of 2 KB that recur, in order: 2 MB in 1,000 rows."""
    texts = sorted(PROMPTS[number % 5] for number in range(rows))
    context = pa.array([[{"role": "user", "content": text}] for text in texts]) if name == "nested" else texts
    table = pa.table({"context": context, "model": ["ant"] * rows, "outcome": [1.0] * rows})
    pq.write_table(table, path, **ENCODINGS[name])
    return path


@pytest.mark.usefixtures("sizes_in_footers")
@pytest.mark.parametrize("name", ENCODINGS)
def test_texts_that_are_stored_once_count_as_often_as_they_are_used(tmp_path, name):
    path = write_prompts(tmp_path / "log.parquet", name)
    assert sum(chunk.stored_bytes for chunk in footer_of(path).chunks) < 200_000
    assert LongLog(min_bytes=1_800_000).applies_to(path)
    assert not LongLog(min_bytes=2_200_000).applies_to(path)
    others = [write_prompts(tmp_path / f"{number}.parquet", name) for number in range(19)]
    assert LongLog(min_bytes=36_000_000).applies_to([path, *others])
    assert not LongLog(min_bytes=44_000_000).applies_to([path, *others])


def test_the_footer_says_how_long_texts_are(tmp_path):
    path = write_prompts(tmp_path / "log.parquet", "one group")
    chunk = footer_of(path).chunks[0]
    if chunk.text_bytes is None:
        pytest.skip("older Arrow does not write it")
    assert chunk.text_bytes == sum(200 * len(prompt) for prompt in PROMPTS)


def test_few_files_are_probed_and_only_where_texts_may_recur(tmp_path, monkeypatch):
    no_sizes(monkeypatch)
    paths = [write_prompts(tmp_path / f"{number}.parquet", "one group", 50) for number in range(40)]
    probed = []
    monkeypatch.setattr(ParquetSize, "probe", lambda self: probed.append(self.path.name) or 2_000.0)
    assert not LongLog(min_bytes=10_000_000).applies_to(paths)
    assert len(probed) == PROBED_FILES
    assert {"0.parquet", "39.parquet"} <= set(probed)
    assert not LongLog(min_bytes=1_000_000_000).applies_to(paths)  # more than all values as long as a whole file
    assert LongLog(min_bytes=100_000).applies_to(paths)  # less than is stored
    assert len(probed) == PROBED_FILES


def test_a_file_that_cannot_be_probed_is_left_to_its_reader(tmp_path, monkeypatch):
    no_sizes(monkeypatch)
    path = write_prompts(tmp_path / "log.parquet", "one group")
    data = bytearray(path.read_bytes())
    data[4:2_000] = b"\xff" * 1_996
    path.write_bytes(bytes(data))
    assert not LongLog(min_bytes=1_000_000).applies_to(path)
    assert LongLog(min_rows=900).applies_to(path)

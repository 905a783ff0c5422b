"""The footer as we read it and as Arrow reads it; damaged ones raise and never end the process."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.loading.parquet_footer import read_footer

TABLE = pa.table(
    {
        "text": [f"text {i % 7}" for i in range(50)],
        "number": np.arange(50.0),
        "whole": np.arange(50),
        "flag": [i % 2 == 0 for i in range(50)],
        "list": [[1.0, 2.0]] * 50,
        "nested": [{"a": "x", "b": i} for i in range(50)],
        "fixed": pa.array([b"12345678"] * 50, pa.binary(8)),
    }
)
WRITINGS = {
    "plain": {},
    "without dictionaries": {"use_dictionary": False},
    "several groups": {"row_group_size": 20},
    "prefixes": {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
    "checksums and indexes": {"write_page_index": True, "write_page_checksum": True},
    "statistics off": {"write_statistics": False, "compression": "zstd"},
    "version 1": {"version": "1.0", "data_page_version": "1.0"},
}


def write(**options):
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, **options)
    return sink


@pytest.mark.parametrize("name", WRITINGS)
def test_every_chunk_is_described_as_arrow_does(name):
    sink = write(**WRITINGS[name])
    metadata = pq.ParquetFile(sink).metadata
    footer = read_footer(sink)
    chunks = footer.chunks
    assert list(footer.rows) == [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    assert len(chunks) == metadata.num_row_groups * metadata.num_columns
    for chunk in chunks:
        expected = metadata.row_group(chunk.group).column(chunk.column)
        assert chunk.name == expected.path_in_schema
        assert chunk.physical_type == expected.physical_type
        assert chunk.values == expected.num_values
        assert chunk.stored_bytes == expected.total_uncompressed_size
        assert chunk.has_dictionary == expected.has_dictionary_page
        assert chunk.shares_prefixes == ("DELTA_BYTE_ARRAY" in expected.encodings)


def test_a_damaged_footer_raises_nothing_but_a_value_error():
    """Of 3,000 footers with up to eight changed bytes each, those that can still be read are described."""
    whole = write(row_group_size=25).getvalue()
    length = int.from_bytes(whole[-8:-4], "little")
    rng = np.random.default_rng(0)
    read = 0
    for _ in range(3_000):
        damaged = np.frombuffer(whole, np.uint8).copy()
        at = rng.integers(len(whole) - 8 - length, len(whole) - 8, size=rng.integers(1, 9))
        damaged[at] = rng.integers(256, size=len(at))
        try:
            read += bool(read_footer(io.BytesIO(damaged.tobytes())).chunks)
        except ValueError:
            continue
    assert 0 < read < 3_000


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1PAR1PAR1", b"\xff" * 40, b"PAR1" + b"\x19" * 90 + b"\x5a\0\0\0PAR1"]
)
def test_what_has_no_footer_is_refused(data):
    with pytest.raises(ValueError, match="footer"):
        read_footer(io.BytesIO(data))


def test_a_footer_on_which_arrow_ends_the_process_is_refused(tmp_path):
    """Bytes of texts are counted for a column of integers; found by the fuzzer of damaged files."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"bytes": pa.array([b"x", b"yz"], pa.binary())}), sink, store_schema=False)
    byte_array, int64 = b"\x15\x0c\x25\x02\x18\x05bytes", b"\x15\x04\x25\x02\x18\x05bytes"
    assert sink.getvalue().count(byte_array) == 1
    path = tmp_path / "log.parquet"
    path.write_bytes(sink.getvalue().replace(byte_array, int64))
    code = (
        "import sys\nfrom deconfound.errors import DataError\n"
        "from deconfound.loading.sources import read_table\n"
        "try:\n    read_table(sys.argv[1], 'log', 'log.parquet')\n"
        "except DataError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "log.parquet: the Parquet data is damaged or cut off" in done.stdout

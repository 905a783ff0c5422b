"""Files of every format give the same records, and what is damaged is counted with its place."""

from __future__ import annotations

import csv
import gzip
import json
import tracemalloc
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from deconfound.errors import DataError, DeconfoundError
from deconfound.loading.input_limit import LIMIT_VARIABLE
from deconfound.traces.json_objects import parse_json
from deconfound.traces.reader import Remarks
from deconfound.traces.records import records_of
from deconfound.traces.trace_files import trace_file

A, B, C = {"n": 1}, {"n": 2, "t": "zoë 😀\n"}, {"n": 3, "d": {"x": [1]}}
LINES = "\n".join(map(json.dumps, (A, B, C)))


def read(tmp_path, name, data):
    """Values, places after the file's name, and remarks."""
    path, remarks = tmp_path / name, Remarks()
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    records = list(records_of(trace_file(path), remarks))
    assert all(record.path == path and record.origin.startswith(str(path)) for record in records)
    return [record.value for record in records], [record.origin[len(str(path)) :] for record in records], remarks


SHAPES = {
    "lines": (LINES, " line 2"),
    "lines with a mark, blank lines and Windows ends": (
        "\ufeff" + LINES.replace("\n", "\r\n \r\n") + "\r\n",
        " line 3",
    ),
    "a list": (json.dumps([A, B, C]), " line 1 element 2"),
    "a list over several lines": (json.dumps([A, B, C], indent=1), " object 1 element 2"),
    "a page of an API": (json.dumps({"data": [A, B, C], "meta": {"page": 1}}, indent=1), " object 1 element 2"),
    "a page on one line": (json.dumps({"data": [A, B, C], "next_cursor": None}), " line 1 element 2"),
    "objects over several lines": ("\n".join(json.dumps(x, indent=2) for x in (A, B, C)), " object 2"),
    "objects one after the other": ("".join(map(json.dumps, (A, B, C))), " object 2"),
    "objects with commas": (",\n".join(json.dumps(x, indent=2) for x in (A, B, C)), " object 2"),
    "UTF-8 text": ("\n".join(json.dumps(x, ensure_ascii=False) for x in (A, B, C)), " line 2"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_json_of_every_shape_has_the_same_records(tmp_path, shape):
    data, place = SHAPES[shape]
    values, places, remarks = read(tmp_path, "x.json", data)
    assert values == [A, B, C]
    assert places[1] == place
    assert remarks.counts == {}


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.json", "x.jsonl.gz", "x.JSON.GZ", "x.jsonl.zst"])
def test_compressed_lines_have_the_same_records(tmp_path, name):
    data = LINES.encode()
    if name.lower().endswith("gz"):
        data = gzip.compress(data[:7]) + gzip.compress(data[7:])  # several parts, as log rotation writes them
    if name.endswith("zst"):
        data = pa.compress(data, codec="zstd", asbytes=True)
    assert read(tmp_path, name, data)[0] == [A, B, C]


def test_one_object_is_one_record(tmp_path):
    value = {"info": {"id": 1}, "data": {"spans": [{"a": 1}]}}
    for data in (json.dumps(value), json.dumps(value, indent=2)):
        assert read(tmp_path, "x.json", data)[0] == [value]


def test_an_object_whose_data_are_no_objects_is_a_record(tmp_path):
    value = {"data": [1, 2], "id": "x"}
    assert read(tmp_path, "x.json", json.dumps(value))[0] == [value]


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv"])
@pytest.mark.parametrize("data", ["", " \n\n"])
def test_an_empty_file_is_remarked(tmp_path, name, data):
    values, _, remarks = read(tmp_path, name, data)
    assert values == []
    assert remarks.counts == {"files are empty": 1}


FAULTS = {
    "not JSON": b"{'n': 1}",
    "cut off": b'{"n": 1, "t": "abc',
    "not UTF-8": b'{"n": "\xff"}',
    "an object with a key twice": b'{"n": {"a": 1, "a": 2}}',
    "text with half of a surrogate pair": b'{"n": "\\ud83d and \\uDE00"}',
    "nested too deeply": b'{"n": ' + b"[" * 300 + b"]" * 300 + b"}",
    "not an object": b"17",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_line_is_left_out_and_counted_with_its_place(tmp_path, fault):
    good = json.dumps(A).encode()
    values, _, remarks = read(tmp_path, "x.jsonl", b"\n".join([good, good, FAULTS[fault], good, FAULTS[fault]]))
    assert values == [A, A, A]
    assert remarks.counts == {f"lines are damaged ({fault})": 2}
    assert remarks.first[f"lines are damaged ({fault})"].endswith("x.jsonl line 3")


def test_very_deep_lines_and_very_long_numbers_are_faults():
    assert parse_json(b"[" * 100_000).fault in ("nested too deeply", "cut off")
    assert parse_json(b'{"a":' * 50_000 + b"1" + b"}" * 50_000).fault == "nested too deeply"
    assert parse_json(b'{"a": ' + b"9" * 5000 + b"}").fault == "not JSON"


@pytest.mark.parametrize("text", ["\\\\ud83d", "\\ud83d\\ude00", "\\\\\\ud83d\\ude00", "\\u00e9 \\uD7FF \\ue000"])
def test_whole_pairs_and_escaped_backslashes_are_no_half_surrogates(text):
    assert parse_json(f'{{"a": "{text}"}}'.encode()).fault == ""


@pytest.mark.parametrize(
    "text", ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "\\ud83d\\ude00\\ude00", "\\ud83d\\ud83d\\ude00"]
)
def test_each_kind_of_half_surrogate_is_found(text):
    assert parse_json(f'{{"a": "x{text}y"}}'.encode()).fault == "text with half of a surrogate pair"


@given(st.text(st.characters(codec=None), max_size=6))
def test_half_surrogates_are_found_in_any_text(text):
    """The search in the escapes must agree with an encoder."""
    try:
        text.encode()
        expected = ""
    except UnicodeEncodeError:
        expected = "text with half of a surrogate pair"
    pairs_up = json.loads(json.dumps(text)) != text  # two halves beside each other are one character in JSON
    assert parse_json(json.dumps({"a": text}).encode()).fault == expected or pairs_up


@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_a_file_is_refused_if_more_than_half_of_its_first_lines_are_damaged(tmp_path, name):
    good, bad = json.dumps(A), "garbage"
    assert len(read(tmp_path, name, "\n".join([good, bad] * 50 + [bad] * 500))[0]) == 50
    with pytest.raises(DataError, match=r"not JSON"):
        read(tmp_path, name, "\n".join([bad] * 51 + [good] * 500))


def test_the_refusal_names_the_first_damaged_line(tmp_path):
    with pytest.raises(DataError, match=r"x.jsonl line 2: 2 of the first 3 lines cannot be read; this one is cut off"):
        read(tmp_path, "x.jsonl", '{"n": 1}\n{"n": \n{"n": \n')


@pytest.mark.parametrize("first", ["garbage", '{"n": 1, "t', "{"])
def test_lines_are_read_in_a_json_file_whose_first_line_is_damaged(tmp_path, first):
    values, places, remarks = read(tmp_path, "x.json", f"{first}\n{LINES}\n")
    assert values == [A, B, C]
    assert places[0] == " line 2"
    assert sum(remarks.counts.values()) == 1


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (json.dumps([A, B], indent=1)[:-4], "cut off"),
        (json.dumps([A, B], indent=1).replace(",", ""), "not JSON"),
        ('{\n"a": 1,\n"a": 2\n}', "a key twice"),
        (b'{\n"a":\n"\xff"\n}', "not UTF-8"),
        ("[1,\n2]", "not an object"),
    ],
)
def test_a_damaged_document_is_refused(tmp_path, data, fault):
    with pytest.raises(DataError, match=fault):
        read(tmp_path, "x.json", data)


def test_what_follows_the_whole_objects_of_a_document_is_counted(tmp_path):
    data = "\n".join(json.dumps(x, indent=1) for x in (A, B)) + '\n{\n "n": 3'
    values, _, remarks = read(tmp_path, "x.json", data)
    assert values == [A, B]
    assert remarks.counts == {"lines are damaged (cut off)": 1}


def test_the_limit_applies_to_documents_and_to_single_lines(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.000001")  # 1,000 bytes
    long_text = {"t": "x" * 2000}
    with pytest.raises(DataError, match="the limit for one file"):
        read(tmp_path, "x.jsonl", json.dumps(long_text))
    with pytest.raises(DataError, match="the limit for one file"):
        read(tmp_path, "x.json", json.dumps([A] * 500, indent=1))
    assert len(read(tmp_path, "x.jsonl", "\n".join([json.dumps(A)] * 500))[0]) == 500


def test_lines_are_streamed(tmp_path):
    """Memory depends on the first hundred lines, not on the file."""
    path = tmp_path / "x.jsonl"
    line = json.dumps({"t": "x" * 2000}) + "\n"
    path.write_text(line * 3000)
    tracemalloc.start()
    assert sum(1 for _ in records_of(trace_file(path), Remarks())) == 3000
    assert tracemalloc.get_traced_memory()[1] < 3e6  # the file has 6 MB
    tracemalloc.stop()


@settings(max_examples=30)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@example(b"\x1e")
def test_any_content_gives_records_or_an_error_of_the_package(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    for name in ("x.jsonl", "x.json", "x.csv", "x.parquet", "x.jsonl.gz"):
        try:
            values, *_ = read(folder, name, data)
        except DeconfoundError:
            continue
        assert all(isinstance(value, dict) for value in values)


TIME = datetime(2026, 11, 1, 10, 0, 0, 123456, tzinfo=UTC)
TABLE = pa.table(
    {
        "text": pa.array(["a", None]),
        "map": pa.array([[("k", TIME)], []], pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
        "cost": pa.array([[("total", Decimal("0.5"))], None], pa.map_(pa.string(), pa.decimal128(18, 12))),
        "time": pa.array([TIME, None], pa.timestamp("us", "UTC")),
        "nanoseconds": pa.array([1790000000123456789, 1], pa.timestamp("ns")),
        "far": pa.array([2**61, 0], pa.timestamp("ms")),
        "list": pa.array([[date(2026, 1, 2)], []], pa.list_(pa.date32())),
        "struct": pa.array([{"t": TIME, "b": b"\xff"}, None], pa.struct({"t": pa.timestamp("us"), "b": pa.binary()})),
        "names": pa.array(["x", "y"]).dictionary_encode(),
        "number": pa.array([1, 2**63], pa.uint64()),
    }
)


def test_rows_of_parquet_are_values_of_json(tmp_path):
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    path = tmp_path / "t.parquet"
    first, second = records_of(trace_file(path), Remarks())
    assert first.value["map"] == {"k": "2026-11-01T10:00:00.123456+00:00"}
    assert first.value["cost"] == {"total": 0.5}
    assert first.value["time"] == "2026-11-01T10:00:00.123456+00:00"
    assert first.value["nanoseconds"] == "2026-09-21T14:13:20.123456"
    assert first.value["list"] == ["2026-01-02"]
    assert first.value["struct"] == {"t": "2026-11-01T10:00:00.123456", "b": "\ufffd"}
    assert (second.value["names"], second.value["number"], second.value["map"], second.value["cost"]) == (
        "y",
        2**63,
        {},
        None,
    )
    assert isinstance(first.value["far"], str)
    json.dumps([first.value, second.value])
    assert second.origin.endswith("t.parquet row 2")


def test_parquet_is_read_in_batches_and_counted_over_all(tmp_path):
    parquet.write_table(pa.table({"n": range(2000)}), tmp_path / "t.parquet", row_group_size=700)
    records = list(records_of(trace_file(tmp_path / "t.parquet"), Remarks()))
    assert [record.value["n"] for record in records] == list(range(2000))
    assert records[-1].origin.endswith("row 2000")


def test_a_long_text_that_many_rows_share_needs_small_batches(tmp_path, monkeypatch):
    """The text is stored once: decoded at once, the rows would need their number times its size, which is limited."""
    parquet.write_table(pa.table({"t": ["x" * 100_000] * 300}), tmp_path / "t.parquet")
    monkeypatch.setenv(LIMIT_VARIABLE, "0.001")
    held = pa.total_allocated_bytes()
    records = records_of(trace_file(tmp_path / "t.parquet"), Remarks())
    for record in islice(records, 5):
        assert len(record.value["t"]) == 100_000
        assert pa.total_allocated_bytes() - held < 5e6
    with pytest.raises(DataError, match=r"more than 0\.001 GB"):
        list(records)


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1 garbage PAR1", b"no parquet"])
def test_damaged_parquet_is_refused(tmp_path, data):
    with pytest.raises(DataError, match="Parquet"):
        read(tmp_path, "x.parquet", data)


def test_rows_of_csv_are_text_of_any_length(tmp_path):
    long_text = 'a, "quoted"\nline ' * 20_000
    with (tmp_path / "w.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([["id", "text", "n"], ["007", long_text, ""], ["x", "zoë", "1"]])
    limit = 131_072  # Python's own
    csv.field_size_limit(limit)
    values, places, _ = read(tmp_path, "x.csv", (tmp_path / "w.csv").read_bytes())
    assert values == [{"id": "007", "text": long_text, "n": ""}, {"id": "x", "text": "zoë", "n": "1"}]
    assert places == [" row 1", " row 2"]
    assert csv.field_size_limit() == limit


def test_damaged_rows_of_csv_are_counted(tmp_path):
    data = b"a;b\n1;2\n1\n\n1;2;3\n\xff;2\n5;6\n"
    values, _, remarks = read(tmp_path, "x.csv", data)
    assert values == [{"a": "1", "b": "2"}, {"a": "5", "b": "6"}]
    assert remarks.counts == {"rows have another number of cells than the header": 2, "rows are not UTF-8": 1}


def test_of_two_columns_with_one_name_the_first_is_used(tmp_path):
    assert read(tmp_path, "x.csv", "id,id\n1,2\n")[0] == [{"id": "1"}]


def test_a_quote_that_is_never_closed_is_refused(tmp_path):
    with pytest.raises(DataError, match="this is no CSV"):
        read(tmp_path, "x.csv", 'a,b\n1,"2\n3,4\n')

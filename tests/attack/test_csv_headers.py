"""Long and odd headers: every column is read as text under the name that the parser saw, or the file is refused."""

from __future__ import annotations

import csv
import gzip
import json

import pytest

from deconfound.loading.csv import read_csv, sniff_delimiter
from deconfound.loading.jsonl import read_jsonl
from deconfound.loading.sources import read_table
from tests.support.studies import Good, as_csv, refused, write_study

LONG = 140_000  # more than the limit of Python's reader for one cell
LONG_HEADERS = {
    "one long name": ["x" * LONG],
    "many names": [f"column {k:06d}" for k in range(LONG // 10)],
    "quoted line breaks": [f"line\n{'x' * LONG}\nline"],
    "quotes": ['say "' + "x" * LONG + '"'],
    "letters of two bytes": ["ü" * (LONG // 2)],
}


def rows_with(extra: list[str]) -> list[dict[str, object]]:
    fill = dict.fromkeys(extra, "1")
    return [
        {**fill, "context": "question", "model": model, "outcome": "1"} for model in ("007", "7", "7.0", "2024-01-01")
    ]


@pytest.mark.parametrize("extra", LONG_HEADERS.values(), ids=LONG_HEADERS)
def test_columns_after_a_long_header_stay_text(extra):
    raw = read_csv(as_csv(rows_with(extra)), "log.csv")
    assert raw.arrow.column_names == [*extra, "context", "model", "outcome"]
    assert raw.arrow["model"].to_pylist() == ["007", "7", "7.0", "2024-01-01"]


@pytest.mark.parametrize("extra", LONG_HEADERS.values(), ids=LONG_HEADERS)
def test_the_same_in_a_compressed_file(tmp_path, extra):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(as_csv(rows_with(extra))))
    assert read_table(path, "log", "log").arrow["model"].to_pylist() == ["007", "7", "7.0", "2024-01-01"]


def test_the_limit_of_pythons_reader_is_restored():
    before = csv.field_size_limit()
    read_csv(as_csv(rows_with(["x" * LONG])), "log.csv")
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_found_after_a_name_with_line_breaks(delimiter):
    data = f'"a,;\n""b"{delimiter}model{delimiter}c\n1{delimiter}007{delimiter}2\n'.encode()
    assert sniff_delimiter(data) == delimiter
    assert read_csv(data, "log.csv").arrow["model"].to_pylist() == ["007"]


@pytest.mark.parametrize("header", [b'na"me;model', b'say "hi, you";model', b"'a;model"])
def test_a_quote_inside_a_name_does_not_hide_the_end_of_the_header(header):
    assert sniff_delimiter(header + b'\n"a, ""b"", c";1\n"x, y, z";"2"\n') == ";"


def test_a_header_that_two_parsers_read_differently_is_refused(tmp_path, monkeypatch):
    paths = write_study(tmp_path, Good(), "csv")
    monkeypatch.setattr("deconfound.loading.csv._read_header", lambda *_: ["context", "modle", "output", "outcome"])
    message = refused(**paths)
    assert 'replay.csv: the header can be read in two ways ("modle" or "model"). Write the column names' in message


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_and_blank_lines_before_the_header(end):
    data = end * 2 + b"model,context" + end + b"007,a" + end + b"7,b" + end
    assert read_csv(data, "log.csv").arrow["model"].to_pylist() == ["007", "7"]


def test_text_that_looks_like_a_time_stays_text_where_the_first_line_has_no_such_key():
    models = [None, "2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00:00Z"]
    lines = [{"context": "a"}, *({"context": "a", "model": model} for model in models)]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    assert read_jsonl(data, "log.jsonl").arrow["model"].to_pylist() == [None, *models]

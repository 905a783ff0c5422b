"""Blocks of a text file have the rows of the file, wherever they are cut."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random

import pyarrow as pa
import pytest

from deconfound.loading.csv import read_csv
from deconfound.loading.files import resolve_file
from deconfound.loading.jsonl import read_jsonl
from deconfound.loading.text_rows import TextRows

PIECES = ["a", "word ", '"', '""', ",", ";", "\n", "\r\n", "\n\n", "é", "日本", "\\N", " ", '",\n"', "x" * 40]


def cells(rng: random.Random, rows: int) -> list[list[str]]:
    return [["id", *("".join(rng.choices(PIECES, k=rng.randrange(6))) for _ in range(3))] for _ in range(rows)]


def as_text(table: list[list[str]], line_break: str, delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_break)
    writer.writerow(["name", "first", "second cell", "third"])
    writer.writerows(table)
    return text.getvalue().encode()


def read_in_blocks(path, batch_bytes: int) -> tuple[pa.Table, list[int]]:
    """All rows and their numbers, read in blocks, and again from each place where the file can be cut."""
    rows = TextRows.of(resolve_file(path, path.name), batch_bytes)
    blocks = list(rows.batches())
    for place, (_, rest) in enumerate(blocks if rows.can_be_cut else []):
        again = [row for raw, _ in rest.batches() for row in raw.arrow.to_pylist()]
        assert again == [row for raw, _ in blocks[place + 1 :] for row in raw.arrow.to_pylist()]
    numbers = [raw.row_numbers.number(row) for raw, _ in blocks for row in range(raw.arrow.num_rows)]
    tables = [raw.arrow for raw, _ in blocks if raw.arrow.num_rows]
    return pa.concat_tables(tables, promote_options="permissive"), numbers


@pytest.mark.parametrize("seed", range(20))
def test_a_csv_in_blocks_has_the_rows_of_the_whole(tmp_path, seed):
    rng = random.Random(seed)  # noqa: S311
    data = as_text(cells(rng, 30), rng.choice(["\n", "\r\n"]), rng.choice([",", ";", "\t"]))
    whole = read_csv(data, "log.csv")
    path = tmp_path / ("log.csv.gz" if seed % 3 == 0 else "log.csv")
    path.write_bytes(gzip.compress(data) if seed % 3 == 0 else data)
    for batch_bytes in (60, 200, 10_000):
        table, numbers = read_in_blocks(path, batch_bytes)
        assert table.to_pylist() == whole.arrow.to_pylist()
        assert numbers == [whole.row_numbers.number(row) for row in range(whole.arrow.num_rows)]


@pytest.mark.parametrize("seed", range(8))
def test_lines_in_blocks_are_the_lines_of_the_whole(tmp_path, seed):
    rng = random.Random(seed)  # noqa: S311
    lines = [json.dumps(dict(zip("abcd", row, strict=True)), ensure_ascii=False) for row in cells(rng, 30)]
    data = ("\n".join(rng.choice(["", "\n", " \n"]) + line for line in lines) + rng.choice(["", "\n"])).encode()
    whole = read_jsonl(data, "log.jsonl")
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    for batch_bytes in (60, 200, 10_000):
        table, numbers = read_in_blocks(path, batch_bytes)
        assert table.to_pylist() == whole.arrow.to_pylist()
        assert numbers == [whole.row_numbers.number(row) for row in range(whole.arrow.num_rows)]

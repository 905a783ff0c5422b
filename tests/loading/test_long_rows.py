"""Logs whose rows are long once they are decoded: dictionaries of long prompts, and very long cells."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.data import RowNumbers
from deconfound.errors import Problem
from deconfound.loading import convert, evidence_texts, load, parquet_size
from deconfound.loading.decoded_size import decode_dictionary, decoded_bytes
from deconfound.loading.files import resolve_file
from deconfound.loading.log_files import MIN_HEAD_ROWS, open_log
from deconfound.loading.log_plan import LogPlan
from deconfound.loading.log_size import LongLog
from deconfound.loading.parquet_rows import ParquetRows, parquet_parts
from deconfound.loading.parquet_size import ParquetSize
from deconfound.loading.raw import Column
from tests.loading.test_log_size import no_sizes
from tests.loading.test_long_log import assert_same

BATCH_BYTES = 50_000
PROMPTS = [f"{number} {'word ' * 400}" for number in range(3)]  # 2 KB
SIZES = LongLog(min_rows=0, min_bytes=0, batch_bytes=BATCH_BYTES, head_bytes=60_000)


def categories(rows: int, prompts: list[str] = PROMPTS) -> pa.Table:
    """Prompts as a category, one of which is missing in some rows of an unused column."""
    context = pa.array([prompts[number % len(prompts)] for number in range(rows)]).dictionary_encode()
    return pa.table(
        {
            "context": context,
            "model": pa.array(["ant", "bee"] * (rows // 2)).dictionary_encode(),
            "output": [f"output {number}" for number in range(rows)],
            "outcome": [float(number % 2) for number in range(rows)],
            "other": pa.array([None if number % 2 else "x" for number in range(rows)]).dictionary_encode(),
        }
    )


def saved(path: Path, table: pa.Table, **options: object) -> Path:
    pq.write_table(table, path, **options)
    return path


def around(prompts: list[str] = PROMPTS) -> dict[str, pa.Table]:
    """An experiment and a replay on the prompts."""
    rows = [{"context": text, "model": model, "output": "fine"} for text in prompts for model in ("ant", "bee")]
    experiment = pa.Table.from_pylist([row | {"outcome": float(at % 2)} for at, row in enumerate(rows * 5)])
    return {"experiment": experiment, "replay": pa.Table.from_pylist(rows)}


def test_bytes_of_a_dictionary_are_those_of_its_values():
    texts = pa.chunked_array([pa.array(["a", None, "bcd", "a"]).dictionary_encode()])
    nested = pa.array([[{"t": "ab"}], [], [{"t": "ab"}]]).cast(pa.list_(pa.struct([("t", pa.string())])))
    numbers = pa.chunked_array([pa.array([1, 2, 1, None]).dictionary_encode()])
    assert decoded_bytes(pa.table({"t": texts})) == 5 + 4 * 4
    assert decoded_bytes(pa.table({"n": numbers})) == 4 * 8
    assert decoded_bytes(pa.table({"l": nested})) >= 4
    assert decode_dictionary(texts)[0].to_pylist() == texts.to_pylist()


def test_a_dictionary_of_more_than_fits_into_plain_strings_is_decoded(monkeypatch):
    monkeypatch.setattr("deconfound.loading.decoded_size.LARGE_TEXT_BYTES", 10)
    texts = pa.chunked_array([pa.array(["long text", None, "long text"]).dictionary_encode()])
    values, kind = decode_dictionary(texts)
    assert (values.type, kind) == (pa.large_string(), pa.large_string())
    assert values.to_pylist() == texts.to_pylist()


def test_batches_of_categories_are_bounded_by_what_they_decode_to(tmp_path):
    path = saved(tmp_path / "log.parquet", categories(1_000))
    batches = [
        raw.arrow
        for part in parquet_parts(resolve_file(path, "log.parquet"), 1 << 16, BATCH_BYTES, 1 << 28)
        for raw, _ in part.batches()
    ]
    assert pa.types.is_dictionary(pq.read_schema(path).field("context").type)
    assert {batch["context"].type for batch in batches} == {pa.string()}
    assert max(batch.nbytes for batch in batches) <= BATCH_BYTES
    assert pa.concat_tables(batches).to_pylist() == categories(1_000).to_pylist()


@pytest.mark.parametrize("in_memory", [False, True])
def test_the_first_rows_of_categories_are_bounded(tmp_path, in_memory):
    table = categories(1_000)
    source = table if in_memory else saved(tmp_path / "log.parquet", table)
    assert decoded_bytes(open_log(source, "log", {}, SIZES).head.arrow) <= 70_000


def test_categories_count_as_often_as_they_are_used(tmp_path, monkeypatch):
    no_sizes(monkeypatch)
    path = saved(tmp_path / "log.parquet", categories(1_000))
    assert LongLog(min_bytes=1_800_000).applies_to(path)
    assert not LongLog(min_bytes=2_400_000).applies_to(path)


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_log_of_categories_in_batches_is_the_same_study(tmp_path, in_memory):
    table = categories(200)
    source = table if in_memory else saved(tmp_path / "log.parquet", table)
    study = load(log=source, **around(), long_log=SIZES)
    assert max(log.arrow.nbytes for part in study.log_stream.parts for log in part.batches()) < 2 * BATCH_BYTES
    assert_same(study, load(log=table, **around()))


LONG = [f"{number} {'word ' * 40_000}" for number in range(3)]  # 200 KB
LONG_SIZES = LongLog(min_rows=0, min_bytes=0, batch_bytes=500_000, head_bytes=60_000)


def plain(table: pa.Table, kind: pa.DataType) -> pa.Table:
    return table.set_column(0, "context", table["context"].cast(pa.string()).cast(kind))


@pytest.mark.parametrize("footer", ["sizes", "no sizes"])
def test_few_long_rows_are_decoded_at_once(tmp_path, monkeypatch, footer):
    if footer == "no sizes":
        no_sizes(monkeypatch)
    path = saved(tmp_path / "log.parquet", plain(categories(60, LONG), pa.large_string()), row_group_size=40)
    decoded = []
    pieces = ParquetRows._pieces
    monkeypatch.setattr(ParquetRows, "_pieces", lambda self, rows: decoded.append(rows.nbytes) or pieces(self, rows))
    parts = parquet_parts(resolve_file(path, "log.parquet"), 1 << 16, 500_000, 1 << 28)
    assert sum(raw.arrow.num_rows for part in parts for raw, _ in part.batches()) == 60
    assert max(decoded) <= 500_000


def test_few_long_rows_are_probed(tmp_path, monkeypatch):
    no_sizes(monkeypatch)
    monkeypatch.setattr(parquet_size, "PROBED_BYTES", 500_000)
    path = saved(tmp_path / "log.parquet", categories(60, LONG))
    measured = []
    monkeypatch.setattr(parquet_size, "decoded_bytes", lambda rows: measured.append(rows.num_rows) or 1_000_000)
    ParquetSize.of(path).probe()
    assert measured == [4]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_log_of_long_cells_in_batches_is_the_same_study(tmp_path, kind):
    table = plain(categories(60, LONG), kind)
    study = load(log=saved(tmp_path / "log.parquet", table, row_group_size=40), **around(LONG), long_log=LONG_SIZES)
    assert_same(study, load(log=table, **around(LONG)))


def plan_of(table: pa.Table, path: Path, monkeypatch: pytest.MonkeyPatch) -> LogPlan:
    plans = []
    made = LogPlan.of
    monkeypatch.setattr(LogPlan, "of", lambda more, head: plans.append(made(more, head)) or plans[-1])
    load(log=saved(path / "log.parquet", table), **around(LONG), long_log=LONG_SIZES)
    return plans[0]


def test_first_rows_above_every_batch_have_short_texts_and_all_values(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence_texts, "MAX_EVIDENCE_BYTES", 100_000)
    plan = plan_of(plain(categories(60, LONG), pa.string()), tmp_path, monkeypatch)
    assert decoded_bytes(plan.evidence.arrow) < 150_000
    assert plan.evidence.arrow.num_rows == MIN_HEAD_ROWS
    assert plan.expected["outcome"].to_pylist() == [float(number % 2) for number in range(MIN_HEAD_ROWS)]


def test_first_rows_with_messages_stay_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence_texts, "MAX_EVIDENCE_BYTES", 100_000)
    table = categories(60, LONG)
    messages = [json.dumps([{"role": "user", "content": text}]) for text in table["context"].to_pylist()]
    plan = plan_of(table.set_column(0, "context", pa.array(messages)), tmp_path, monkeypatch)
    assert decoded_bytes(plan.evidence.arrow) > 1_000_000


def test_texts_too_long_for_one_table_are_not_called_invalid(monkeypatch):
    column = Column("context", pa.chunked_array([["fine", "also"]]), "log.parquet", RowNumbers())

    def overflow(_chunk: pa.Array) -> list[pa.Array]:
        raise pa.ArrowInvalid("offset overflow")

    monkeypatch.setattr(convert, "_split_chunk", overflow)
    problems: list[Problem] = []
    assert convert.as_strings(column, problems) is None
    assert [str(problem.where) for problem in problems] == ["log.parquet"]
    assert "too long" in problems[0].what

"""Faults in the middle of a long log end in an error with the file and its rows, never in other numbers."""

from __future__ import annotations

import gzip
import multiprocessing
import os
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.errors import DataError
from deconfound.loading import load
from deconfound.loading.log_files import MIN_HEAD_BYTES, open_log
from deconfound.loading.row_ends import end_of_rows
from tests.loading.test_long_log import assert_same, in_batches, messages, rows_of
from tests.support.studies import Good, as_csv, as_jsonl, as_parquet, tables

WRITERS = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}


def long_rows(count: int = 60) -> list[dict]:
    rows = Good().log
    return [rows[number % len(rows)] | {"outcome": number % 2, "user_id": f"u{number}"} for number in range(count)]


def save(folder, rows: list[dict], ending: str = "csv", files: int = 1) -> dict:
    """The log in files of a folder, experiment and replay in memory."""
    others = tables(Good())
    (folder / "log").mkdir(exist_ok=True)
    size = -(-len(rows) // files)
    for at in range(files):
        data = WRITERS[ending](rows[at * size : (at + 1) * size])
        (folder / "log" / f"part-{at}.{ending}").write_bytes(data)
    return {"log": folder / "log", "experiment": others["experiment"], "replay": others["replay"]}


def refused(arguments: dict, rows: int = 5, head_rows: int = 10) -> str:
    with pytest.raises(DataError) as caught:
        load(**arguments, long_log=in_batches(rows, head_rows=head_rows))
    return str(caught.value)


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("files", [1, 3])
def test_files_in_batches_are_the_same_study(tmp_path, ending, files):
    arguments = save(tmp_path, long_rows(), ending, files)
    study, whole = load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments)
    assert_same(study, whole)
    assert messages(study) == messages(whole)


def test_a_truncated_parquet_file_in_a_folder_is_named(tmp_path):
    arguments = save(tmp_path, long_rows(), "parquet", files=3)
    path = tmp_path / "log" / "part-1.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert "part-1.parquet: the Parquet data is damaged or cut off" in refused(arguments)


@pytest.mark.parametrize(("start", "place"), [(4, ", in its first rows"), (500, "")])
def test_damaged_pages_of_a_parquet_file_are_named(tmp_path, start, place):
    rows = [row | {"output": os.urandom(40).hex()} for row in long_rows(400)]
    arguments = save(tmp_path, rows, "parquet", files=2)
    path = tmp_path / "log" / "part-1.parquet"
    data = bytearray(path.read_bytes())
    data[start:3000] = b"\xff" * (3000 - start)
    path.write_bytes(bytes(data))
    text = refused(arguments)
    assert text.startswith(f"part-1.parquet{place}")
    assert "row 0" not in text


def test_a_flipped_bit_is_found_where_pages_have_checksums(tmp_path):
    rows = [row | {"output": os.urandom(40).hex()} for row in long_rows(400)]
    arguments = save(tmp_path, rows, "parquet")
    (path,) = (tmp_path / "log").iterdir()
    pq.write_table(pq.read_table(path), path, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[data.index(rows[300]["output"].encode())] ^= 1
    path.write_bytes(bytes(data))
    assert "the Parquet data is damaged" in refused(arguments)
    with pytest.raises(DataError, match="the Parquet data is damaged"):
        load(**arguments)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_texts_that_are_views_are_read(tmp_path, kind):
    arguments = save(tmp_path, long_rows(), "parquet")
    whole = load(**arguments)
    (path,) = (tmp_path / "log").iterdir()
    table = pq.read_table(path)
    for name in ("context", "model", "output"):
        texts = pa.array(table[name].to_pylist(), pa.string())
        views = texts.cast(pa.binary()).cast(kind) if pa.types.is_binary_view(kind) else texts.cast(kind)
        table = table.set_column(table.column_names.index(name), name, views)
    pq.write_table(table, path)
    for given in (arguments, arguments | {"log": table}):
        assert rows_of(load(**given).log.arrow) == rows_of(whole.log.arrow)
        assert_same(load(**given, long_log=in_batches(5, head_rows=10)), whole)


@pytest.mark.parametrize("stray", ['5" screen', '"a "quoted" word', 'a 5" and a 6" screen'])
def test_a_quote_inside_a_cell_does_not_join_all_rows_after_it(stray):
    """The end of the rows of a block is that of its last but one row, as the reader of CSV files has it."""
    data = ("".join(f"{stray if at == 0 else at},x\n" for at in range(300)) + "half").encode()
    end = end_of_rows(data, ",", b"\n")
    assert end >= data.rindex(b"299,x\n")
    assert data[:end].endswith(b"\n")


def test_a_file_with_other_columns_is_named(tmp_path):
    arguments = save(tmp_path, long_rows(), "csv", files=3)
    rows = [{name: value for name, value in row.items() if name != "outcome"} for row in long_rows()]
    (tmp_path / "log" / "part-1.csv").write_bytes(as_csv(rows))
    assert 'part-1.csv: there is no column "outcome", which part-0.csv has' in refused(arguments)


def test_a_file_of_lines_without_a_key_is_named(tmp_path):
    arguments = save(tmp_path, long_rows(), "jsonl", files=3)
    rows = [{name: value for name, value in row.items() if name != "outcome"} for row in long_rows()]
    (tmp_path / "log" / "part-1.jsonl").write_bytes(as_jsonl(rows))
    assert 'part-1.jsonl: there is no column "outcome", which part-0.jsonl has' in refused(arguments)


def test_a_corrupt_gzip_in_a_folder_is_named(tmp_path):
    arguments = save(tmp_path, long_rows(), "csv")
    (tmp_path / "log" / "part-0.csv").unlink()
    whole = gzip.compress(as_csv([row | {"output": os.urandom(400).hex()} for row in long_rows(600)]), mtime=0)
    (tmp_path / "log" / "a.csv.gz").write_bytes(whole)
    (tmp_path / "log" / "b.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "log" / "c.csv.gz").write_bytes(whole)
    assert "b.csv.gz: the gzip data is cut off" in refused(arguments, rows=100)


def test_a_cut_off_csv_file_has_its_columns(tmp_path):
    """Its first rows are read in a smaller block, and are right; the block of the whole file cannot be read."""
    arguments = save(tmp_path, long_rows(12_000), "csv", files=3)
    path = tmp_path / "log" / "part-2.csv"
    path.write_bytes(path.read_bytes() + b'x,"never closed')
    size = path.stat().st_size
    assert size > MIN_HEAD_BYTES
    with pytest.raises(DataError) as caught:
        load(**arguments, long_log=replace(in_batches(5_000, head_rows=10), batch_bytes=size))
    assert "part-2.csv row" in str(caught.value)
    assert "first rows of its files" not in str(caught.value)
    assert "there is no column" not in str(caught.value)


def test_decimal_commas_of_one_file_stay_in_its_rows(tmp_path):
    folder = save(tmp_path, long_rows(4), "csv", files=2)
    for at, outcomes in enumerate((("0.1", "0.2"), ('"0,3"', '"0,4"'))):
        path = tmp_path / "log" / f"part-{at}.csv"
        head, *lines = path.read_text().splitlines()
        place = head.split(",").index("outcome")
        cells = [line.split(",") for line in lines]
        for row, outcome in zip(cells, outcomes, strict=True):
            row[place] = outcome
        path.write_text("\n".join([head, *(",".join(row) for row in cells)]) + "\n")
    assert sorted(load(**folder).log.arrow["outcome"].to_pylist()) == [0.1, 0.2, 0.3, 0.4]
    by_user = load(**folder).log.arrow.select(["cluster", "outcome"]).to_pylist()
    assert {row["cluster"]: row["outcome"] for row in by_user} == {"u0": 0.1, "u1": 0.2, "u2": 0.3, "u3": 0.4}


def test_counts_of_the_first_rows_are_said_to_be_that(tmp_path):
    rows = [row | {"outcome": 5 if at >= 40 else row["outcome"]} for at, row in enumerate(long_rows())]
    text = refused(save(tmp_path, rows, "csv", files=3), head_rows=20)
    assert "is outside 0 to 1" in text
    assert "Reading a long log stopped after the first rows of its files; numbers of rows above are among these" in text
    without = [{name: value for name, value in row.items() if name != "output"} for row in rows]
    text = refused(save(tmp_path, without, "csv", files=3), head_rows=20)
    assert text.endswith("first rows of its files. Correct what is named, and run it again.")


def test_invalid_utf_8_in_the_last_block_is_named_with_its_line(tmp_path):
    arguments = save(tmp_path, long_rows(), "csv")
    path = tmp_path / "log" / "part-0.csv"
    path.write_bytes(path.read_bytes() + b"question 1,ant,caf\xe9,1,u\n")
    assert "log line 62: byte" in refused(arguments)


def test_a_quoted_line_break_is_no_end_of_a_row(tmp_path):
    rows = [row | {"output": f'two\nlines, "quoted" {number}\n\n'} for number, row in enumerate(long_rows())]
    arguments = save(tmp_path, rows, "csv")
    assert_same(load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments))


def test_a_quote_inside_an_unquoted_cell_opens_nothing(tmp_path):
    arguments = save(tmp_path, long_rows(), "csv")
    path = tmp_path / "log" / "part-0.csv"
    path.write_bytes(path.read_bytes().replace(b"question 3", b'a 5" pipe'))
    study, whole = load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments)
    assert_same(study, whole)


def test_one_row_may_be_longer_than_a_batch(tmp_path):
    rows = long_rows()
    rows[30]["output"] = "long " * 5_000
    for ending in ("csv", "jsonl"):
        folder = tmp_path / ending
        folder.mkdir()
        arguments = save(folder, rows, ending)
        assert_same(load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments))


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_that_changes_between_two_readings_is_named(tmp_path, ending):
    study = load(**save(tmp_path, long_rows(), ending), long_log=in_batches(5, head_rows=10))
    path = tmp_path / "log" / f"part-0.{ending}"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DataError, match="log: the file was changed while the log was read"):
        list(study.log_stream.parts[0].batches())
    path.unlink()
    with pytest.raises(DataError, match="log: the file is gone"):
        list(study.log_stream.parts[-1].batches())


def changed(column: str, value: object, start: int = 40) -> list[dict]:
    rows = long_rows()
    return [*rows[:start], *(row | {column: value} for row in rows[start:])]


@pytest.mark.parametrize(
    ("rows", "ending", "fragments"),
    [
        (changed("outcome", "yes"), "csv", ("log row 41",)),
        (changed("outcome", "0,5"), "csv", None),
        (changed("outcome", 1.7), "csv", ("log row 41", "outside 0 to 1")),
        (changed("outcome", "1"), "jsonl", ("log line 41", "type")),
        (changed("model", 7), "jsonl", ("log line 41", "type")),
        (changed("output", None), "jsonl", ("log line 41", "output has no value")),
        (changed("context", ""), "csv", ("log row 41", "context is blank")),
        (changed("context_id", "new"), "jsonl", ("line 1", "context_id has no value")),
        (changed("score", 1), "jsonl", None),
    ],
)
def test_rows_that_are_written_differently_are_refused_with_their_numbers(tmp_path, rows, ending, fragments):
    folder = tmp_path
    others = save(folder, long_rows(), ending)
    data = as_csv(rows) if ending == "csv" else as_jsonl(rows)
    (folder / "log" / f"part-0.{ending}").write_bytes(data)
    if fragments is None:
        study, whole = load(**others, long_log=in_batches(5, head_rows=10)), load(**others)
        assert_same(study, whole)
        assert messages(study) == messages(whole)
        return
    message = refused(others)
    for fragment in fragments:
        assert fragment in message


def test_decimal_points_after_decimal_commas_are_refused(tmp_path):
    rows = long_rows()
    texts = ["0,25"] * 20 + ["1"] * 20 + ["0.5"] * 20
    rows = [row | {"outcome": text} for row, text in zip(rows, texts, strict=True)]
    others = save(tmp_path, rows, "csv")
    (tmp_path / "log" / "part-0.csv").write_bytes(as_csv(rows, ";"))
    assert "0,25" in refused(others)  # the first rows cannot be read beside decimal points


def test_words_and_numbers_far_apart_are_refused(tmp_path):
    """A batch of numbers after a batch of words means nothing else than both in one batch."""
    rows = [row | {"outcome": "yes" if number < 30 else 0.4} for number, row in enumerate(long_rows())]
    message = refused(save(tmp_path, rows, "csv"))
    assert "number among words" in message or "word among numbers" in message


def test_a_user_that_is_missing_far_below_leaves_the_column_out(tmp_path):
    rows = long_rows()
    rows[47]["user_id"] = ""
    arguments = save(tmp_path, rows, "csv")
    study, whole = load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments)
    assert "cluster" not in study.log.arrow.column_names
    assert_same(study, whole)
    assert {(check, message.partition(" This is about")[0]) for check, _, message in messages(study)} == {
        (check, message) for check, _, message in messages(whole)
    }


def test_rows_without_an_outcome_are_counted_and_sampled(tmp_path):
    rows = [row | {"outcome": None if number % 3 else 1} for number, row in enumerate(long_rows())]
    arguments = save(tmp_path, rows, "jsonl")
    study, whole = load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments)
    assert_same(study, whole)
    assert messages(study) == messages(whole)
    assert sum(study.log_stream.counts.unrated.values()) == 40


def test_at_most_twenty_problems_are_read(tmp_path):
    rows = [row | {"outcome": 5 + number} for number, row in enumerate(long_rows(4000))]
    message = refused(save(tmp_path, [*long_rows(), *rows], "csv"), rows=10)
    assert len(message.splitlines()) <= 21


def test_conditions_choose_rows_that_begin_far_below(tmp_path):
    rows = [row | {"env": "prod" if number >= 45 else "test"} for number, row in enumerate(long_rows())]
    arguments = save(tmp_path, rows, "csv") | {"where": ["log.env=prod"]}
    study, whole = load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments)
    assert_same(study, whole)
    assert messages(study) == messages(whole)


def test_a_condition_that_no_row_fulfills_is_refused(tmp_path):
    rows = [row | {"env": "test"} for row in long_rows()]
    assert 'no row has the value "prod" in column "env"' in refused(save(tmp_path, rows) | {"where": ["env=prod"]})


def test_words_and_models_that_no_row_has_are_refused(tmp_path):
    arguments = save(tmp_path, long_rows())
    assert "no outcome is meh" in refused(arguments | {"outcome_values": {"meh": 0.5, "1": 1, "0": 0}})
    assert 'there is no model "dog" to rename' in refused(arguments | {"rename_models": {"dog": "ant"}})


def test_ids_with_two_texts_are_refused(tmp_path):
    good = Good()
    for row in good.all_rows():
        row["context_id"] = row["context"].split()[-1]
    rows = [good.log[number % 12] | {"outcome": 1} for number in range(60)]
    rows[50] = rows[50] | {"context": "another question"}
    arguments = save(tmp_path, rows) | {role: tables(good)[role] for role in ("experiment", "replay")}
    assert "has a different text in" in refused(arguments)


@pytest.mark.parametrize("lacking", ["log", "experiment", "replay"])
@pytest.mark.parametrize("column", ["context", "context_id"])
def test_contexts_are_aligned_between_tables(tmp_path, lacking, column):
    good = Good()
    for row in good.all_rows():
        row["context_id"] = f"id {row['context'].split()[-1]}"
    for row in getattr(good, lacking):
        del row[column]
    rows = [good.log[number % 12] | {"outcome": number % 2, "user_id": f"u{number}"} for number in range(60)]
    arguments = save(tmp_path, rows) | {role: tables(good)[role] for role in ("experiment", "replay")}
    study, whole = load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments)
    assert_same(study, whole)


def test_tables_in_memory_are_cut_into_slices():
    rows = long_rows()
    others = tables(Good())
    arrow = pa.Table.from_pylist(rows)
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for log in (arrow, pandas.DataFrame(rows), polars.DataFrame(rows)):
        arguments = {"log": log, "experiment": others["experiment"], "replay": others["replay"]}
        assert_same(load(**arguments, long_log=in_batches(7, head_rows=10)), load(**arguments))


def test_a_short_log_is_read_as_a_whole(tmp_path):
    assert load(**save(tmp_path, long_rows())).log_stream is None


def test_a_log_in_the_experiments_file_shares_no_row_with_it(tmp_path):
    rows = [row | {"arm": "exp" if number % 4 == 0 else "log"} for number, row in enumerate(long_rows())]
    arguments = save(tmp_path, rows)
    arguments["experiment"] = arguments["log"]
    apart = arguments | {"where": ["log.arm=log", "experiment.arm=exp"]}
    assert_same(load(**apart, long_log=in_batches(5, head_rows=10)), load(**apart))
    both = arguments | {"where": ["log.arm=log,exp", "experiment.arm=exp"]}
    assert "in the log and in the experiment" in refused(both)


def test_parts_begin_and_end_between_rows(tmp_path):
    study = load(**save(tmp_path, long_rows(600), "csv"), long_log=in_batches(50, head_rows=10))
    parts = study.log_stream.parts
    assert len(parts) > 10
    numbers = [n for part in parts for log in part.batches() for n in log.row_numbers.numbers.tolist()]
    assert numbers == list(range(1, 601))


def test_row_groups_are_parts(tmp_path):
    arguments = save(tmp_path, long_rows())
    (tmp_path / "log" / "part-0.csv").unlink()
    pq.write_table(pa.Table.from_pylist(long_rows(600)), tmp_path / "log" / "a.parquet", row_group_size=50)
    study = load(**arguments, long_log=in_batches(50, head_rows=10))
    assert len(study.log_stream.parts) > 5
    numbers = [n for part in study.log_stream.parts for log in part.batches() for n in log.row_numbers.numbers.tolist()]
    assert numbers == list(range(1, 601))


def rows_in(part) -> int:
    return sum(len(log) for log in part.batches())


def test_a_part_can_be_read_in_another_process(tmp_path):
    """A part is plain data: no open file, nothing that a new process does not have."""
    study = load(**save(tmp_path, long_rows(), "csv", files=2), long_log=in_batches(5, head_rows=10))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert sum(pool.map(rows_in, study.log_stream.parts)) == study.log_stream.rows == 60


def test_files_without_rows_change_nothing(tmp_path):
    arguments = save(tmp_path, long_rows(), "parquet", files=2)
    folder = tmp_path / "log"
    pq.write_table(pa.Table.from_pylist(long_rows()).slice(0, 0), folder / "a.parquet")
    study, whole = load(**arguments, long_log=in_batches(5, head_rows=10)), load(**arguments)
    assert_same(study, whole)
    for path in folder.iterdir():
        path.unlink()
    arguments = save(tmp_path, long_rows(), "csv", files=2)
    (folder / "a.csv").write_bytes(as_csv(long_rows()).split(b"\n")[0] + b"\n")
    rows = long_rows()
    rows[50]["outcome"] = 7
    (folder / "part-1.csv").write_bytes(as_csv(rows[30:]))
    assert "part-1.csv row 21: outcome 7 is outside" in refused(arguments)


def test_problems_name_the_row_in_its_own_file(tmp_path):
    rows = long_rows()
    rows[50]["outcome"] = 7
    for ending, place in (("csv", "part-2.csv row 11"), ("jsonl", "part-2.jsonl line 11"), ("parquet", "row 11")):
        folder = tmp_path / ending
        folder.mkdir()
        assert f"{place}: outcome 7 is outside 0 to 1" in refused(save(folder, rows, ending, files=3))


def test_texts_that_are_stored_once_and_used_often_make_small_batches(tmp_path):
    rows = [row | {"output": "the same long answer " * 50} for row in long_rows(400)]
    arguments = save(tmp_path, rows, "parquet")
    study = load(**arguments, long_log=replace(in_batches(400, head_rows=10), batch_bytes=20_000))
    sizes = [len(log) for part in study.log_stream.parts for log in part.batches()]
    assert sum(sizes) == 400
    assert max(sizes) <= 20


def test_batches_are_small_where_only_later_texts_are_long(tmp_path):
    rows = [
        row | {"output": f"an answer {'and more ' * (200 if at > 2_000 else 1)}"}
        for at, row in enumerate(long_rows(2_400))
    ]
    arguments = save(tmp_path, rows, "parquet")
    sizes = replace(in_batches(1 << 16, head_rows=10), batch_bytes=100_000)
    batches = [log.arrow for part in load(**arguments, long_log=sizes).log_stream.parts for log in part.batches()]
    assert sum(len(batch) for batch in batches) == 2_400
    assert max(batch["output"].nbytes for batch in batches) < 120_000
    assert max(len(batch) for batch in batches) > 800


@pytest.mark.parametrize("ending", WRITERS)
def test_few_first_rows_are_read_where_they_are_long(tmp_path, ending):
    rows = [row | {"output": f"{at} {'long ' * 200}"} for at, row in enumerate(long_rows(400))]
    folder = save(tmp_path, rows, ending)["log"]
    sizes = replace(in_batches(1_000, head_rows=300), batch_bytes=30_000)
    for head_bytes, fewest, most in ((1, 20, 20), (100_000, 80, 100), (1 << 20, 300, 300)):
        head = open_log(folder, "log", {}, replace(sizes, head_bytes=head_bytes)).head
        assert fewest <= head.arrow.num_rows <= most
        assert head.row_numbers.numbers.tolist() == list(range(1, head.arrow.num_rows + 1))

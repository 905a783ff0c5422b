"""Every kind of file and data frame gives the same tables, whatever text its cells contain."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deconfound.errors import UsageError
from deconfound.loading import csv, jsonl, jsonl_arrow, load
from tests.support.studies import ROLES, Good, as_csv, as_jsonl, good_with, refused, same, tables, write_study

COMPRESS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.fixture(scope="module")
def reference():
    return load(**tables(Good()))


@pytest.mark.parametrize("extension", COMPRESS)
@pytest.mark.parametrize(("ending", "writer"), [("csv", as_csv), ("jsonl", as_jsonl), ("ndjson", as_jsonl)])
def test_text_formats_give_the_same_tables(tmp_path, reference, ending, writer, extension):
    paths = {}
    for role in ROLES:
        paths[role] = tmp_path / f"{role}.{ending}{extension}"
        paths[role].write_bytes(COMPRESS[extension](writer(getattr(Good(), role))))
    assert same(load(**paths), reference)


def test_parquet_and_every_data_frame_give_the_same_tables(tmp_path, reference):
    assert same(load(**write_study(tmp_path, Good(), "parquet")), reference)
    assert same(load(**{role: pd.DataFrame(getattr(Good(), role)) for role in ROLES}), reference)
    assert same(load(**{role: pl.DataFrame(getattr(Good(), role)) for role in ROLES}), reference)


# Python's csv writer does not quote a carriage return, which every reader takes for the end of the row.
cell_text = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=20)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(outputs=st.lists(cell_text, min_size=18, max_size=18), data=st.data())
def test_any_text_survives_every_format(tmp_path, outputs, data):
    good = Good()
    question = data.draw(cell_text.filter(lambda text: text.strip()))
    for row, output in zip(good.replay, outputs, strict=True):
        row["output"] = output
    for row in good.all_rows():
        row["context"] = f"{question} {row['context']}"
    expected = load(**tables(good))
    for ending in ("csv", "jsonl", "parquet"):
        assert same(load(**write_study(tmp_path, good, ending)), expected)


def test_messages_name_a_file_by_its_name_and_a_frame_by_its_type(tmp_path, reference):
    study = load(**write_study(tmp_path, Good(), "csv"))
    assert study.log.source == "log.csv"
    assert load(**tables(Good()) | {"log": pd.DataFrame(Good().log)}).log.source == "log (DataFrame)"
    assert reference.replay.source == "replay (Table)"


def test_files_of_one_name_in_different_folders_are_named_by_role(tmp_path):
    paths = {}
    for role in ROLES:
        paths[role] = tmp_path / role / "rows.csv"
        paths[role].parent.mkdir()
        paths[role].write_bytes(as_csv(getattr(Good(), role)))
    assert load(**paths).experiment.source == "experiment rows.csv"


# Text files


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_separator_is_detected_in_the_header(tmp_path, reference, delimiter):
    paths = write_study(tmp_path, Good(), "csv")
    for role in ROLES:
        Path(paths[role]).write_bytes(as_csv(getattr(Good(), role), delimiter))
    assert same(load(**paths), reference)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_byte_order_mark_windows_line_ends_and_blank_lines_are_ignored(tmp_path, reference, ending):
    paths = write_study(tmp_path, Good(), ending)
    for path in map(Path, paths.values()):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert same(load(**paths), reference)


def test_a_byte_order_mark_is_not_part_of_the_first_column_name(tmp_path):
    good = Good()
    for rows in (good.log, good.experiment, good.replay):
        rows[:] = [{"context_id": "00" + row["context"][-1], **row} for row in rows]
    paths = write_study(tmp_path, good, "csv")
    for path in map(Path, paths.values()):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(**paths).log.arrow["context_id"][0].as_py() == "000"


def test_quotes_inside_unquoted_cells_and_line_breaks_inside_quoted_ones_are_text(tmp_path):
    paths = write_study(tmp_path, Good(), "csv")
    path = Path(paths["log"])
    path.write_bytes(path.read_bytes() + b'a 5" pipe,ant,"two\r\nlines, ""quoted""\r",1\n')
    row = load(**paths).log.arrow.slice(12).to_pylist()[0]
    assert (row["context"], row["output"]) == ('a 5" pipe', 'two\r\nlines, "quoted"\r')


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_cells_of_ten_megabytes_are_read(tmp_path, ending):
    good = Good()
    good.log[3]["output"] = good.log[8]["output"] = "x" * 10_000_000
    study = load(**write_study(tmp_path, good, ending))
    assert len(study.log.arrow["output"][8].as_py()) == 10_000_000


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_cell_may_be_larger_than_the_blocks_in_which_a_file_is_read(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(csv, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(jsonl_arrow, "BLOCK_BYTES", 1 << 12)
    monkeypatch.delattr(jsonl, "_read_line_by_line")
    good = Good()
    good.log[3]["output"] = "x" * (1 << 16)
    study = load(**write_study(tmp_path, good, ending))
    assert len(study.log.arrow["output"][3].as_py()) == 1 << 16


def test_brackets_inside_strings_do_not_count_as_nesting(tmp_path):
    good = Good()
    good.log[0]["output"] = '{"[' * 5000
    assert load(**write_study(tmp_path, good, "jsonl")).log.arrow["output"][0].as_py() == '{"[' * 5000


def test_ids_keep_their_leading_zeros(tmp_path):
    good = Good()
    for row in good.all_rows():
        row["context_id"] = "00" + row["context"][-1]
    study = load(**write_study(tmp_path, good, "csv"))
    assert study.log.arrow["context_id"][0].as_py() == "000"


def test_text_that_looks_like_a_date_or_a_missing_value_stays_text(tmp_path):
    good = Good()
    for row in good.replay:
        row["output"] = "2024-01-01"
    good.replay[0]["output"] = "NA"
    for ending in ("csv", "jsonl"):
        study = load(**write_study(tmp_path, good, ending))
        assert study.replay.arrow["output"].to_pylist()[:2] == ["NA", "2024-01-01"]


def test_a_column_of_dates_stays_text(tmp_path):
    good = good_with(replay=lambda row: row.update(output="2024-01-01"))
    study = load(**write_study(tmp_path, good, "jsonl"))
    assert set(study.replay.arrow["output"].to_pylist()) == {"2024-01-01"}


def test_large_integers_keep_all_their_digits(tmp_path):
    good = Good()
    for row in good.all_rows():
        row["context_id"] = 10**22 + int(row["context"][-1])
    study = load(**write_study(tmp_path, good, "jsonl"))
    assert study.log.arrow["context_id"][1].as_py() == "10000000000000000000001"


def test_mixed_types_in_a_line_file_are_read_as_written(tmp_path):
    good = Good()
    good.log[0]["user_id"] = 7
    for row in good.log[1:]:
        row["user_id"] = "u"
    good.log[2]["extra"] = {"nested": [1]}
    good.log[3]["extra"] = 1
    study = load(**write_study(tmp_path, good, "jsonl"))
    assert study.log.arrow["cluster"].to_pylist()[:2] == ["7", "u"]
    assert study.log.unused_columns == ("extra",)


WITHOUT_FRAMES = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from deconfound.loading import load
load(**json.loads(sys.argv[1]))
print(sorted({"sklearn", "scipy", "pyarrow.parquet", "pyarrow.json"} & set(sys.modules)))
"""


def test_files_are_read_without_data_frame_libraries_or_heavy_imports(tmp_path):
    arguments = {role: str(path) for role, path in write_study(tmp_path, Good(), "csv").items()}
    command = [sys.executable, "-c", WITHOUT_FRAMES, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Data frames and Parquet


def test_mixed_objects_in_a_pandas_column_are_read_as_written():
    frame = pd.DataFrame(Good().log)
    frame["user_id"] = pd.Series([1, "u"] * 6, dtype=object)
    assert load(**tables(Good()) | {"log": frame}).log.arrow["cluster"].to_pylist()[:2] == ["1", "u"]


def test_half_a_surrogate_pair_in_a_frame_is_refused_by_row():
    frame = pd.DataFrame(Good().log).astype({"output": object})
    frame.loc[3, "output"] = "\ud83d"
    assert "log (DataFrame) row 4" in refused(**tables(Good()) | {"log": frame})


def test_categories_are_read_as_their_values(reference):
    frames = {role: pd.DataFrame(getattr(Good(), role)).astype({"model": "category"}) for role in ROLES}
    assert same(load(**frames), reference)


def test_parquet_with_two_columns_of_one_name_is_refused(tmp_path):
    paths = write_study(tmp_path, Good(), "parquet")
    table = pq.read_table(paths["log"])
    sink = io.BytesIO()
    pq.write_table(table.append_column("model", table["model"]), sink)
    Path(paths["log"]).write_bytes(sink.getvalue())
    assert "log.parquet: more than one column is called model" in refused(**paths)


# Sources that cannot be read


def test_a_file_without_read_permission_is_a_problem(tmp_path, monkeypatch):
    paths = write_study(tmp_path, Good(), "csv")

    def forbidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    message = refused(**paths)
    assert "log.csv, experiment.csv, replay.csv: the file cannot be opened: Permission denied" in message
    assert "permissions" in message


@pytest.mark.parametrize("source", [3, None, pl.LazyFrame({"a": [1]})])
def test_an_object_that_is_not_a_table_is_a_usage_error(source):
    with pytest.raises(UsageError, match="log must be a path"):
        load(**tables(Good()) | {"log": source})


KEYS = st.dictionaries(
    st.text(st.sampled_from('a"\\:{} '), min_size=1, max_size=5), st.text(st.sampled_from('a"\\:,{ '))
)


@given(st.lists(KEYS, min_size=1, max_size=4))
def test_keys_of_json_lines_are_those_of_the_parsed_lines(lines):
    data = "\n".join(json.dumps(line) for line in lines).encode()
    expected = {json.dumps(key)[1:-1].encode() for line in lines for key in line}
    assert jsonl_arrow._keys(data, 0, len(data)) == expected


def test_a_long_text_with_many_quotes_is_read_in_linear_time():
    """In quadratic time these 4 MB would take more than an hour."""
    data = json.dumps({"output": 'a "b", ' * 500_000}).encode()
    assert jsonl_arrow._keys(data, 0, len(data)) == {b"output"}

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from broken_files import Good, as_csv, as_jsonl, write_study
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deconfound.data import text_ids
from deconfound.errors import DataError, UsageError
from deconfound.loading import csvfile, jsonl, load, load_replay
from deconfound.loading.draws import appearance

ROLES = ("log", "experiment", "replay")


def tables(good: Good) -> dict[str, pa.Table]:
    return {role: pa.Table.from_pylist(getattr(good, role)) for role in ROLES}


def good_with(**changes):
    good = Good()
    for role, change in changes.items():
        for row in getattr(good, role):
            change(row)
    return good


def refused(**arguments) -> str:
    with pytest.raises(DataError) as caught:
        load(**arguments)
    return str(caught.value)


def same(one, other) -> bool:
    return all(getattr(one, role).table.equals(getattr(other, role).table) for role in ROLES)


def rename(row, **names):
    for new, old in names.items():
        row[new] = row.pop(old)


PACKERS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.fixture(scope="module")
def reference():
    return load(**tables(Good()))


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize(("ending", "writer"), [("csv", as_csv), ("jsonl", as_jsonl), ("ndjson", as_jsonl)])
def test_text_formats_give_the_tables_of_the_reference(tmp_path, reference, ending, writer, packing):
    paths = {}
    for role in ROLES:
        paths[role] = tmp_path / f"{role}.{ending}{packing}"
        paths[role].write_bytes(PACKERS[packing](writer(getattr(Good(), role))))
    assert same(load(**paths), reference)


def test_parquet_and_every_data_frame_give_the_tables_of_the_reference(tmp_path, reference):
    assert same(load(**write_study(tmp_path, Good(), "parquet")), reference)
    assert same(load(**{role: pd.DataFrame(getattr(Good(), role)) for role in ROLES}), reference)
    assert same(load(**{role: pl.DataFrame(getattr(Good(), role)) for role in ROLES}), reference)


# Python's csv writer leaves a carriage return bare, which every reader takes for the end of the row.
cell_text = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=20)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(outputs=st.lists(cell_text, min_size=18, max_size=18), data=st.data())
def test_any_text_comes_back_from_every_format(tmp_path, outputs, data):
    good = Good()
    question = data.draw(cell_text.filter(lambda text: text.strip()))
    for row, output in zip(good.replay, outputs, strict=True):
        row["output"] = output
    for row in (*good.log, *good.experiment, *good.replay):
        row["context"] = f"{question} {row['context']}"
    expected = load(**tables(good))
    for ending in ("csv", "jsonl", "parquet"):
        assert same(load(**write_study(tmp_path, good, ending)), expected)


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_row_order_changes_neither_models_nor_ids(random):
    good = Good()
    pairs = {(row["context"], row["model"]) for row in good.replay}
    for rows in (good.log, good.experiment, good.replay):
        random.shuffle(rows)
    study = load(**tables(good))
    assert study.models == ("ant", "bee", "cat")
    table = study.replay.table
    assert table["context_id"].equals(text_ids(table["context"]))
    assert set(zip(table["context"].to_pylist(), table["model"].to_pylist(), strict=True)) == pairs


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_rows_are_numbered_by_their_order_of_appearance(codes):
    expected = [codes[:i].count(code) for i, code in enumerate(codes)]
    assert appearance(np.array(codes)).tolist() == expected


def test_canonical_columns_have_their_types_and_order():
    good = good_with(log=lambda row: row.update(label_b=1, label_a=True, user_id=7), experiment=lambda r: r.update(p=0))
    study = load(**tables(good))
    schema = {field.name: str(field.type) for field in study.log.table.schema}
    assert list(schema.items()) == [
        ("context_id", "string"),
        ("context", "string"),
        ("model", "string"),
        ("output", "string"),
        ("outcome", "double"),
        ("cluster", "string"),
        ("label_a", "double"),
        ("label_b", "double"),
    ]
    assert study.label_names == ("label_a", "label_b")
    assert study.log.table["cluster"][0].as_py() == "7"
    assert study.experiment.ignored == ("p",)


def test_a_file_goes_by_its_name_and_a_frame_by_its_kind(tmp_path, reference):
    study = load(**write_study(tmp_path, Good(), "csv"))
    assert study.log.source == "log.csv"
    assert load(**tables(Good()) | {"log": pd.DataFrame(Good().log)}).log.source == "log (DataFrame)"
    assert reference.replay.source == "replay (Table)"


def test_files_of_one_name_in_different_folders_are_told_apart(tmp_path):
    paths = {}
    for role in ROLES:
        paths[role] = tmp_path / role / "rows.csv"
        paths[role].parent.mkdir()
        paths[role].write_bytes(as_csv(getattr(Good(), role)))
    assert load(**paths).experiment.source == "experiment rows.csv"


def test_aliases_are_recognised_in_any_case_and_reported():
    good = Good()
    for rows in (good.log, good.experiment, good.replay):
        for row in rows:
            rename(row, Prompt="context", ARM="model", Response="output")
    for row in (*good.log, *good.experiment):
        rename(row, **{"Thumbs Up": "outcome"})
    study = load(**tables(good))
    assert same(study, load(**tables(Good())))
    (finding, *_) = [finding for finding in study.findings if finding.check == "columns"]
    assert 'outcome is read from column "Thumbs Up"' in finding.message


def test_an_exact_name_wins_over_an_alias():
    study = load(**tables(good_with(log=lambda row: row.update(score=0.3))))
    assert study.log.ignored == ("score",)
    assert 0.3 not in study.log.table["outcome"].to_pylist()


def test_a_mapped_column_wins_over_an_exact_name_and_is_no_longer_a_label():
    good = good_with(
        log=lambda row: row.update(label_quality=0.3), experiment=lambda row: row.update(label_quality=0.6)
    )
    study = load(**tables(good), columns={"outcome": "label_quality"})
    assert set(study.log.table["outcome"].to_pylist()) == {0.3}
    assert study.label_names == ()
    assert "outcome" in study.log.ignored


def test_a_table_without_the_mapped_column_may_use_the_exact_name_and_no_alias():
    good = good_with(log=lambda row: rename(row, stars="outcome"))
    assert same(load(**tables(good), columns={"outcome": "stars"}), load(**tables(Good())))
    good = good_with(log=lambda row: rename(row, stars="outcome"), experiment=lambda row: rename(row, score="outcome"))
    message = refused(**tables(good), columns={"outcome": "stars"})
    assert 'experiment (Table): there is no column "stars", to which outcome is mapped' in message


def test_mapping_a_name_that_no_table_has_is_bad_usage():
    with pytest.raises(UsageError, match='"outcom"; did you mean "outcome"'):
        load(**tables(Good()), columns={"outcom": "x"})


def test_a_bare_id_numbers_rows_unless_the_text_is_missing():
    good = Good()
    for number, row in enumerate((*good.log, *good.experiment, *good.replay)):
        row["id"] = number
    assert load(**tables(good)).log.ignored == ("id",)
    good = Good()
    for row in (*good.log, *good.experiment, *good.replay):
        row["id"] = row["context"][-1]
    for row in good.experiment:
        del row["context"]
    study = load(**tables(good))
    assert study.experiment.table["context"].to_pylist() == [row["context"] for row in Good().experiment]
    assert study.log.table["context_id"][0].as_py() == "0"


def test_a_table_without_ids_takes_those_that_another_gives_to_the_same_text():
    good = good_with(replay=lambda row: row.update(context_id="n" + row["context"][-1]))
    study = load(**tables(good))
    assert study.experiment.table["context_id"].to_pylist() == [f"n{i}" for i in range(6)]


def test_a_text_unknown_elsewhere_goes_by_its_hash():
    good = good_with(replay=lambda row: row.update(context_id="n" + row["context"][-1]))
    good.log[0]["context"] = "a"
    assert load(**tables(good)).log.table["context_id"][0].as_py() == "40f89e395b66422f"


def test_ids_keep_their_leading_zeros(tmp_path):
    good = Good()
    for row in (*good.log, *good.experiment, *good.replay):
        row["context_id"] = "00" + row["context"][-1]
    study = load(**write_study(tmp_path, good, "csv"))
    assert study.log.table["context_id"][0].as_py() == "000"


def test_text_that_looks_like_a_date_or_a_missing_value_stays_text(tmp_path):
    good = Good()
    for row in good.replay:
        row["output"] = "2024-01-01"
    good.replay[0]["output"] = "NA"
    for ending in ("csv", "jsonl"):
        study = load(**write_study(tmp_path, good, ending))
        assert study.replay.table["output"].to_pylist()[:2] == ["NA", "2024-01-01"]


def test_a_column_of_nothing_but_dates_stays_text(tmp_path):
    good = good_with(replay=lambda row: row.update(output="2024-01-01"))
    study = load(**write_study(tmp_path, good, "jsonl"))
    assert set(study.replay.table["output"].to_pylist()) == {"2024-01-01"}


def test_large_integers_keep_all_their_digits(tmp_path):
    good = Good()
    for row in (*good.log, *good.experiment, *good.replay):
        row["context_id"] = 10**22 + int(row["context"][-1])
    study = load(**write_study(tmp_path, good, "jsonl"))
    assert study.log.table["context_id"][1].as_py() == "10000000000000000000001"


def test_floats_that_lost_their_last_digits_are_no_ids():
    good = Good()
    for row in (*good.log, *good.experiment, *good.replay):
        row["context_id"] = 2.0**60 + int(row["context"][-1])
    assert "too large to be exact" in refused(**tables(good))


def test_whole_floats_are_written_as_whole_numbers():
    frame = pd.DataFrame(Good().log).assign(user_id=[1.0] * 12)
    assert load(**tables(Good()) | {"log": frame}).log.table["cluster"][0].as_py() == "1"


def test_mixed_types_in_a_line_file_are_read_as_written(tmp_path):
    good = Good()
    good.log[0]["user_id"] = 7
    for row in good.log[1:]:
        row["user_id"] = "u"
    good.log[2]["extra"] = {"nested": [1]}
    good.log[3]["extra"] = 1
    study = load(**write_study(tmp_path, good, "jsonl"))
    assert study.log.table["cluster"].to_pylist()[:2] == ["7", "u"]
    assert study.log.ignored == ("extra",)


def test_mixed_objects_in_a_pandas_column_are_read_as_written():
    frame = pd.DataFrame(Good().log)
    frame["user_id"] = pd.Series([1, "u"] * 6, dtype=object)
    assert load(**tables(Good()) | {"log": frame}).log.table["cluster"].to_pylist()[:2] == ["1", "u"]


def test_half_a_surrogate_pair_in_a_frame_is_refused_by_row():
    frame = pd.DataFrame(Good().log).astype({"output": object})
    frame.loc[3, "output"] = "\ud83d"
    assert "log (DataFrame) row 4" in refused(**tables(Good()) | {"log": frame})


def test_broken_utf8_in_parquet_is_refused_by_row():
    broken = pa.array([b"fine"] * 5 + [b"\xff"] + [b"fine"] * 6).view(pa.string())
    table = tables(Good())["log"].drop_columns(["output"]).append_column("output", broken)
    assert 'log (Table) row 6: column "output" is not UTF-8' in refused(**tables(Good()) | {"log": table})


@pytest.mark.parametrize("values", [[True, False] * 6, ["TRUE", "false"] * 6, ["1", " 0.0 "] * 6, ["+1", "0e3"] * 6])
def test_outcomes_may_be_truth_values_or_written_numbers(values):
    table = tables(Good())["log"].drop_columns(["outcome"]).append_column("outcome", [values])
    assert load(**tables(Good()) | {"log": table}).log.table["outcome"].to_pylist() == [1.0, 0.0] * 6


def test_outcomes_on_another_scale_are_rescaled():
    good = good_with(
        log=lambda row: row.update(outcome=1 + 4 * row["outcome"]), experiment=lambda r: r.update(outcome=2)
    )
    study = load(**tables(good), outcome_range=(1, 5))
    assert study.log.table["outcome"].to_pylist() == [0.0, 1.0] * 6
    assert set(study.experiment.table["outcome"].to_pylist()) == {0.25}


@pytest.mark.parametrize("bad", [(5, 1), (0, float("inf")), (float("nan"), 1)])
def test_a_range_that_is_none_is_bad_usage(bad):
    with pytest.raises(UsageError, match="--outcome-range"):
        load(**tables(Good()), outcome_range=bad)


def test_rows_without_outcome_go_when_asked_and_are_counted_by_model():
    good = Good()
    good.log[1]["outcome"] = good.log[6]["outcome"] = None
    study = load(**tables(good), drop_missing=True)
    assert len(study.log) == 10
    assert study.log.where(1) == "log (Table) row 3"
    (finding,) = [finding for finding in study.findings if finding.check == "missing outcomes"]
    assert (finding.verdict, finding.message) == (
        "warn",
        "log (Table): 2 rows without outcome left out (ant: 1, bee: 1).",
    )


def test_a_table_without_any_outcome_is_refused_even_when_dropping():
    assert "no row has an outcome" in refused(
        **tables(good_with(log=lambda r: r.update(outcome=None))), drop_missing=True
    )


def test_an_empty_output_is_an_answer_and_a_finding():
    good = Good()
    good.replay[1]["output"] = ""
    (finding,) = load(**tables(good)).findings
    assert (finding.check, finding.verdict) == ("empty outputs", "warn")
    assert "bee: 1" in finding.message


def test_the_propensity_of_a_row_is_that_of_its_model():
    good = good_with(experiment=lambda row: row.update(propensity_ant=0.2, propensity_bee=0.3, propensity_cat=0.5))
    assert load(**tables(good)).experiment.table["propensity"].to_pylist() == [0.2, 0.3, 0.5] * 2
    good = good_with(experiment=lambda row: row.update(propensity_score=0.25))
    assert set(load(**tables(good)).experiment.table["propensity"].to_pylist()) == {0.25}


def test_rounded_propensities_are_near_enough_to_one():
    good = good_with(experiment=lambda row: row.update(propensity_ant=0.33, propensity_bee=0.33, propensity_cat=0.33))
    assert load(**tables(good)).experiment.table["propensity"][0].as_py() == 0.33


def test_unnumbered_draws_are_numbered_in_order():
    good = good_with(replay=lambda row: row.pop("draw"))
    good.replay += [row | {"output": "again"} for row in good.replay[:2]]
    table = load(**tables(good)).replay.table
    assert table["draw"].to_pylist() == [0] * 18 + [1, 1]


def test_a_study_may_have_no_text_at_all():
    good = Good()
    for row in (*good.log, *good.experiment, *good.replay):
        row["context_id"], row["feature_len"] = row.pop("context"), len(row.pop("output"))
    study = load(**tables(good))
    assert not study.has_text
    assert study.feature_names == ("feature_len",)
    assert study.replay.table.column_names == ["context_id", "model", "draw", "feature_len"]


def test_ten_thousand_faults_of_a_kind_are_one_line(tmp_path):
    good = Good()
    good.log = [good.log[0] | {"outcome": None}] * 10_000
    message = refused(**write_study(tmp_path, good, "jsonl"))
    assert message.count("\n") == 0
    assert "10,000 lines: 1, 2, 3, …" in message


def test_the_problems_of_all_files_come_together(tmp_path):
    paths = write_study(tmp_path, Good(), "csv")
    Path(paths["log"]).write_bytes(b"")
    good = Good()
    good.experiment[0]["outcome"], good.experiment[1]["model"] = 9, " "
    good.replay[2]["output"] = None
    paths |= {role: tables(good)[role] for role in ("experiment", "replay")}
    with pytest.raises(DataError) as caught:
        load(**paths)
    places = [problem.where for problem in caught.value.problems]
    assert places == ["log.csv", "experiment (Table) row 2", "experiment (Table) row 1", "replay (Table) row 3"]


def test_a_bad_outcome_does_not_hide_a_model_without_replay():
    good = Good()
    good.experiment[0]["outcome"], good.experiment[1]["model"] = 9, "wasp"
    message = refused(**tables(good))
    assert "--outcome-range" in message
    assert '"wasp" has no replay' in message


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_separators_are_seen_from_the_header(tmp_path, reference, delimiter):
    paths = write_study(tmp_path, Good(), "csv")
    for role in ROLES:
        Path(paths[role]).write_bytes(as_csv(getattr(Good(), role), delimiter))
    assert same(load(**paths), reference)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_byte_order_mark_windows_line_ends_and_blank_lines_are_harmless(tmp_path, reference, ending):
    paths = write_study(tmp_path, Good(), ending)
    for path in map(Path, paths.values()):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert same(load(**paths), reference)


def test_a_byte_order_mark_is_no_part_of_the_first_columns_name(tmp_path):
    good = Good()
    for rows in (good.log, good.experiment, good.replay):
        rows[:] = [{"context_id": "00" + row["context"][-1], **row} for row in rows]
    paths = write_study(tmp_path, good, "csv")
    for path in map(Path, paths.values()):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(**paths).log.table["context_id"][0].as_py() == "000"


def test_quotes_inside_bare_cells_and_line_breaks_inside_quoted_ones_are_text(tmp_path):
    paths = write_study(tmp_path, Good(), "csv")
    path = Path(paths["log"])
    path.write_bytes(path.read_bytes() + b'a 5" pipe,ant,"two\r\nlines, ""quoted""\r",1\n')
    row = load(**paths).log.table.slice(12).to_pylist()[0]
    assert (row["context"], row["output"]) == ('a 5" pipe', 'two\r\nlines, "quoted"\r')


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_cells_of_ten_megabytes_are_read(tmp_path, ending):
    good = Good()
    good.log[3]["output"] = good.log[8]["output"] = "x" * 10_000_000
    study = load(**write_study(tmp_path, good, ending))
    assert len(study.log.table["output"][8].as_py()) == 10_000_000


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_cell_may_be_larger_than_the_blocks_in_which_a_file_is_read(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(csvfile, "BLOCK", 1 << 12)
    monkeypatch.setattr(jsonl, "BLOCK", 1 << 12)
    monkeypatch.delattr(jsonl, "_careful")
    good = Good()
    good.log[3]["output"] = "x" * (1 << 16)
    study = load(**write_study(tmp_path, good, ending))
    assert len(study.log.table["output"][3].as_py()) == 1 << 16


def test_code_full_of_brackets_is_no_deep_nesting(tmp_path):
    good = Good()
    good.log[0]["output"] = '{"[' * 5000
    assert load(**write_study(tmp_path, good, "jsonl")).log.table["output"][0].as_py() == '{"[' * 5000


def test_categories_and_dictionaries_are_read_as_their_values(reference):
    frames = {role: pd.DataFrame(getattr(Good(), role)).astype({"model": "category"}) for role in ROLES}
    assert same(load(**frames), reference)


def test_a_file_that_may_not_be_opened_is_a_problem(tmp_path, monkeypatch):
    paths = write_study(tmp_path, Good(), "csv")

    def forbidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    assert "log.csv: the file cannot be opened: Permission denied. Check its permissions" in refused(**paths)


@pytest.mark.parametrize("source", [3, None, pl.LazyFrame({"a": [1]})])
def test_what_is_no_table_is_bad_usage(source):
    with pytest.raises(UsageError, match="log must be a path"):
        load(**tables(Good()) | {"log": source})


def test_a_kind_of_value_that_has_no_text_is_refused():
    table = tables(Good())["log"]
    intervals = pa.array([(1, 2, 3)] * 12, pa.month_day_nano_interval())
    message = refused(**tables(Good()) | {"log": table.set_column(2, "output", intervals)})
    assert 'column "output" is "month_day_nano_interval", which is no text' in message


def test_control_characters_in_values_do_not_reach_the_terminal():
    good = Good()
    good.log[0]["outcome"] = "\x1b[2J" + "x" * 500
    for row in good.log[1:]:
        row["outcome"] = "1"
    message = refused(**tables(good))
    assert "\x1b" not in message
    assert len(message) < 300


def test_a_replay_alone_must_cover_the_models_asked_for():
    table = tables(Good())["replay"]
    replay = load_replay(table, models=["ant", "bee"])
    assert replay.distinct("model") == {"ant", "bee"}
    assert [finding.check for finding in replay.findings] == ["models"]
    assert len(load_replay(table)) == 18
    with pytest.raises(DataError, match='row 1: context "question 0" has no output of dog'):
        load_replay(table, models=["ant", "dog"])


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


def test_files_are_read_without_data_frame_libraries_and_nothing_heavy(tmp_path):
    arguments = {role: str(path) for role, path in write_study(tmp_path, Good(), "csv").items()}
    command = [sys.executable, "-c", WITHOUT_FRAMES, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parquet_with_two_columns_of_one_name_is_refused(tmp_path):
    paths = write_study(tmp_path, Good(), "parquet")
    table = pq.read_table(paths["log"])
    sink = io.BytesIO()
    pq.write_table(table.append_column("model", table["model"]), sink)
    Path(paths["log"]).write_bytes(sink.getvalue())
    assert "log.parquet: two columns are called model" in refused(**paths)

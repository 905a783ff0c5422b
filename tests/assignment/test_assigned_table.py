"""A file of contexts and a running service draw the same models, whatever the ids."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.assignment import AssignmentManifest, AssignmentRule
from deconfound.assignment.assigned_table import assign_table
from deconfound.assignment.table_writer import require_table_format, table_bytes
from deconfound.errors import DataError, UsageError
from deconfound.loading.unit_table import load_units

SHARES = {"cedar": 0.5, "elm": 0.2, "oak": 0.3}
STRANGE = ["ünïcode 🐝", "e\u0301", "\u00e9", " padded ", "07", "7", "x" * 20_000, "a\nb", "=1+1", "\x01", "null", "NA"]


def table_of(ids):
    return pa.table({"context_id": ids, "context": [f"question {at}" for at in range(len(ids))]})


def assigned(source, unit=None, share=1.0, **options):
    contexts = load_units(source, unit, **options)
    manifest = AssignmentManifest(AssignmentRule.from_models("prices", SHARES, share), contexts.unit)
    return assign_table(contexts.arrow, manifest), manifest


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_the_file_and_the_function_agree_for_thousands_of_ids(ending, tmp_path):
    ids = [*STRANGE, *(f"u-{i}" for i in range(3_000))]
    (tmp_path / f"c{ending}").write_bytes(table_bytes(table_of(ids), tmp_path / f"c{ending}", []))
    rows, _ = assigned(tmp_path / f"c{ending}")
    models = [dc.assign(unit, models=SHARES, experiment="prices").model for unit in ids]
    assert rows.arrow["context_id"].to_pylist() == ids
    assert rows.arrow["model"].to_pylist() == models
    assert rows.arrow["propensity"].to_pylist() == [SHARES[model] for model in models]
    for name, value in SHARES.items():
        assert rows.arrow[f"propensity_{name}"].to_pylist() == [value] * len(ids)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64(), pa.int32()])
def test_numbers_in_a_file_are_their_digits(kind):
    """A column of whole numbers becomes one of floats where a cell is missing; its ids stay what they were."""
    ids = list(range(1_000))
    rows, _ = assigned(pa.table({"context_id": pa.array(ids).cast(kind), "context": list(map(str, ids))}))
    assert rows.arrow["model"].to_pylist() == [dc.assign(i, models=SHARES, experiment="prices").model for i in ids]


def test_a_csv_keeps_leading_zeros(tmp_path):
    (tmp_path / "c.csv").write_text("context_id,context\n007,a\n7,b\n", encoding="utf-8")
    rows, _ = assigned(tmp_path / "c.csv")
    expected = [dc.assign(unit, models=SHARES, experiment="prices").model for unit in ("007", "7")]
    assert rows.arrow["model"].to_pylist() == expected


def test_without_ids_the_text_is_the_unit():
    texts = [f"question {i}" for i in range(500)]
    rows, manifest = assigned(pa.table({"prompt": texts}))
    assert manifest.unit == "context"
    assert rows.arrow["model"].to_pylist() == [dc.assign(t, models=SHARES, experiment="prices").model for t in texts]


def test_rows_of_one_user_share_the_model_and_the_share_leaves_whole_users_out():
    users = [f"u{i % 60}" for i in range(600)]
    contexts = pa.table({"context": [f"q{i}" for i in range(600)], "user": users})
    rows, manifest = assigned(contexts, "user", 0.5)
    pairs = set(zip(rows.arrow["user"].to_pylist(), rows.arrow["model"].to_pylist(), strict=True))
    inside = {user for user in users if dc.assign(user, models=SHARES, experiment="prices", share=0.5) is not None}
    assert {user for user, _ in pairs} == inside
    assert len(pairs) == len(inside) == rows.units
    assert rows.left_out == 600 - 10 * len(inside)
    assert not manifest.draws_contexts


def test_a_context_that_occurs_twice_has_one_model():
    rows, _ = assigned(table_of(["a", "b", "a"]).drop_columns(["context"]))
    models = rows.arrow["model"].to_pylist()
    assert models[0] == models[2]
    assert rows.units == 2


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv"])
def test_other_columns_of_the_contexts_are_kept(ending, tmp_path):
    contexts = pa.table(
        {
            "prompt": ["a", "b", "c"],
            "topic": ["x", None, "=y"],
            "priority": [1, None, 3],
            "score_before": [0.5, None, float("nan")],
            "tags": [["p", "q"], None, []],
        }
    )
    rows, _ = assigned(contexts)
    assert rows.arrow.column_names[:6] == ["context", "topic", "priority", "score_before", "tags", "model"]
    path = tmp_path / f"a{ending}"
    path.write_bytes(table_bytes(rows.arrow, path, ["context"]))
    again = load_units(path, None).arrow
    assert again["topic"].to_pylist()[0] == "x"
    assert again["topic"].to_pylist()[1] in (None, "")
    assert json.loads(again["tags"].to_pylist()[0]) == ["p", "q"]


def test_columns_about_earlier_answers_are_left_out_with_a_note():
    log = pa.table(
        {"context": ["a"], "topic": ["x"], "model": ["m"], "response": ["r"], "rating": [1], "label_q": [1.0]}
    )
    found = load_units(log, None)
    assert found.arrow.column_names == ["context", "topic"]
    note = next(one.message for one in found.findings if one.check == "columns left out")
    assert [name for name in log.column_names if name in note] == ["model", "response", "rating", "label_q"]


def test_a_list_of_users_needs_no_contexts():
    rows, _ = assigned(pa.table({"tenant": ["t1", "t2"]}), "tenant")
    assert rows.arrow.column_names[:2] == ["tenant", "model"]


def test_the_column_of_ids_under_another_name_is_the_context_id():
    _, manifest = assigned(pa.table({"prompt_id": ["a", "b"], "prompt": ["x", "y"]}), "prompt_id")
    assert manifest.unit == "context_id"


@pytest.mark.parametrize(
    ("columns", "unit", "message"),
    [
        (
            {"context_id": ["a", "b", "a"], "context": ["x", "y", "z"]},
            None,
            'row 3: context_id "a" has a different text',
        ),
        ({"context_id": ["a", None], "context": ["x", "y"]}, None, "row 2: context_id has no value"),
        ({"context_id": ["a", " "], "context": ["x", "y"]}, None, "row 2: context_id is blank"),
        ({"context": ["x", "y"], "user": ["u", None]}, "user", "row 2: user has no value"),
        ({"context": ["x", "y"], "user": ["u", ""]}, "user", "row 2: user is blank"),
        ({"context": ["x", "y"], "user": ["u", "v"]}, "usr", r'no column "usr".*did you mean "user"'),
        ({"context": ["x"]}, "context_id", "no column for the context_id"),
        ({"other": ["x"]}, None, "no column for the context"),
        ({"context_id": [1.5, 2e17], "context": ["x", "y"]}, None, "too large"),
    ],
)
def test_units_that_cannot_be_read_are_reported_with_their_row(columns, unit, message):
    with pytest.raises(DataError, match=message):
        assigned(pa.table(columns), unit)


@pytest.mark.parametrize("unit", ["model", "propensity", "propensity_cedar", "unit"])
def test_a_unit_cannot_have_the_name_of_a_written_column(unit):
    with pytest.raises(UsageError, match="will be written"):
        assigned(pa.table({"context": ["x"], unit: ["u"]}), unit)


def test_every_format_has_the_same_rows(tmp_path):
    rows, _ = assigned(table_of([f"q{i}" for i in range(50)]))
    expected = rows.arrow.to_pylist()
    contents = {
        ending: table_bytes(rows.arrow, tmp_path / f"a{ending}", []) for ending in (".parquet", ".jsonl", ".csv")
    }
    assert pq.read_table(pa.BufferReader(contents[".parquet"])).to_pylist() == expected
    assert [json.loads(line) for line in contents[".jsonl"].splitlines()] == expected
    read = list(csv.DictReader(io.StringIO(contents[".csv"].decode())))
    assert [{name: str(value) for name, value in row.items()} for row in expected] == read


def test_a_csv_runs_no_formula_and_never_changes_a_unit(tmp_path):
    rows, _ = assigned(pa.table({"context_id": ["a"], "context": ["=cmd|' /C calc'!A0"]}))
    assert "'=cmd" in table_bytes(rows.arrow, tmp_path / "a.csv", ["context_id"]).decode()
    rows, _ = assigned(pa.table({"context_id": ["=a()"], "context": ["x"]}))
    with pytest.raises(UsageError, match=r"Write \.parquet"):
        table_bytes(rows.arrow, tmp_path / "a.csv", ["context_id"])
    with pytest.raises(UsageError, match=r"ending in \.parquet"):
        require_table_format(tmp_path / "a.xlsx")

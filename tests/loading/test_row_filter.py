"""--where: which rows are read, in every type of column, and what is said about it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from deconfound.errors import UsageError
from deconfound.loading import load
from deconfound.loading.row_condition import parse_filter
from tests.support.studies import Good, as_csv, good_with, refused, tables, write_study

BIG = 1_790_000_000_000_000_000  # above 2**53, where floats have gaps

CELLS = [
    ("lang=de", "de", True),
    ("lang=de", " de ", True),
    ("lang=de", "DE", False),
    ("lang=de,en", "en", True),
    ('lang="de, en"', "de, en", True),
    ("lang=de", None, False),
    ("lang=", None, True),
    ("lang=", " ", True),
    ("lang!=", "de", True),
    ("lang!=de", None, True),
    ("lang!=de,en", "en", False),
    ("n=1", 1, True),
    ("n=1", 1.0, True),
    ("n=1.0", "1", True),
    ("n=7", "007", False),
    ("n=007", "007", True),
    ("n=1", float("nan"), False),
    ("flag=true", True, True),
    ("flag=false", True, False),
    ("flag=1", True, True),
    ("n>=3", 3, True),
    ("n>3", "3", False),
    ("n<1e3", "20", True),
    ("n<1e3", None, False),
    ("n<=inf", 5, True),
    ("time>=2026-05-01", "2026-05-01T00:00:00Z", True),
    ("time>=2026-05-01", "2026-04-30T23:30:00-01:00", True),
    ("time<2026-05-01", datetime(2026, 4, 30, tzinfo=UTC), True),
    ("time<2026-05-01", date(2026, 5, 1), False),
    ("time=2026-05-01", date(2026, 5, 1), True),
    ("time=2026-05-01", "2026-05-01T23:30:00-05:00", False),
    ("time=2026-05-02", "2026-05-01T23:30:00-05:00", True),
    ("time>=2026-05-02", "2026-05-01T23:30:00-05:00", True),
    ("time=2026-05-01", "2026-05-01 23:30:00", True),
    ("time=2026-05-01", "2026-05-02", False),
    ("time=2026-05-01", datetime(2026, 5, 1, 12, tzinfo=UTC), True),
    ("time=2026-05-01", "2026-05-01 is a day", False),
    ("time!=2026-05-01", "2026-05-01T23:30:00-05:00", True),
    (f"n={BIG + 1}", BIG, False),
    (f"n={BIG + 1}", BIG + 1, True),
    (f"n={BIG + 1}", str(BIG), False),
    (f"n={BIG + 1}", Decimal(BIG), False),
    (f"n={BIG + 1}", Decimal(BIG + 1), True),
    (f"n!={BIG + 1}", str(BIG), True),
    (f"n<{BIG + 1}", BIG, True),
    (f"n>={BIG + 1}", BIG, False),
    ("n>3", "many", None),
    ("n > 3", 4, True),
]


@pytest.mark.parametrize(("text", "cell", "expected"), CELLS)
def test_a_condition_on_a_cell(text, cell, expected):
    assert parse_filter(text).holds(cell) is expected


@pytest.mark.parametrize("text", ["", "lang", "=de", "n>", "n>many"])
def test_a_text_that_is_no_condition_is_refused(text):
    with pytest.raises(UsageError, match="--where"):
        parse_filter(text)


def with_country(good: Good | None = None) -> dict[str, pa.Table]:
    good = good or Good()
    for number, row in enumerate(good.log):
        row["country"] = ("DE", "AT", None)[number % 3]
    return tables(good)


def test_only_rows_that_fulfill_all_conditions_are_read():
    study = load(**with_country(), where=["country=DE,AT", "log.model!=ant"])
    rows = [row for row in Good().log if Good().log.index(row) % 3 < 2 and row["model"] != "ant"]
    assert study.log.arrow["output"].to_pylist() == [row["output"] for row in rows]
    assert len(study.experiment) == 6


def test_what_is_left_out_is_reported():
    study = load(**with_country(), where="country=DE")
    messages = [str(finding.details.message) for finding in study.findings if finding.check == "rows left out"]
    assert messages[0] == "log (Table): 4 of 12 rows fulfill --where country=DE; the others are not read."


def test_faults_in_rows_that_are_left_out_do_not_matter_and_others_have_their_own_number(tmp_path):
    good = Good()
    good.log[0]["outcome"] = 7
    for number, row in enumerate(good.log):
        row["test"] = number == 0
    paths = write_study(tmp_path, good, "csv")
    assert len(load(**paths, where="test=False").log) == 11
    good.log[5]["outcome"] = 7
    assert "log.csv row 6" in refused(**write_study(tmp_path, good, "csv"), where="log.test=False")


def test_a_canonical_name_finds_the_column_under_its_alias():
    good = good_with(log=lambda row: row.update(user_id="u1" if row["model"] == "ant" else "u2"))
    assert set(load(**tables(good), where="cluster=u1").log.arrow["model"].to_pylist()) == {"ant"}


def test_a_condition_that_no_row_fulfills_shows_what_there_is():
    message = refused(**with_country(), where="country=FR")
    assert message == (
        'log (Table): no row has the value "FR" in column "country" (--where country=FR). '
        "Among 12 rows the values are DE, AT, (none)."
    )


@pytest.mark.parametrize(
    ("condition", "sought"),
    [
        ("log.country=FR,IT", "one of the values FR, IT"),
        ("log.model!=ant,bee,cat", "another value than ant, bee, cat"),
        ("log.model=", "an empty cell"),
        ("log.outcome>5", "a value > 5"),
    ],
)
def test_what_a_condition_asks_for_is_said_in_words(condition, sought):
    assert f"no row has {sought} in column" in refused(**with_country(), where=condition)


def test_a_condition_after_others_is_said_to_come_after_them():
    message = refused(**with_country(), where=["log.country=DE", "log.country=AT"])
    assert '"AT" in column "country" (--where log.country=AT) and fulfills the conditions before it' in message
    assert "Among 4 rows the only value is DE." in message


def test_an_unknown_column_is_named_with_the_one_that_may_be_meant():
    assert 'did you mean "country"?' in refused(**with_country(), where="contry=DE")
    assert "experiment (Table): there is no column" in refused(**with_country(), where="experiment.country=DE")


def test_a_cell_that_cannot_be_compared_is_named():
    message = refused(**with_country(), where="country>3")
    assert 'log (Table) row 1: country "DE" cannot be compared' in message


def test_choosing_randomized_rows_by_their_outcome_is_warned_of():
    study = load(**tables(Good()), where="experiment.outcome<=0.8")
    warned = [finding for finding in study.findings if finding.check == "rows left out" and finding.verdict == "warn"]
    assert "no longer randomized" in warned[0].details.message
    study = load(**tables(Good()), where="log.outcome<=0.8")
    assert all(finding.verdict == "pass" for finding in study.findings if finding.check == "rows left out")


def one_table(tmp_path):
    """Log and experiment in one file, with a column that says which is which."""
    good = Good()
    rows = [row | {"randomized": "no"} for row in good.log] + [row | {"randomized": "yes"} for row in good.experiment]
    good.log = rows
    paths = write_study(tmp_path, good, "csv")
    return paths | {"experiment": paths["log"]}


def test_one_table_can_be_log_and_experiment(tmp_path):
    study = load(**one_table(tmp_path), where=["log.randomized=no", "experiment.randomized=yes"])
    assert (len(study.log), len(study.experiment)) == (12, 6)


def test_rows_must_not_be_in_both(tmp_path):
    message = refused(**one_table(tmp_path), where=["log.randomized=no,yes", "experiment.randomized=yes"])
    assert "row 13: the row is in the log and in the experiment (6 such rows)" in message
    assert "are the same table" in refused(**one_table(tmp_path), where="randomized=no")


def test_names_of_columns_may_differ_in_case_between_tables():
    given = with_country()
    experiment = given["experiment"].append_column("Country", pa.array(["DE"] * 3 + ["AT"] * 3))
    study = load(**given | {"experiment": experiment}, where="country=DE")
    assert (len(study.log), len(study.experiment)) == (4, 3)


def test_tables_without_the_column_are_named():
    study = load(**with_country(), where="country=DE")
    messages = [finding.details.message for finding in study.findings if finding.check == "rows left out"]
    assert "no such column in experiment (Table), replay (Table); all rows are read there" in messages[1]


def test_every_file_of_a_table_needs_the_column_of_a_condition(tmp_path):
    """Otherwise all rows of a file without it would be left out silently."""
    paths = write_study(tmp_path, Good(), "csv")
    (tmp_path / "logs").mkdir()
    for name, env in (("a.csv", {"env": "prod"}), ("b.csv", {})):
        rows = [row | env for row in Good().log]
        (tmp_path / "logs" / name).write_bytes(as_csv(rows))
    message = refused(**paths | {"log": tmp_path / "logs"}, where="env=prod")
    assert 'b.csv: there is no column "env" for --where, which a.csv has' in message


@pytest.mark.parametrize("source", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(("condition", "rows"), [("=", 4), ("!=", 8), ("<", 8), (">=", 4)])
def test_whole_numbers_are_compared_exactly_in_every_source(tmp_path, source, condition, rows):
    """Every third row of the log has a number, and all others the one before it."""
    good = Good()
    for number, row in enumerate(good.log):
        row["n"] = BIG + (number % 3 == 0)
    sources = tables(good)
    frame = sources["log"].to_pandas()
    study = load(
        **(sources | {"log": frame} if source == "frame" else write_study(tmp_path, good, source)),
        where=[f"log.n{condition}{BIG + 1}"],
    )
    assert len(study.log) == rows

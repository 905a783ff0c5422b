"""What is said about a long log: of which rows, of which file, and what is a problem."""

from __future__ import annotations

import pytest

from deconfound.cli import main
from deconfound.errors import DataError
from deconfound.loading import load
from tests.loading.test_long_log import in_batches
from tests.loading.test_long_log_faults import long_rows, refused, save
from tests.support.studies import WRITERS, Good, as_parquet, tables, write_study

FIRST = 20  # rows by which a file of these tests is recognized


def notes(study, check: str) -> list[str]:
    return [finding.details.message for finding in study.findings if finding.check == check]


@pytest.fixture
def command(tmp_path, monkeypatch):
    """`deconfound check` on a log of the given rows in three Parquet files, which is read in batches."""
    monkeypatch.setitem(load.__kwdefaults__, "long_log", in_batches(5, head_rows=10))

    def prepare(rows: list[dict], *more: str) -> list[str]:
        log = save(tmp_path, rows, "parquet", files=3)["log"]
        paths = write_study(tmp_path, Good(), "csv") | {"log": log}
        return ["check", *(f"--{role}={path}" for role, path in paths.items()), "-q", *more]

    return prepare


def in_languages(count: int = 60) -> list[dict]:
    """Rows whose language is German except for the last ten, and whose country is Austria in the first five."""
    return [
        row | {"lang": "english" if at >= count - 10 else "german", "country": "AT" if at < 5 else "DE"}
        for at, row in enumerate(long_rows(count))
    ]


@pytest.mark.parametrize("ending", WRITERS)
def test_a_value_that_no_row_has_is_named_with_the_values_of_all_rows(tmp_path, ending):
    text = refused(save(tmp_path, in_languages(), ending) | {"where": ["log.lang=englisch"]})
    assert text == (
        'log: no row has the value "englisch" in column "lang" (--where log.lang=englisch). '
        'Among 60 rows the values are german, english; did you mean "english"?'
    )


def test_of_two_conditions_the_one_that_leaves_no_row_is_named(tmp_path):
    """Each is true of some row, and the first rows fulfill only one; values are of the rows that the other leaves."""
    arguments = save(tmp_path, in_languages()) | {"where": ["log.lang=english", "log.country=AT"]}
    text = refused(arguments)
    assert 'no row has the value "AT" in column "country" (--where log.country=AT) and fulfills' in text
    assert "Among 10 rows the only value is DE." in text


def test_many_values_of_a_long_log_are_counted(tmp_path):
    text = refused(save(tmp_path, long_rows()) | {"where": ["user_id=someone else"]})
    assert "Among 60 rows the values are u0, u1, u2, u3, u4, u5, u6, u7 and 52 more." in text


def without(name: str, rows: list[dict]) -> list[dict]:
    return [{key: value for key, value in row.items() if key != name} for row in rows]


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("is_long", [True, False])
def test_a_file_without_a_needed_column_is_named_with_its_own_columns(tmp_path, ending, is_long):
    arguments = save(tmp_path, long_rows(), ending, files=3)
    rows = [row | {"mark": 1} for row in without("outcome", long_rows())]
    (tmp_path / "log" / f"part-1.{ending}").write_bytes(WRITERS[ending](rows))
    expected = (
        f'part-1.{ending}: there is no column "outcome", which part-0.{ending} has; '
        "the columns are context, model, output, user_id, mark."
    )
    if is_long:
        assert expected in refused(arguments)
    else:
        with pytest.raises(DataError) as caught:
            load(**arguments)
        assert expected in str(caught.value)


def test_files_that_lack_a_column_and_differ_are_named_one_by_one(tmp_path):
    """A column under another name has the name of its file."""
    arguments = save(tmp_path, long_rows(), "parquet", files=3)
    for at, name in ((1, "prompt"), (2, "context")):
        rows = [{name if key == "context" else key: value for key, value in row.items()} for row in long_rows()]
        (tmp_path / "log" / f"part-{at}.parquet").write_bytes(as_parquet(without("model", rows)))
    text = refused(arguments)
    assert "part-1.parquet: there is no column" in text
    assert "the columns are prompt, output, outcome, user_id." in text
    assert "part-2.parquet: there is no column" in text
    assert "the columns are context, output, outcome, user_id." in text


def test_a_file_without_the_column_of_a_condition_is_named_with_its_own_columns(tmp_path):
    arguments = save(tmp_path, in_languages(), "parquet", files=3) | {"where": ["log.lang=german"]}
    (tmp_path / "log" / "part-1.parquet").write_bytes(as_parquet(long_rows()))
    text = refused(arguments)
    assert 'part-1.parquet: there is no column "lang" for --where, which part-0.parquet has' in text
    assert "the columns are context, model, output, outcome, user_id" in text


def faulty_outcomes(*at: int) -> list[dict]:
    return [row | {"outcome": 5 if number in at else row["outcome"]} for number, row in enumerate(long_rows())]


def test_a_remark_is_not_counted_as_a_problem(command, capsys):
    assert main(command(faulty_outcomes(3, 4))) == 1
    text = capsys.readouterr().err
    assert "problems:" not in text
    assert text.startswith("deconfound: part-0.parquet row 4: outcome 5 is outside 0 to 1")
    assert "Reading a long log stopped after the first rows of its files" in text.splitlines()[-1]


def test_problems_beside_a_remark_are_counted(command, capsys):
    rows = [row | {"context": "" if at == 7 else row["context"]} for at, row in enumerate(faulty_outcomes(3))]
    assert main(command(rows)) == 1
    text = capsys.readouterr().err
    assert text.startswith("deconfound: 2 problems:\n")
    assert len(text.splitlines()) == 4


def test_a_remark_is_no_problem_in_python(tmp_path):
    with pytest.raises(DataError) as caught:
        load(**save(tmp_path, faulty_outcomes(3)), long_log=in_batches(5, head_rows=10))
    assert len(caught.value.problems) == 1
    assert str(caught.value).endswith(caught.value.remark)
    assert "first rows of its files" in caught.value.remark


@pytest.mark.parametrize("is_long", [True, False])
def test_the_column_of_a_condition_is_not_unused(tmp_path, is_long):
    arguments = save(tmp_path, in_languages()) | {"where": ["log.lang=german"]}
    study = load(**arguments, **({"long_log": in_batches(5, head_rows=10)} if is_long else {}))
    assert study.log.unused_columns == ("country",)


def test_a_column_of_a_condition_is_no_misspelled_column():
    """A name close to "cluster", of a column that is used."""
    good = Good()
    for row in good.log:
        row |= {"clustr": "x"}
    assert notes(load(**tables(good)), "unused columns")
    assert not notes(load(**tables(good), where=["log.clustr=x"]), "unused columns")


def test_faults_of_an_optional_column_in_the_first_rows_are_said_to_be_of_these(tmp_path):
    rows = [row | {"user_id": "" if at % 2 else "u"} for at, row in enumerate(long_rows())]
    arguments = save(tmp_path, rows, "csv")
    (message,) = notes(load(**arguments, long_log=in_batches(5, head_rows=10)), "columns left out")
    assert "(10 rows: 2, 4, 6, …). The column is left out." in message
    assert message.endswith(f" This is about the {FIRST} rows that were read first; later ones were not counted.")
    (whole,) = notes(load(**arguments, long_log=in_batches(5, head_rows=100)), "columns left out")
    assert "(30 rows: 2, 4, 6, …)" in whole
    assert "read first" not in whole


def test_faults_of_an_optional_column_further_down_are_said_to_be_of_the_rows_up_to_there(tmp_path):
    rows = [row | {"user_id": "" if at in (47, 48, 55) else "u"} for at, row in enumerate(long_rows())]
    (message,) = notes(load(**save(tmp_path, rows), long_log=in_batches(5, head_rows=10)), "columns left out")
    assert "read first; later ones were not counted." in message

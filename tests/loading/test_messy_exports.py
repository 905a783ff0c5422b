"""Exports as teams have them: each ends in the right study, or in a message with the place, the cause and a way out."""

# One case per line reads better than five lines per case.

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.data import Study
from deconfound.loading import load
from tests.support.studies import Good, as_csv, as_jsonl, as_parquet, good_with, refused, tables

EVERY = ("log", "experiment", "replay")
Change = Callable[[dict], object]


@dataclass(frozen=True)
class Export:
    """A study in files that were changed like this."""

    good: Callable[[], Good] = Good
    write: Callable[[list], bytes] = as_csv
    change: Callable[[bytes], bytes] = bytes
    ending: str = "csv"
    options: dict = field(default_factory=dict)
    roles: tuple[str, ...] = EVERY

    def save(self, folder) -> dict:
        good, paths = self.good(), {}
        for role in EVERY:
            data = self.write(getattr(good, role))
            paths[role] = folder / f"{role}.{self.ending}"
            paths[role].write_bytes(self.change(data) if role in self.roles else data)
        return {**paths, **self.options}


def in_rated(change: Change) -> Callable[[], Good]:
    return lambda: good_with(log=change, experiment=change)


def in_all(change: Change) -> Callable[[], Good]:
    return lambda: good_with(**dict.fromkeys(EVERY, change))


def outcome_as(write: Callable[[float], object]) -> Callable[[], Good]:
    return in_rated(lambda row: row.update(outcome=write(row["outcome"])))


def renamed(old: str, new: str) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old.encode(), new.encode(), 1)


def german(number: float) -> str:
    return f"{number:.2f}".replace(".", ",")


def with_prefix(row: dict) -> None:
    row["model"] = f"acme/{row['model']}"


def as_categories(rows: list) -> bytes:
    """Parquet as pandas writes categories: every column is a dictionary."""
    table, sink = pa.Table.from_pylist(rows), io.BytesIO()
    columns = [column.dictionary_encode() for column in table.columns]
    pq.write_table(pa.table(columns, names=table.column_names), sink)
    return sink.getvalue()


def as_list(rows: list) -> bytes:
    return json.dumps(rows, indent=2, ensure_ascii=False).encode()


def with_empty_rows(data: bytes) -> bytes:
    """As spreadsheets leave rows in which something stood once."""
    return data + 3 * (b";" * data.split(b"\n", 1)[0].count(b";") + b"\n")


def in_members(data: bytes) -> bytes:
    """Two compressed files that were appended to each other."""
    return gzip.compress(data[:50]) + gzip.compress(data[50:])


def as_feedback(row: dict) -> None:
    row["feedback"] = {"rating": row.pop("outcome"), "comment": None, "by": {"user": "u"}}


def as_database(row: dict) -> None:
    """Numbers as text, times with the name of their zone, and a record, as BigQuery exports rows."""
    row |= {"outcome": str(row["outcome"]), "created_at": "2026-05-01 10:00:00.5 UTC", "meta": {"tokens": "12"}}


def with_number(row: dict) -> None:
    """An id as a database stores it, with decimals."""
    row["context_id"] = Decimal(int(row["context"].split()[-1])).quantize(Decimal("0.000000001"))


RENAME = {"rename_models": {f"acme/{name}": name for name in ("ant", "bee", "cat")}}
SEMICOLONS = lambda rows: as_csv(rows, ";")  # noqa: E731
AS_BEFORE = {
    "byte-order mark": Export(change=lambda data: codecs.BOM_UTF8 + data),
    "semicolons": Export(write=SEMICOLONS),
    "tabs": Export(write=lambda rows: as_csv(rows, "\t"), ending="tsv"),
    "line ends of Windows": Export(change=lambda data: data.replace(b"\n", b"\r\n")),
    "blank lines at the end": Export(change=lambda data: data + b"\n\n"),
    "gzip": Export(change=gzip.compress, ending="csv.gz"),
    "names in another case": Export(change=renamed("context,model,output", "Context, Model ,OUTPUT")),
    "usual other names": Export(change=renamed("context,model,output", "prompt,model_name,response")),
    "index of a data frame": Export(in_all(lambda row: row.update({"": 0}))),
    "separator at the end of lines": Export(in_all(lambda row: row.update({" ": ""}))),
    "decimal commas": Export(outcome_as(german), write=SEMICOLONS),
    "percentages": Export(outcome_as(lambda number: f"{100 * number:.0f} %")),
    "percentages with commas": Export(outcome_as(lambda number: f"{german(100 * number)}%"), write=SEMICOLONS),
    "stars": Export(outcome_as(lambda number: 1 + 4 * number), options={"outcome_range": (1, 5)}),
    "seconds": Export(outcome_as(lambda number: 60 - 60 * number), options={"outcome_range": (60, 0)}),
    "provider prefixes": Export(in_rated(with_prefix), options=RENAME),
    "messages as JSON": Export(
        in_all(lambda row: row.update(context=json.dumps([{"role": "user", "content": row["context"]}])))
    ),
    "messages in lines": Export(
        in_all(lambda row: row.update(messages=[{"role": "user", "content": row.pop("context")}])),
        as_jsonl,
        ending="jsonl",
    ),
    "missing keys": Export(in_rated(lambda row: row.update(note=None)), as_jsonl, ending="jsonl"),
    "an export that was written twice": Export(
        lambda: good_with(replay=lambda row: row.pop("draw")),
        change=lambda data: data + data.split(b"\n", 1)[1],
        roles=("replay",),
    ),
    "test rows": Export(
        lambda: _with_test_rows(Good()), options={"where": ["log.env!=test"], "columns": {"log.outcome": "outcome"}}
    ),
    "a line that names the separator": Export(write=SEMICOLONS, change=lambda data: b"sep=;\r\n" + data),
    "a spreadsheet's Unicode text": Export(
        write=lambda rows: as_csv(rows, "\t"), change=lambda data: data.decode().encode("utf-16")
    ),
    "empty rows at the end": Export(write=SEMICOLONS, change=with_empty_rows),
    "two byte-order marks": Export(change=lambda data: 2 * codecs.BOM_UTF8 + data),
    "the end-of-file character": Export(change=lambda data: data + b"\x1a"),
    "an index with the name of pandas": Export(in_all(lambda row: row.update({"Unnamed: 0": 3}))),
    "categories": Export(write=as_categories, ending="parquet"),
    "compressed files appended to each other": Export(change=in_members, ending="csv.gz"),
    "JSON lines under another name": Export(in_rated(as_database), as_jsonl, ending="json"),
    "one list of objects": Export(write=as_list, ending="json"),
    "a compressed list of objects": Export(write=as_list, change=gzip.compress, ending="json.gz"),
    "nested feedback": Export(
        in_rated(as_feedback), as_jsonl, ending="jsonl", options={"columns": {"outcome": "feedback.rating"}}
    ),
    "nested feedback as JSON in a cell": Export(
        in_rated(lambda row: row.update(feedback=json.dumps({"rating": row.pop("outcome")}))),
        options={"columns": {"outcome": "feedback.rating"}},
    ),
    "names in camel case": Export(change=renamed("context,model,output", "Prompt,modelName,Response")),
    "invisible characters in names": Export(change=renamed("context,model", "context\u200b,\u00a0model")),
    "propensities in percent": Export(lambda: good_with(experiment=lambda row: row.update(propensity="33 %"))),
    "other line ends in one table": Export(
        lambda: good_with(experiment=lambda row: row.update(context=f" {row['context']}\r\n")),
        options={"normalize_contexts": True},
    ),
    "users that are sometimes missing": Export(
        lambda: _some(Good(), lambda row: row.update(user_id=None), lambda row: row.update(user_id="u"))
    ),
    "times of which some have no zone": Export(
        lambda: _some(
            Good(), lambda row: row.update(time="2026-05-01 10:00"), lambda row: row.update(time="2026-05-01T10:00Z")
        )
    ),
}


def _with_test_rows(good: Good) -> Good:
    for row in good.log:
        row["env"] = "prod"
    good.log.append(good.log[0] | {"env": "test", "outcome": 99})
    return good


def _some(good: Good, first: Change, others: Change) -> Good:
    for number, row in enumerate(good.log):
        (others if number else first)(row)
    return good


@pytest.mark.parametrize("name", AS_BEFORE)
def test_a_messy_export_is_the_same_study(tmp_path, name):
    study, expected = load(**AS_BEFORE[name].save(tmp_path)), load(**tables(Good()))
    for role in EVERY:
        given, clean = getattr(study, role).arrow, getattr(expected, role).arrow
        assert set(given.column_names) >= set(clean.column_names)
        for column in clean.column_names:
            if column == "outcome":
                assert given[column].to_pylist() == pytest.approx(clean[column].to_pylist())
            else:
                assert given[column].to_pylist() == clean[column].to_pylist(), column


def test_nulls_of_a_database_are_missing_values(tmp_path):
    """PostgreSQL writes \\N for them, and t and f for true and false."""
    good = Good()
    for row in (*good.log, *good.experiment):
        row["outcome"] = "t" if row["outcome"] else "f"
    good.log[3]["outcome"] = "\\N"
    study = load(**Export(lambda: good).save(tmp_path))
    assert len(study.unrated_log) == 1
    assert rounded(study) == [float(number % 2) for number in range(12) if number != 3]
    good.log[5]["output"] = "\\N"
    assert "log.csv row 6: output has no value" in refused(**Export(lambda: good).save(tmp_path))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-05-01 10:00:00 UTC", 0),
        ("2026-05-01 10:00:00.250 UTC", 0.25),
        ("2026-05-01 10:00:00 +0000 UTC", 0),
        ("2026-05-01 12:00:00 +0200", 0),
        ("2026-05-01 12:00:00+02", 0),
    ],
)
def test_times_of_databases_are_read(tmp_path, text, seconds):
    good = in_rated(lambda row: row.update(time=text))
    assert set(load(**Export(good).save(tmp_path)).log.arrow["time"].to_pylist()) == {1777629600 + seconds}


def test_ids_with_decimals_are_the_same_as_whole_ones(tmp_path):
    export = Export(lambda: good_with(log=with_number, experiment=with_number), as_parquet, ending="parquet")
    paths = export.save(tmp_path)
    replay = good_with(replay=lambda row: row.update(context_id=int(row["context"].split()[-1]))).replay
    (tmp_path / "replay.csv").write_bytes(as_csv(replay))
    study = load(**paths | {"replay": tmp_path / "replay.csv"})
    assert set(study.experiment.arrow["context_id"].to_pylist()) == {str(number) for number in range(6)}


def rounded(study: Study) -> list[float]:
    return study.log.arrow["outcome"].to_pylist()


@pytest.mark.parametrize(
    "write",
    [
        lambda number: "👍" if number > 0.5 else "👎",
        lambda number: "Yes" if number > 0.5 else "no",
        lambda number: "thumbs_up" if number > 0.5 else "thumbs_down",
        lambda number: "TRUE" if number > 0.5 else "FALSE",
        lambda number: "1" if number > 0.5 else "",
        lambda number: "1" if number > 0.5 else "N/A",
    ],
)
def test_ratings_in_words_or_missing_are_read(tmp_path, write):
    study = load(**Export(outcome_as(write)).save(tmp_path))
    rated = [number for number in (row["outcome"] for row in Good().log) if write(number) not in ("", "N/A")]
    assert rounded(study) == rated


def fifty_models() -> Good:
    good = Good()
    good.log += [good.log[0] | {"model": f"retired-{number:02d}"} for number in range(47)]
    return good


def test_retired_models_are_counted_and_not_compared(tmp_path):
    study = load(**Export(fifty_models).save(tmp_path))
    assert study.models == ("ant", "bee", "cat")
    assert len(study.uncompared_models) == 47
    message = next(f.details.message for f in study.findings if f.check == "models")
    assert message.startswith("log.csv: 47 rows of models that are not compared (retired-00")


REFUSED = {
    "Windows encoding": (
        Export(
            in_all(lambda row: row.update(context=f"café {row['context']}")),
            change=lambda data: data.decode().encode("cp1252"),
            roles=("log",),
        ),
        ("log.csv line 2", "is not UTF-8", "iconv -f cp1252"),
    ),
    "a spreadsheet": (Export(ending="xlsx"), ("log.xlsx", "spreadsheet", "CSV")),
    "a spreadsheet under another name": (
        Export(change=lambda data: b"PK\x03\x04" + data, roles=("log",)),
        ("log.csv", "spreadsheet", "export it again"),
    ),
    "line breaks at the end of contexts": (
        Export(lambda: good_with(experiment=lambda row: row.update(context=row["context"] + "\n"))),
        ("experiment.csv row 1", "only in surrounding spaces, line ends", "--normalize-contexts"),
    ),
    "a header in the middle": (
        Export(change=lambda data: data + data, roles=("log",)),
        ("log.csv row 13", 'outcome "outcome" is not a number'),
    ),
    "a cut-off line": (
        Export(write=as_jsonl, change=lambda data: data[:-10], ending="jsonl", roles=("log",)),
        ("log.jsonl line 12", "is cut off", "export it again"),
    ),
    "thousands": (
        Export(outcome_as(lambda _: "1,234")),
        ("log.csv row 1", '"1,234" is not a number', "with a point"),
    ),
    "an unknown rating": (
        Export(outcome_as(lambda number: "meh" if number else "up")),
        ("log.csv row 2", '"meh"', "--outcome-values"),
    ),
    "stars without their scale": (
        Export(outcome_as(lambda number: 1 + 4 * number)),
        ("log.csv row 2", "5 is outside 0 to 1", "--outcome-range"),
    ),
    "models in another case": (
        Export(lambda: good_with(experiment=lambda row: row.update(model=row["model"].upper()))),
        ("experiment.csv row 1", 'differs from "ant" only in case', "--rename-model ANT=ant"),
    ),
    "two ratings": (
        Export(in_rated(lambda row: row.update(rating=row.pop("outcome"), score=1))),
        ("log.csv", "several columns could be the outcome: rating, score", "--map outcome=rating"),
    ),
    "a comma that is not quoted": (
        Export(change=lambda data: data.replace(b"question 3", b"question 3, please", 1), roles=("log",)),
        ("log.csv row 4", "5 cells, more than the header's 4", "in quotes"),
    ),
    "a quote that is not closed": (
        Export(change=lambda data: data.replace(b"question 3", b'"question 3', 1), roles=("log",)),
        ("log.csv row 4", "a quote is never closed", "Close it"),
    ),
    "nested feedback without a field": (
        Export(in_rated(as_feedback), as_jsonl, ending="jsonl"),
        ("log.jsonl line 1", "is an object, not a number", "--map outcome=feedback.rating (it has rating, by)"),
    ),
    "no names of columns": (
        Export(change=lambda data: data.split(b"\n", 1)[1], roles=("log",)),
        ("log.csv: there is no column for the model", "in the first line"),
    ),
    "a title above the names": (
        Export(change=lambda data: b"Ratings of May\n\n" + data, roles=("log",)),
        ("log.csv row 1", "more than the header's 1 (Ratings of May)", "above the column names"),
    ),
    "a summary below the rows": (
        Export(change=lambda data: data + b"(12 rows)\n", roles=("log",)),
        ("log.csv row 13", "the row has 1 cell"),
    ),
    "failed calls": (
        Export(in_rated(lambda row: row.update(output=None)), as_jsonl, ending="jsonl", roles=()),
        ("log.jsonl line 1", "output has no value", '--where "log.output!="'),
    ),
    "a code for missing ratings": (
        Export(outcome_as(lambda number: 1 + 4 * number if number else 99), options={"outcome_range": (1, 5)}),
        ("log.csv row 1", "99 is outside --outcome-range 1 5", "--outcome-values 99=missing"),
    ),
    "words and stars": (
        Export(lambda: _some(Good(), lambda row: row.update(outcome="4"), lambda row: row.update(outcome="yes"))),
        ("log.csv row 1", 'outcome 4 is a number among words such as "yes"', "--outcome-values WORD=NUMBER"),
    ),
    "an empty file": (Export(change=lambda _: b"", roles=("log",)), ("log.csv", "0 bytes", "Export it again")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_explained(tmp_path, name):
    export, fragments = REFUSED[name]
    message = refused(**export.save(tmp_path))
    for fragment in fragments:
        assert fragment in message


def test_there_are_enough_cases():
    assert len(AS_BEFORE) + len(REFUSED) >= 60

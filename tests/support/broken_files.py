"""Studies in files with exactly one fault, and what the error must report: the place, the value and the fix."""

# One case per line reads better than seven lines per case.
# ruff: noqa: E501

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.studies import Good, as_parquet, write_study

Arguments = dict[str, object]
Build = Callable[[Path], Arguments]  # writes the study into a folder, returns the arguments of ``load``
Damage = Callable[[Good], object]


@dataclass(frozen=True)
class Case:
    """One kind of broken study: some problem must be at ``where``, mention all of ``what`` and advise ``fix``."""

    name: str
    build: Build
    where: str
    what: tuple[str, ...]
    fix: str


@dataclass(frozen=True)
class Broken:
    """A broken study on disk: what to pass to ``load``, and what its message must contain."""

    case: Case
    arguments: Arguments

    @property
    def name(self) -> str:
        return self.case.name

    @property
    def fragments(self) -> tuple[str, ...]:
        return (self.case.where, *self.case.what, self.case.fix)


def make_all(folder: Path) -> list[Broken]:
    """Write every broken study, each into a folder of its own."""
    return [Broken(case, case.build(folder / case.name)) for case in CASES]


# Ways to damage the rows of a table


def rows(ending: str, *damages: Damage) -> Build:
    """Damage the rows, then write them in a format."""

    def build(folder: Path) -> Arguments:
        good = Good()
        for damage in damages:
            damage(good)
        for table in (good.log, good.experiment, good.replay):
            columns = dict.fromkeys(column for row in table for column in row)
            if ending != "jsonl":
                table[:] = [{column: row.get(column) for column in columns} for row in table]
        return write_study(folder, good, ending)

    return build


def one(role: str, row: int, **cells: object) -> Damage:
    return lambda good: getattr(good, role)[row].update(cells)


def every(role: str, **cells: object) -> Damage:
    return lambda good: [row.update(cells) for row in getattr(good, role)]


def without(role: str, column: str, selected: slice = slice(None)) -> Damage:
    return lambda good: [row.pop(column, None) for row in getattr(good, role)[selected]]


def removed(role: str, selected: slice) -> Damage:
    return lambda good: getattr(good, role).__delitem__(selected)


def _only_ant(good: Good) -> None:
    for table in (good.log, good.experiment, good.replay):
        table[:] = [row for row in table if row["model"] == "ant"]


def _repeat_a_replay_row(good: Good) -> None:
    good.replay.append(good.replay[3])


def _name_all_contexts(good: Good) -> None:
    for row in good.all_rows():
        row.setdefault("context_id", f"id of {row['context']}")


def _one_id_for_two_texts(good: Good) -> None:
    for row in good.log[:2]:
        row["context_id"] = "c1"
    _name_all_contexts(good)


def _id_without_text(good: Good) -> None:
    _name_all_contexts(good)
    for row in good.log:
        row.pop("context")
    good.log[0]["context_id"] = "lost"


# Ways to damage the bytes of a file


def file_bytes(file: str, damage: Callable[[bytes], bytes]) -> Build:
    """Write a valid study in the format of ``file``, then change the bytes of that file."""

    def build(folder: Path) -> Arguments:
        arguments = write_study(folder, Good(), file.partition(".")[2])
        path = folder / file
        path.write_bytes(damage(path.read_bytes()))
        return arguments

    return build


def appended(file: str, line: bytes) -> Build:
    return file_bytes(file, lambda data: data + line)


def replaced(file: str, old: bytes, new: bytes) -> Build:
    return file_bytes(file, lambda data: data.replace(old, new, 1))


def _without_rows(data: bytes) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(data)).slice(0, 0), sink)
    return sink.getvalue()


def _second_half_zero(data: bytes) -> bytes:
    half = len(data) // 2
    return data[:half] + bytes(len(data) - half - 4) + data[-4:]


def _quote_opened_in_row_3(data: bytes) -> bytes:
    lines = data.split(b"\n")
    lines[3] = b'"' + lines[3]
    lines[6] = lines[6].replace(b"question", b'"question"', 1)
    return b"\n".join(lines)


# Files that do not exist, are not files, or are not what their name says


def other_log(file: str, pack: Callable[[bytes], bytes] | None = None) -> Build:
    """Pass another file as the log; ``pack`` makes its content from that of log.csv."""

    def build(folder: Path) -> Arguments:
        arguments = write_study(folder, Good(), "csv")
        if pack is not None:
            (folder / file).write_bytes(pack((folder / "log.csv").read_bytes()))
        return arguments | {"log": folder / file}

    return build


def _folder_as_log(folder: Path) -> Arguments:
    (folder / "folder.csv").mkdir(parents=True)
    return other_log("folder.csv")(folder)


def _log_as_experiment(folder: Path) -> Arguments:
    return write_study(folder, Good(), "csv") | {"experiment": folder / ".." / folder.name / "log.csv"}


def _unreadable_log(folder: Path) -> Arguments:
    arguments = other_log("secret.csv", lambda _: b"a")(folder)
    (folder / "secret.csv").chmod(0)
    return arguments


def _zstd_cut_off(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed[:-3]


def options(**arguments: object) -> Build:
    """A valid study with arguments of ``load`` that it cannot satisfy."""
    return lambda folder: write_study(folder, Good(), "csv") | arguments


DEEP_LINE = b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}\n"
THREE_TENTHS = {f"propensity_{name}": 0.3 for name in ("ant", "bee", "cat")}

# fmt: off
CASES: list[Case] = [
    # outcomes
    Case("outcome above 1", rows("csv", one("log", 6, outcome=4)), "log.csv row 7", ("outcome 4",), "--outcome-range 0 4 if more is better, 4 0 if less is better"),
    Case("outcome below 0", rows("jsonl", one("experiment", 2, outcome=-1)), "experiment.jsonl line 3", ("outcome -1",), "--outcome-range"),
    Case("outcome NaN", rows("parquet", every("log", outcome=float("nan"))), "log.parquet", ("no row has an outcome",), "--map outcome=COLUMN"),
    Case("outcome empty", rows("csv", every("experiment", outcome="")), "experiment.csv", ("no row has an outcome",), "--map outcome=COLUMN"),
    Case("outcome is a word", rows("csv", one("log", 1, outcome="good")), "log.csv row 2", ('"good"',), "number"),
    Case("outcome is a word (JSONL)", rows("jsonl", one("log", 1, outcome="bad")), "log.jsonl line 2", ('"bad"',), "number"),
    Case("outcome infinite", rows("csv", one("log", 2, outcome="inf")), "log.csv row 3", ("outcome inf",), "finite number"),
    Case("outcome is an object", rows("jsonl", one("log", 4, outcome={"a": 1})), "log.jsonl line 5", ('{"a": 1}',), "number"),
    Case("outcome is a list", rows("parquet", every("log", outcome=[1.0])), "log.parquet row 1", ("[1.0]",), "number"),
    Case("outcome outside the given range", options(outcome_range=(0.0, 0.5)), "log.csv row 2", ("outcome 1 ", "--outcome-range 0 0.5"), "widen"),
    # texts
    Case("context empty", rows("jsonl", one("log", 5, context="")), "log.jsonl line 6", ("context", "blank"), "context"),
    Case("context blank", rows("csv", one("replay", 5, context=" \n")), "replay.csv row 6", ("context", "blank"), "context"),
    Case("context nested", rows("jsonl", one("log", 0, context=[{"role": "user"}])), "log.jsonl line 1", ("role", "not text"), "one text"),
    Case("context missing", rows("parquet", one("log", 7, context=None)), "log.parquet row 8", ("context",), "context"),
    Case("model null", rows("jsonl", one("experiment", 1, model=None)), "experiment.jsonl line 2", ("model",), "model"),
    Case("model blank", rows("csv", one("experiment", 1, model="  ")), "experiment.csv row 2", ("model", "blank"), "model"),
    Case("output null", rows("jsonl", one("replay", 9, output=None)), "replay.jsonl line 10", ("output",), "output"),
    Case("output key absent", rows("jsonl", without("replay", "output", slice(3, 5))), "replay.jsonl line 4", ("2 lines: 4, 5",), "output"),
    # columns
    Case("no outcome column", rows("csv", without("log", "outcome")), "log.csv", ("outcome",), "--map outcome=COLUMN"),
    Case("no model column", rows("jsonl", without("replay", "model")), "replay.jsonl", ("model",), "--map model=COLUMN"),
    Case("no context column", rows("parquet", without("replay", "context")), "replay.parquet", ("context_id",), "--map context=COLUMN"),
    Case("no output column", rows("csv", without("experiment", "output")), "experiment.csv", ("output", "feature_*"), "--map output=COLUMN"),
    Case("two aliases", rows("csv", without("log", "outcome"), every("log", score=1, rating=1)), "log.csv", ("score, rating",), "--map outcome=score"),
    Case("mapped to a missing column", options(columns={"outcome": "outcomes"}), "log.csv, experiment.csv",
         ('"outcomes"', "context, model, output, outcome"), '--map outcome=COLUMN (did you mean "outcome"?)'),
    Case("optional column mapped to a missing one", options(columns={"cluster": "outputs"}), "log.csv, experiment.csv",
         ('"outputs"',), '--map cluster=COLUMN (did you mean "output"?)'),
    # models, contexts and draws
    Case("model without replay", rows("jsonl", one("experiment", 4, model="wasp")), "experiment.jsonl line 5",
         ('"wasp"', "replay.jsonl", "ant, bee, cat"), "--models ant,bee,cat"),
    Case("one model only", rows("csv", _only_ant), "replay.csv", ("ant", "two models"), "--models"),
    Case("replay incomplete", rows("jsonl", removed("replay", slice(4, 5))), "experiment.jsonl line 2", ('"question 1"', "bee"), "--drop-incomplete"),
    Case("draw twice", rows("csv", _repeat_a_replay_row), "replay.csv row 19", ("draw 0", '"ant"', '"question 1"'), "Number the draws"),
    Case("draw is a word", rows("jsonl", one("replay", 1, draw="first")), "replay.jsonl line 2", ('"first"',), "Number the draws"),
    Case("draw too large", rows("csv", one("replay", 1, draw="1e300")), "replay.csv row 2", ("draw 1e300",), "Number the draws"),
    Case("draw is a fraction", rows("csv", one("replay", 1, draw=0.5)), "replay.csv row 2", ("draw 0.5",), "Number the draws"),
    Case("experiment of one row", rows("csv", removed("experiment", slice(1, None))), "experiment.csv", ("1 usable row",), "more contexts"),
    Case("one id for two texts", rows("jsonl", _one_id_for_two_texts), "log.jsonl line 2", ('"c1"', "log.jsonl line 1"), "context_id"),
    Case("id without text", rows("jsonl", _id_without_text), "log.jsonl line 1", ('"lost"',), "context column"),
    # labels, features and propensities
    Case("feature in one table", rows("csv", every("log", feature_a=1)), "experiment.csv, replay.csv", ("feature_a",), "Add it"),
    Case("propensity zero", rows("jsonl", every("experiment", propensity=0)), "experiment.jsonl line 1", ("probability 0",), "propensity"),
    Case("propensity above 1", rows("csv", every("experiment", propensity=2)), "experiment.csv row 1", ("propensity 2",), "probability"),
    Case("propensities of some models", rows("csv", every("experiment", propensity_ant=0.5, propensity_bee=0.5)), "experiment.csv row 3",
         ('"cat"', "propensity_cat"), "--map propensity_NAME=COLUMN"),
    Case("propensities that do not sum to 1", rows("jsonl", every("experiment", **THREE_TENTHS)), "experiment.jsonl line 1", ("sum to 0.9",), "propensity_*"),
    Case("propensities that disagree", rows("jsonl", every("experiment", propensity=0.9, propensity_ant=0.3, propensity_bee=0.3, propensity_cat=0.4)),
         "experiment.jsonl line 1", ("propensity 0.9",), "Correct one"),
    Case("a compared model of propensity 0", rows("csv", every("experiment", propensity_ant=0.5, propensity_bee=0.5, propensity_cat=0), one("experiment", 2, model="ant"), one("experiment", 5, model="bee")),
         "experiment.csv row 1", ("propensity_cat", "6 rows"), "--models"),
    # whole files
    Case("empty file", file_bytes("log.csv", lambda _: b""), "log.csv", ("0 bytes",), "Export it again"),
    Case("only blank lines", file_bytes("log.jsonl", lambda _: b"\n\n"), "log.jsonl", ("no rows",), "Export it again"),
    Case("header only", file_bytes("replay.csv", lambda data: data.split(b"\n")[0] + b"\n"), "replay.csv", ("no rows",), "Check the export"),
    Case("Parquet without rows", file_bytes("log.parquet", _without_rows), "log.parquet", ("no rows",), "Check the export"),
    Case("Parquet cut off", file_bytes("log.parquet", lambda data: data[:-40]), "log.parquet", ("damaged",), "copy the file again"),
    Case("Parquet without end", file_bytes("log.parquet", lambda data: data[:8]), "log.parquet", ("damaged",), "copy the file again"),
    Case("Parquet overwritten", file_bytes("log.parquet", _second_half_zero), "log.parquet", ("damaged",), "copy the file again"),
    Case("CSV called Parquet", file_bytes("log.parquet", lambda _: b"a,b\n1,2\n"), "log.parquet", ("not Parquet", "a,b"), "extension"),
    Case("Parquet called CSV", file_bytes("log.csv", lambda _: as_parquet([{"a": 1}])), "log.csv", ("Parquet",), "extension"),
    Case("gzip called CSV", file_bytes("log.csv", gzip.compress), "log.csv", ("gzip",), "extension"),
    Case("spreadsheet called CSV", file_bytes("log.csv", lambda _: b"PK\x03\x04rest"), "log.csv", ("spreadsheet",), "export it again"),
    Case("UTF-16 cut off", file_bytes("log.csv", lambda data: data.decode().encode("utf-16")[:-1]), "log.csv", ("UTF-16",), "UTF-8"),
    Case("no such file", other_log("logg.csv"), "logg.csv", ("no such file", "log.csv"), "Check the name"),
    Case("no such folder", other_log("no/log.csv"), "log.csv", ("no folder",), "Check the name"),
    Case("a folder without tables", _folder_as_log, "folder.csv", ("in this folder",), "Use .parquet"),
    Case("gzip cut off", other_log("cut.csv.gz", lambda data: gzip.compress(data)[:-15]), "cut.csv.gz", ("gzip", "cut off"), "again"),
    Case("gzip that is none", other_log("plain.csv.gz", lambda _: b"a,b\n"), "plain.csv.gz", ("gzip",), "extension"),
    Case("Zstandard cut off", other_log("cut.csv.zst", _zstd_cut_off), "cut.csv.zst", ("zstd", "cut off"), "again"),
    Case("unknown extension", other_log("log.txt", lambda _: b"x"), "log.txt", ('".txt"',), ".parquet"),
    Case("spreadsheet", other_log("log.xlsx", lambda _: b"x"), "log.xlsx", ("spreadsheet",), "as CSV"),
    Case("JSON list empty", other_log("log.json", lambda _: b"[]"), "log.json", ("empty",), "list of objects"),
    Case("JSON list cut off", other_log("log.json", lambda _: b'[{"a": 1}, {"a"'), "log.json row 2", ("cut off",), "Export"),
    Case("JSON list without comma", other_log("log.json", lambda _: b'[{"a": 1} {"a": 2}]'), "log.json row 2", ("not JSON",), "Export"),
    Case("JSON list and more", other_log("log.json", lambda _: b'[{"a": 1}] {"a": 2}'), "log.json", ("follows the end",), "list of objects"),
    Case("JSON list of numbers", other_log("log.json", lambda _: b"[1, 2]"), "log.json row 1", ("not an object",), "one object"),
    Case("JSON object", other_log("log.json", lambda _: b'{"rows":\n [{"a": 1}]}'), "log.json", ("one JSON object", "rows"), "jq -c"),
    Case("JSON text", other_log("log.json", lambda _: b'"a"'), "log.json", ("no list of objects",), "list of objects"),
    Case("address", options(log="s3://bucket/log.parquet"), "log.parquet", ("address",), "Download"),
    Case("Parquet in gzip", other_log("log.parquet.gz", gzip.compress), "log.parquet.gz", ('".parquet.gz"',), ".parquet"),
    Case("log as experiment", _log_as_experiment, "log.csv", ("same table",), "table of their own"),
    # bytes, rows and lines inside a file
    Case("Latin-1", replaced("log.csv", b"question 2", b"qu\xe9stion"), "log.csv line 4", ("0xe9",), "UTF-8"),
    Case("Latin-1 (JSONL)", replaced("log.jsonl", b"ant", b"\xe4nt"), "log.jsonl line 1", ("0xe4",), "UTF-8"),
    Case("NUL bytes", file_bytes("log.csv", lambda data: data[:-9] + b"\0" * 9), "log.csv line 13", ("NUL",), "Export the file again"),
    Case("row too long", appended("log.csv", b"a,b,c,1,2\n"), "log.csv row 13", ("5 cells", "4"), "in quotes"),
    Case("row too short", appended("log.csv", b"a,ant\n"), "log.csv row 13", ("2 cells", "4"), "export the file again"),
    Case("quote never closed", appended("log.csv", b'"a,ant,b,1\n'), "log.csv row 13", ("quote",), "Close it"),
    Case("quote opened inside", file_bytes("log.csv", _quote_opened_in_row_3), "log.csv row 3", ("quote",), "Close it"),
    Case("two columns of one name", replaced("log.csv", b"output", b"model"), "log.csv", ("model",), "Rename"),
    Case("line cut off", file_bytes("log.jsonl", lambda data: data[:-20]), "log.jsonl line 12", ("cut off",), "delete that line"),
    Case("line broken in two", replaced("log.jsonl", b", ", b",\n"), "log.jsonl line 1", ("not JSON",), "one object"),
    Case("line not an object", appended("log.jsonl", b"[1, 2]\n"), "log.jsonl line 13", ("[1, 2]",), "one object"),
    Case("line null", appended("log.jsonl", b"null\n"), "log.jsonl line 13", ("not an object",), "one object"),
    Case("one JSON array", file_bytes("log.jsonl", lambda _: b'[\n{"a": 1}\n]\n'), "log.jsonl line 1", ('"["',), "one object"),
    Case("key twice", appended("log.jsonl", b'{"model":1,"model":2}\n'), "log.jsonl line 13", ("key twice",), "Remove one"),
    Case("half a surrogate pair", replaced("log.jsonl", b"ant on", b"\\ud83d"), "log.jsonl line 1", ("surrogate",), "UTF-8"),
    Case("nested too deeply", appended("log.jsonl", DEEP_LINE), "log.jsonl line 13", ("nested",), "one object"),
    Case("empty objects", file_bytes("log.jsonl", lambda _: b"{}\n{}\n"), "log.jsonl", ("no columns",), "Check the export"),
    Case("line after blank ones", file_bytes("log.jsonl", lambda data: b"\n \n" + data + b"oops\n"), "log.jsonl line 15", ('"oops"',), "one object"),
]
# fmt: on
if hasattr(os, "geteuid") and os.geteuid() != 0:  # the superuser may read everything
    CASES.append(Case("no permission", _unreadable_log, "secret.csv", ("cannot be opened",), "permissions"))

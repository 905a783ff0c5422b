"""Makes studies of which exactly one thing is broken, in files, with what the message must say about it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CONTEXTS = [f"question {number}" for number in range(6)]
MODELS = ("ant", "bee", "cat")

Row = dict[str, object]


@dataclass(frozen=True)
class Broken:
    """A study that must be refused: what to hand to ``load``, and what its message must contain."""

    name: str
    arguments: dict[str, object]
    fragments: tuple[str, ...]


@dataclass
class Good:
    """A sound study as rows, to be damaged."""

    log: list[Row] = field(default_factory=lambda: [_row(i, i // 5, outcome=i % 2) for i in range(12)])
    experiment: list[Row] = field(default_factory=lambda: [_row(i, i, outcome=0.25 * (i % 5)) for i in range(6)])
    replay: list[Row] = field(
        default_factory=lambda: [_row(c, m) | {"draw": 0} for c in range(len(CONTEXTS)) for m in range(len(MODELS))]
    )


def _row(context: int, model: int, **more: object) -> Row:
    name = MODELS[model % len(MODELS)]
    text = CONTEXTS[context % len(CONTEXTS)]
    return {"context": text, "model": name, "output": f"{name} on {text}", **more}


def as_jsonl(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_csv(rows: list[Row], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: list[Row]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


WRITERS: dict[str, Callable[[list[Row]], bytes]] = {"jsonl": as_jsonl, "csv": as_csv, "parquet": as_parquet}


def write_study(folder: Path, study: Good, ending: str) -> dict[str, object]:
    """Write the three tables and give the arguments with which to load them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, object] = {}
    for role, rows in (("log", study.log), ("experiment", study.experiment), ("replay", study.replay)):
        path = folder / f"{role}.{ending}"
        path.write_bytes(WRITERS[ending](rows))
        paths[role] = path
    return paths


Damage = Callable[[Good], object]
# name, ending, damage to the rows, what must be said
Cell = tuple[str, str, Damage, tuple[str, ...]]


def _set(role: str, row: int, **cells: object) -> Damage:
    return lambda good: getattr(good, role)[row].update(cells)


def _every(role: str, **cells: object) -> Damage:
    return lambda good: [row.update(cells) for row in getattr(good, role)]


def _without(role: str, column: str, rows: slice = slice(None)) -> Damage:
    return lambda good: [row.pop(column, None) for row in getattr(good, role)[rows]]


def _remove(role: str, rows: slice) -> Damage:
    return lambda good: getattr(good, role).__delitem__(rows)


def _all_of(*damages: Damage) -> Damage:
    return lambda good: [damage(good) for damage in damages]


def _one_model(good: Good) -> None:
    for rows in (good.log, good.experiment, good.replay):
        rows[:] = [row for row in rows if row["model"] == "ant"]


def _name_the_rest(good: Good) -> None:
    for row in (*good.log, *good.experiment, *good.replay):
        row.setdefault("context_id", f"id of {row['context']}")


def _ids_only(good: Good) -> None:
    _name_the_rest(good)
    for row in good.log:
        row.pop("context")
    good.log[0]["context_id"] = "lost"


CELLS: list[Cell] = [
    ("outcome above 1", "csv", _set("log", 6, outcome=4), ("log.csv row 7", '"outcome"', "4", "--outcome-range LO HI")),
    ("outcome below 0", "jsonl", _set("experiment", 2, outcome=-1), ("experiment.jsonl line 3", "--outcome-range")),
    ("outcome missing", "jsonl", _set("log", 3, outcome=None), ("log.jsonl line 4", "missing", "--drop-missing")),
    ("outcome NaN", "parquet", _every("log", outcome=float("nan")), ("log.parquet row 1", "12 rows", "--drop-missing")),
    ("outcome empty", "csv", _set("experiment", 5, outcome=""), ("experiment.csv row 6", "--drop-missing")),
    ("outcome in words", "csv", _set("log", 1, outcome="good"), ("log.csv row 2", '"good"', "Write one number")),
    (
        "outcome in words (JSONL)",
        "jsonl",
        _set("log", 1, outcome="bad"),
        ("log.jsonl line 2", '"bad"', "Write one number"),
    ),
    ("outcome with comma", "csv", _set("log", 1, outcome="0,5"), ("log.csv row 2", '"0,5"', "with a point")),
    ("outcome infinite", "csv", _set("log", 2, outcome="inf"), ("log.csv row 3", "infinite", "finite number")),
    (
        "outcome an object",
        "jsonl",
        _set("log", 4, outcome={"a": 1}),
        ("log.jsonl line 5", "not a number", "Write one number"),
    ),
    (
        "outcome a list",
        "parquet",
        _every("log", outcome=[1.0]),
        ("log.parquet row 1", "not a number", "Write one number"),
    ),
    (
        "context empty",
        "jsonl",
        _set("log", 5, context=""),
        ("log.jsonl line 6", '"context" is empty', "Write the context"),
    ),
    ("context blank", "csv", _set("replay", 5, context=" \n"), ("replay.csv row 6", "is empty", "Write the context")),
    (
        "context nested",
        "jsonl",
        _set("log", 0, context=[{"role": "user"}]),
        ("log.jsonl line 1", "not text", "one text"),
    ),
    (
        "context missing",
        "parquet",
        _set("log", 7, context=None),
        ("log.parquet row 8", "is missing", "Write the context"),
    ),
    (
        "model null",
        "jsonl",
        _set("experiment", 1, model=None),
        ("experiment.jsonl line 2", '"model"', "Name the model"),
    ),
    ("model blank", "csv", _set("experiment", 1, model="  "), ("experiment.csv row 2", '"model"', "Name the model")),
    ("output null", "jsonl", _set("replay", 9, output=None), ("replay.jsonl line 10", '"output"', "Write the output")),
    ("output key absent", "jsonl", _without("replay", "output", slice(3, 5)), ("replay.jsonl line 4", "2 lines: 4, 5")),
    ("no outcome column", "csv", _without("log", "outcome"), ("log.csv", "outcome", "--map outcome=COLUMN")),
    ("no model column", "jsonl", _without("replay", "model"), ("replay.jsonl", "model", "--map model=COLUMN")),
    ("no context column", "parquet", _without("replay", "context"), ("replay.parquet", "context_id", "--map")),
    ("no output column", "csv", _without("experiment", "output"), ("experiment.csv", "output", "--map output=COLUMN")),
    (
        "two aliases",
        "csv",
        _all_of(_without("log", "outcome"), _every("log", score=1, rating=1)),
        ("log.csv", "score, rating", "--map outcome=score"),
    ),
    (
        "model without replay",
        "jsonl",
        _set("experiment", 4, model="wasp"),
        (
            "experiment.jsonl line 5",
            'model "wasp" has no replay',
            "replay.jsonl covers ant, bee, cat",
            "--models ant,bee,cat",
        ),
    ),
    ("one model only", "csv", _one_model, ("replay.csv", "two models", "Replay another model")),
    (
        "replay incomplete",
        "jsonl",
        _remove("replay", slice(4, 5)),
        ("experiment.jsonl line 2", '"question 1" has no replay of bee', "--drop-incomplete"),
    ),
    (
        "draw twice",
        "csv",
        lambda good: good.replay.append(good.replay[3]),
        ("replay.csv row 19", "second time", "Number"),
    ),
    ("draw in words", "jsonl", _set("replay", 1, draw="first"), ("replay.jsonl line 2", '"first"', "Number the draws")),
    ("draw beyond counting", "csv", _set("replay", 1, draw="1e300"), ("replay.csv row 2", "whole number", "Number")),
    ("draw a fraction", "csv", _set("replay", 1, draw=0.5), ("replay.csv row 2", "whole number", "Number the draws")),
    (
        "experiment of one row",
        "csv",
        _remove("experiment", slice(1, None)),
        ("experiment.csv", "1 usable row", "more contexts"),
    ),
    (
        "label NaN",
        "csv",
        _all_of(_every("log", label_a=1), _set("log", 4, label_a="nan")),
        ("log.csv row 5", "label_a", "Fill"),
    ),
    ("feature uneven", "csv", _every("log", feature_a=1), ("experiment.csv", "feature_a", "Add it there")),
    (
        "propensity zero",
        "jsonl",
        _every("experiment", propensity=0),
        ("experiment.jsonl line 1", "probability 0", "Correct"),
    ),
    (
        "propensity above 1",
        "csv",
        _every("experiment", propensity=2),
        ("experiment.csv row 1", "no probability", "Write the"),
    ),
    (
        "propensities of part of the models",
        "csv",
        _every("experiment", propensity_ant=0.5, propensity_bee=0.5),
        ("experiment.csv row 3", '"cat"', "--map propensity_NAME=COLUMN"),
    ),
    (
        "propensities that do not sum to 1",
        "jsonl",
        _every("experiment", propensity_ant=0.3, propensity_bee=0.3, propensity_cat=0.3),
        ("experiment.jsonl line 1", "sum to 0.9", "all models that could be drawn"),
    ),
    (
        "propensities that disagree",
        "jsonl",
        _every("experiment", propensity=0.9, propensity_ant=0.3, propensity_bee=0.3, propensity_cat=0.4),
        ("experiment.jsonl line 1", "differs", "Correct one of the two"),
    ),
    (
        "one id for two texts",
        "jsonl",
        lambda good: [row.update(context_id="c1") for row in good.log[:2]] + [_name_the_rest(good)],
        ("log.jsonl line 2", '"c1"', "log.jsonl line 1", "its own context_id"),
    ),
    ("id without text", "jsonl", _ids_only, ("log.jsonl line 1", '"lost"', "Add a context column")),
]


# name, file, damage to its bytes, what must be said
Bytes = tuple[str, str, Callable[[bytes], bytes], tuple[str, ...]]


def _first_rows(data: bytes, count: int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(data)).slice(0, count), sink)
    return sink.getvalue()


def _zeroed(data: bytes) -> bytes:
    half = len(data) // 2
    return data[:half] + bytes(len(data) - half - 4) + data[-4:]


def _opened(data: bytes) -> bytes:
    lines = data.split(b"\n")
    lines[3] = b'"' + lines[3]
    lines[6] = lines[6].replace(b"question", b'"question"', 1)
    return b"\n".join(lines)


BYTES: list[Bytes] = [
    ("empty file", "log.csv", lambda _: b"", ("log.csv", "0 bytes", "Write it again")),
    ("only blank lines", "log.jsonl", lambda _: b"\n\n", ("log.jsonl", "no rows", "Write it again")),
    (
        "header only",
        "replay.csv",
        lambda data: data.split(b"\n")[0] + b"\n",
        ("replay.csv", "no rows", "Check the export"),
    ),
    (
        "Parquet without rows",
        "log.parquet",
        lambda data: _first_rows(data, 0),
        ("log.parquet", "no rows", "Check the export"),
    ),
    ("Parquet cut off", "log.parquet", lambda data: data[:-40], ("log.parquet", "damaged", "copy the file again")),
    ("Parquet without end", "log.parquet", lambda data: data[:8], ("log.parquet", "damaged", "copy the file again")),
    (
        "Parquet overwritten",
        "log.parquet",
        _zeroed,
        ("log.parquet", "damaged", "copy the file again"),
    ),
    (
        "CSV called Parquet",
        "log.parquet",
        lambda _: b"a,b\n1,2\n",
        ("log.parquet", "not Parquet", "ending of its format"),
    ),
    ("Parquet called CSV", "log.csv", lambda _: as_parquet([{"a": 1}]), ("log.csv", "a Parquet file", "ending")),
    ("gzip called CSV", "log.csv", gzip.compress, ("log.csv", "gzip file", "ending of its format")),
    ("spreadsheet called CSV", "log.csv", lambda _: b"PK\x03\x04rest", ("log.csv", "spreadsheet", "export it again")),
    ("UTF-16", "log.csv", lambda data: data.decode().encode("utf-16"), ("log.csv", "UTF-16", "Save it as UTF-8")),
    (
        "Latin-1",
        "log.csv",
        lambda data: data.replace(b"question 2", b"qu\xe9stion", 1),
        ("log.csv line 4", "0xe9", "UTF-8"),
    ),
    (
        "Latin-1 (JSONL)",
        "log.jsonl",
        lambda data: data.replace(b"ant", b"\xe4nt", 1),
        ("log.jsonl line 1", "0xe4", "UTF-8"),
    ),
    ("NUL bytes", "log.csv", lambda data: data[:-9] + b"\0" * 9, ("log.csv line 13", "NUL", "Write the file again")),
    ("row too long", "log.csv", lambda data: data + b"a,b,c,1,2\n", ("log.csv row 13", "5 cells", "in quotes")),
    (
        "row too short",
        "log.csv",
        lambda data: data + b"a,ant\n",
        ("log.csv row 13", "2 cells", "export the file again"),
    ),
    (
        "quote never closed",
        "log.csv",
        lambda data: data + b'"a,ant,b,1\n',
        ("log.csv row 13", "never closed", "Close it"),
    ),
    ("quote open inside", "log.csv", _opened, ("log.csv row 3", "never closed", "Close it")),
    (
        "two columns of one name",
        "log.csv",
        lambda data: data.replace(b"output", b"model", 1),
        ("log.csv", "model", "Rename"),
    ),
    ("line cut off", "log.jsonl", lambda data: data[:-20], ("log.jsonl line 12", "cut off", "delete that line")),
    (
        "line in pieces",
        "log.jsonl",
        lambda data: data.replace(b", ", b",\n", 1),
        ("log.jsonl line 1", "not JSON", "one object"),
    ),
    (
        "line no object",
        "log.jsonl",
        lambda data: data + b"[1, 2]\n",
        ("log.jsonl line 13", "not an object", "one object"),
    ),
    ("line null", "log.jsonl", lambda data: data + b"null\n", ("log.jsonl line 13", "is missing", "Write the context")),
    ("one JSON array", "log.jsonl", lambda _: b'[\n{"a": 1}\n]\n', ("log.jsonl line 1", "not JSON", "one object")),
    ("key twice", "log.jsonl", lambda d: d + b'{"model":1,"model":2}\n', ("log.jsonl line 13", "twice", "Keep one")),
    (
        "half a surrogate pair",
        "log.jsonl",
        lambda d: d.replace(b"ant on", b"\\ud83d", 1),
        ("log.jsonl line 1", "surrogate", "UTF-8"),
    ),
    (
        "nested beyond reason",
        "log.jsonl",
        lambda d: d + b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}\n",
        ("log.jsonl line 13", "nested too deeply", "one object"),
    ),
    ("empty objects", "log.jsonl", lambda _: b"{}\n{}\n", ("log.jsonl", "no columns", "Check the export")),
    (
        "line after blank ones",
        "log.jsonl",
        lambda data: b"\n \n" + data + b"oops\n",
        ("log.jsonl line 15", "oops", "one object"),
    ),
]


def _broken_cells(folder: Path) -> list[Broken]:
    made = []
    for name, ending, damage, fragments in CELLS:
        good = Good()
        damage(good)
        for rows in (good.log, good.experiment, good.replay):
            columns = dict.fromkeys(column for row in rows for column in row)
            if ending != "jsonl":
                rows[:] = [{column: row.get(column) for column in columns} for row in rows]
        made.append(Broken(name, write_study(folder / name, good, ending), fragments))
    return made


def _broken_bytes(folder: Path) -> list[Broken]:
    made = []
    for name, file, damage, fragments in BYTES:
        arguments = write_study(folder / name, Good(), file.partition(".")[2])
        path = folder / name / file
        path.write_bytes(damage(path.read_bytes()))
        made.append(Broken(name, arguments, fragments))
    return made


def _broken_places(folder: Path) -> list[Broken]:
    """Files that are not there, not files, or not what their name says."""
    arguments = write_study(folder / "places", Good(), "csv")
    base = folder / "places"
    packed = gzip.compress(Path(base / "log.csv").read_bytes())
    zst = pa.compress(Path(base / "log.csv").read_bytes(), codec="zstd", asbytes=True)
    files = {"cut.csv.gz": packed[:-15], "plain.csv.gz": b"a,b\n", "cut.csv.zst": zst[:-3], "log.parquet.gz": packed}
    for file, data in (files | {"log.xlsx": b"x", "log.json": b"[]"}).items():
        (base / file).write_bytes(data)
    (base / "folder.csv").mkdir()
    made = [
        Broken(
            "no such file", arguments | {"log": base / "logg.csv"}, ("logg.csv", "no such file", "log.csv", "Check")
        ),
        Broken("no such folder", arguments | {"log": base / "no" / "log.csv"}, ("log.csv", "no folder", "Check")),
        Broken("a folder", arguments | {"log": base / "folder.csv"}, ("folder.csv", "folder", "Name one file")),
        Broken("gzip cut off", arguments | {"log": base / "cut.csv.gz"}, ("cut.csv.gz", "in the middle", "again")),
        Broken(
            "gzip that is none",
            arguments | {"log": base / "plain.csv.gz"},
            ("plain.csv.gz", "unpacked", "drop the ending"),
        ),
        Broken(
            "Zstandard cut off", arguments | {"log": base / "cut.csv.zst"}, ("cut.csv.zst", "in the middle", "again")
        ),
        Broken("unknown ending", arguments | {"log": base / "log.xlsx"}, ("log.xlsx", '".xlsx"', "Use .parquet")),
        Broken("JSON ending", arguments | {"log": base / "log.json"}, ("log.json", '".json"', ".jsonl")),
        Broken("Parquet in gzip", arguments | {"log": base / "log.parquet.gz"}, ("log.parquet.gz", "Use .parquet")),
        Broken(
            "log twice",
            arguments | {"experiment": base / ".." / "places" / "log.csv"},
            ("log.csv", "the same table", "of their own"),
        ),
    ]
    if os.geteuid() != 0:  # the superuser may read everything
        (base / "secret.csv").write_bytes(b"a")
        (base / "secret.csv").chmod(0)
        made.append(Broken("no permission", arguments | {"log": base / "secret.csv"}, ("secret.csv", "permissions")))
    return made


def _broken_mappings(folder: Path) -> list[Broken]:
    arguments = write_study(folder / "mappings", Good(), "csv")
    return [
        Broken(
            "mapped to nothing",
            arguments | {"columns": {"outcome": "outcomes"}},
            (
                "log.csv",
                '"outcomes"',
                "context, model, output, outcome",
                'did you mean "outcome"',
                "--map outcome=COLUMN",
            ),
        ),
        Broken(
            "optional column mapped to nothing",
            arguments | {"columns": {"cluster": "outputs"}},
            ("log.csv, experiment.csv", '"outputs"', 'did you mean "output"', "--map cluster=COLUMN"),
        ),
        Broken(
            "outside the range given",
            arguments | {"outcome_range": (0.0, 0.5)},
            ("log.csv row 2", "--outcome-range 0 0.5", "widen the range"),
        ),
    ]


def make_all(folder: Path) -> list[Broken]:
    """Write every broken study below the folder."""
    makers = (_broken_cells, _broken_bytes, _broken_places, _broken_mappings)
    return [broken for make in makers for broken in make(folder)]

"""Exported recommendations: no cell is a formula, ids can be joined, and JSON shows no control characters."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.decide.recommendation import Recommendation
from deconfound.demo import make_demo
from deconfound.escaping import escape_formulas
from deconfound.report.json_text import dump_json
from deconfound.report.recommendations_io import RecommendationTable, write_recommendations
from tests.support.commands import SMALL, evaluate_command

IDS = ("-5", "+1", "007", "-0.5e-3", "@team/model-1", "-abc", "2024-01-01", "5", "a;b", "=x", "line\nbreak")
EXACT_IDS = IDS[:9]
HIDDEN = "\u202e\u2066\u061c\u200b\x85\x9b\x7f\ud800"


def row(name: str) -> Recommendation:
    return Recommendation(name, name, 0.5, 0.4, 0.6, name, 0.1, 0.0, 0.2, "cannot tell", 0.3, 0.1)


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(1+1)",
        "+SUM(A1)",
        "hello\n=cmd()",
        "hello\r=cmd()",
        "hello\t=cmd()",
        "hello\r\n@cmd()",
        "\t=cmd()",
        "\n=cmd()",
        "a;=cmd()",
        "\uff1dcmd()",
    ],
)
def test_no_part_of_a_cell_starts_a_formula(cell):
    escaped = escape_formulas(cell)
    parts = [part for line in escaped.splitlines() for tab in line.split("\t") for part in tab.split(";")]
    assert not any(part.startswith(("=", "+", "-", "@", "\uff1d")) for part in parts)
    assert escaped.replace("'", "") == cell.replace("'", "")


@pytest.mark.parametrize("cell", [*EXACT_IDS, "", "-", "text", "a = b", "5 - 3", "para\n\npara"])
def test_numbers_names_and_plain_text_stay_as_they_are(cell):
    assert escape_formulas(cell) == cell


def test_a_context_in_a_csv_file_has_no_formula_after_a_line_break(tmp_path):
    table = RecommendationTable([row("id")], {"id": "see:\n=HYPERLINK(1)"}, 0.9)
    write_recommendations(table, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file))["context"] == "see:\n'=HYPERLINK(1)"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recommendations for contexts with odd ids, in every format."""
    folder = tmp_path_factory.mktemp("export")
    make_demo(1, sizes=SMALL).write(folder)
    assert main(evaluate_command(folder, "--refits=2", "-o", str(folder / "saved"))) in (0, 3)
    replay = pq.read_table(folder / "replay.parquet")
    contexts = list(dict.fromkeys(replay["context_id"].to_pylist()))[: len(IDS)]
    new_id = dict(zip(contexts, IDS, strict=True))
    replay = replay.filter(pa.array([each in new_id for each in replay["context_id"].to_pylist()]))
    ids = pa.array([new_id[each] for each in replay["context_id"].to_pylist()])
    at = replay.column_names.index("context_id")
    pq.write_table(replay.set_column(at, "context_id", ids), folder / "new.parquet")
    paths = {ending: folder / f"out.{ending}" for ending in ("csv", "json", "jsonl", "parquet")}
    for path in paths.values():
        command = ["recommend", str(folder / "saved"), f"--replay={folder / 'new.parquet'}", "-q", "-o", str(path)]
        assert main(command) == 0
    return paths


def test_ids_can_be_joined_after_an_export_to_csv(exported):
    frame = pd.read_csv(exported["csv"], dtype={"context_id": str})
    mine = pd.DataFrame({"context_id": EXACT_IDS, "mine": range(len(EXACT_IDS))})
    assert len(mine.merge(frame, on="context_id")) == len(EXACT_IDS)
    assert "'=x" in set(frame["context_id"])


def test_other_formats_leave_every_id_unchanged(exported):
    assert set(pd.read_parquet(exported["parquet"])["context_id"]) == set(IDS)
    assert {each["context_id"] for each in json.loads(exported["json"].read_text(encoding="utf-8"))} == set(IDS)
    lines = exported["jsonl"].read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["context_id"] for line in lines} == set(IDS)


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_json_shows_no_control_character_and_is_read_back_exactly(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    write_recommendations(RecommendationTable([row(HIDDEN)], {}, 0.9), path)
    text = path.read_text(encoding="utf-8")
    assert not set(HIDDEN) & set(text)
    read = json.loads(text)
    assert (read[0] if ending == "json" else read)["context_id"] == HIDDEN


def test_characters_outside_the_basic_plane_are_escaped_as_json_does():
    text = dump_json({"\U000e0041": "é\U000e0041 🙂"})
    assert '"\\udb40\\udc41": "é\\udb40\\udc41 🙂"' in text
    assert json.loads(text) == {"\U000e0041": "é\U000e0041 🙂"}

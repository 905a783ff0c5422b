"""What a session shows of tables: their names and sizes, never their contents."""

from __future__ import annotations

import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.data import Study
from deconfound.loading.log_size import LongLog
from tests.support.streams import demo_study, streamed, write_study

HOSTILE = "\x1b[31mtext"


@pytest.fixture(scope="module")
def study() -> Study:
    return demo_study("text")


def test_a_table_is_its_source_and_its_size(study):
    log = study.log
    assert repr(log) == f"Log({log.source!r}, {len(log):,} rows, {log.arrow.num_columns} columns)"
    assert repr(study.replay).startswith(f"Replay({study.replay.source!r}, ")


def test_a_study_is_its_tables_and_what_they_are_compared_for(study):
    tables = ", ".join(map(repr, (study.log, study.experiment, study.replay)))
    findings = len(study.findings)
    assert repr(study) == f"Study({tables}, {len(study.models)} models, {findings} finding{'s' * (findings != 1)})"


def test_a_prepared_study_is_the_study_and_its_settings(study):
    prepared = dc.prepare(study, options=dc.EvaluationOptions(refits=2))
    assert repr(prepared) == f"PreparedStudy({study!r}, level=0.95, seed=0)"


def test_a_stream_is_its_rows_and_parts(study):
    stream = streamed(study).log_stream
    assert repr(stream) == f"LogStream({stream.rows:,} rows, {len(stream.parts)} parts)"
    assert repr(stream) in repr(streamed(study))
    assert repr(stream.parts[0]) == f"TablePart({stream.parts[0].name!r})"


def test_a_part_of_a_file_is_its_place(tmp_path):
    part = dc.load(**write_study(tmp_path), long_log=LongLog(min_rows=0, min_bytes=0)).log_stream.parts[0]
    assert repr(part) == f"LogFilePart({part.name!r})"


def test_contents_and_control_characters_are_never_shown():
    rows = {"context_id": [HOSTILE], "context": [HOSTILE], "output": [HOSTILE], "model": [HOSTILE], "outcome": [0.0]}
    assert repr(dc.Log(pa.table(rows), f"{HOSTILE}.csv")) == "Log('\\x1b[31mtext.csv', 1 row, 5 columns)"

"""Progress of reading traces: which file, how much of all bytes, how many calls; and only where it takes long."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main, progress_line
from deconfound.cli.progress_line import ProgressLine
from deconfound.traces import read_meter
from deconfound.traces.read_meter import ReadingState, ReadMeter
from deconfound.traces.reader import Remarks
from deconfound.traces.records import records_of
from deconfound.traces.trace_files import files_of, trace_file
from deconfound.traces.trace_import import read_traces
from tests.support.gateway import write_gateway


@pytest.fixture(autouse=True)
def every_record(monkeypatch):
    monkeypatch.setattr(read_meter, "REPORT_SECONDS", 0.0)


def states_of(paths):
    states = []
    meter = ReadMeter(states.append)
    files = files_of(paths, Remarks())
    meter.expect(files)
    for file in files:
        for _ in meter.records(file, records_of(file, Remarks(), meter.follow)):
            pass
    meter.tick()
    return states


def write_long_lines(path, opener=open):
    """More than one buffer, so that positions inside of the file are seen."""
    with opener(path, "wt", encoding="utf-8") as file:
        for number in range(400):
            file.write(json.dumps({"n": number, "text": f"{number} " * 2_000}) + "\n")


@pytest.mark.parametrize(("name", "opener"), [("a.jsonl", open), ("a.json", open), ("a.jsonl.gz", gzip.open)])
def test_the_share_grows_from_nothing_to_everything(tmp_path, name, opener):
    write_long_lines(tmp_path / name, opener)
    states = states_of([tmp_path / name])
    shares = [state.share for state in states]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    if opener is open:
        assert len(set(shares)) > 3
    assert (states[-1].records, states[-1].file) == (400, str(tmp_path / name))


def test_tables_and_several_files_count_by_their_bytes(tmp_path):
    pq.write_table(pa.table({"n": range(5_000)}), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("n\n" + "1\n" * 20_000)
    states = states_of([tmp_path])
    sizes = {name: (tmp_path / name).stat().st_size for name in ("a.parquet", "b.csv")}
    start_of_second = next(state for state in states if state.file.endswith("b.csv"))
    assert start_of_second.share == pytest.approx(sizes["a.parquet"] / sum(sizes.values()))
    inside_the_first = {state.share for state in states if state.file.endswith("a.parquet")}
    assert len(inside_the_first) > 5
    assert states[-1].share == 1.0


def test_reports_are_rare(tmp_path, monkeypatch):
    monkeypatch.setattr(read_meter, "REPORT_SECONDS", 60.0)
    write_long_lines(tmp_path / "a.jsonl")
    assert len(states_of([tmp_path / "a.jsonl"])) == 1


def test_a_file_that_vanishes_is_reported_by_its_reader(tmp_path):
    write_long_lines(tmp_path / "a.jsonl")
    file = trace_file(tmp_path / "a.jsonl")
    file.path.unlink()
    meter = ReadMeter()
    meter.expect([file])
    with pytest.raises(Exception, match="cannot be read"):
        list(meter.records(file, records_of(file, Remarks(), meter.follow)))


def test_calls_are_counted_as_they_are_read(tmp_path):
    write_gateway(tmp_path / "team", direct=20, routed=10)
    states = []
    read_traces([tmp_path / "team"], io.BytesIO(), states.append)
    assert [state.calls for state in states] == sorted(state.calls for state in states)
    assert states[-1].calls == 20 + 10 + 20  # two models answered ten contexts
    assert states[-1].share == 1.0


def show(state, monkeypatch, *, terminal, delay=0.0):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    line = ProgressLine(quiet=False, delay=delay)
    for _ in range(3):
        line.reading(state)
    return line


def test_a_terminal_gets_file_share_and_calls(capsys, monkeypatch):
    show(ReadingState("a/b.jsonl", 0.42, 10, 900, 800), monkeypatch, terminal=True)
    assert capsys.readouterr().err.endswith("reading traces 42 %, a/b.jsonl, 800 calls")
    show(ReadingState("x" * 50 + "end\x1b.jsonl", 0.4, 10, 900, 0), monkeypatch, terminal=True)
    text = capsys.readouterr().err
    assert text.endswith("end\\x1b.jsonl, 900 records")
    assert len(text.rsplit("\r\033[K", 1)[1]) < 80


def test_another_stream_gets_one_line(capsys, monkeypatch):
    show(ReadingState("b.jsonl", 0.42, 10, 900, 800), monkeypatch, terminal=False)
    assert capsys.readouterr().err.splitlines() == ["  0.0 s  reading traces"]


def test_nothing_is_shown_before_the_delay_unless_the_files_are_large(capsys, monkeypatch):
    show(ReadingState("b.jsonl", 0.42, 10, 900, 800), monkeypatch, terminal=True, delay=2.0).clear()
    assert capsys.readouterr().err == ""
    show(ReadingState("b.jsonl", 0.42, 60_000_000, 900, 800), monkeypatch, terminal=True, delay=2.0)
    assert "800 calls" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["doctor", "convert"])
def test_commands_show_progress_on_stderr_only(tmp_path, capsys, monkeypatch, command):
    write_gateway(tmp_path / "team", direct=20, routed=10)
    for module in ("doctor", "convert_traces"):
        monkeypatch.setattr(f"deconfound.cli.{module}.TRACE_DELAY", 0.0)
    paths = [str(tmp_path / "team" / "traces")]
    options = ["-o", str(tmp_path / "study"), "--overwrite"] if command == "convert" else []
    assert main([command, *paths, *options, "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert "reading" not in quiet.err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main([command, *paths, *options]) == 0
    shown = capsys.readouterr()
    assert shown.out == quiet.out
    assert "30 calls" in shown.err
    assert "\r\033[K" in shown.err
    assert progress_line.TRACE_DELAY == 2.0

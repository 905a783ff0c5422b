"""Standard output and error that cannot show a character, are closed or full."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.demo import make_demo
from tests.support.commands import SMALL, evaluate_command

PROGRAM = (sys.executable, "-m", "deconfound")
FAST = ("--family", "exp-only", "--refits", "2")
PLAN = ["plan", "--models", "3", "--outcome-sd", "0.3"]


def closed_pipe() -> int:
    """A pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def run(arguments: list[str], *, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell, with redirections ``before`` it."""
    return subprocess.run(  # noqa: S602  (the shell redirects; nothing in it comes from outside)
        f'"{sys.executable}" -m deconfound {" ".join(arguments)} {before}',
        shell=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def test_a_terminal_that_knows_only_ascii_gets_substitutes():
    ascii_only = run(PLAN, PYTHONIOENCODING="ascii")
    assert (ascii_only.returncode, ascii_only.stderr) == (0, "")
    assert "+/-" in ascii_only.stdout
    assert ascii_only.stdout.replace("+/-", "±").replace("^2", "²") == run(PLAN, PYTHONIOENCODING="utf-8").stdout


def test_json_on_an_ascii_terminal_is_json(tmp_path):
    """Names that the terminal cannot show are escaped as JSON has it."""
    demo = make_demo(1, sizes=SMALL)
    renamed = {name: getattr(demo, name) for name in ("log", "experiment", "replay")}
    for name, table in renamed.items():
        models = [model.replace("oak", "eıche🙂") for model in table["model"].to_pylist()]
        at = table.column_names.index("model")
        pq.write_table(table.set_column(at, "model", pa.array(models)), tmp_path / f"{name}.parquet")
    result = run([*evaluate_command(tmp_path), "--json"], PYTHONIOENCODING="ascii")
    assert result.returncode in (0, 3)
    assert "eıche🙂" in json.loads(result.stdout)["models"]


def test_messages_survive_an_ascii_terminal_too():
    result = run(["evaluate", "--log", "żółw.csv", "--experiment", "x", "--replay", "x"], PYTHONIOENCODING="ascii")
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "no such file" in result.stderr


def test_a_closed_standard_output_is_refused_before_the_work():
    result = run(PLAN, before=">&-")
    assert result.returncode == 2
    assert result.stderr.startswith("deconfound: Standard output is closed")
    assert len(result.stderr.splitlines()) == 1


def test_a_closed_standard_error_is_no_failure():
    result = run(PLAN, before="2>&-")
    assert result.returncode == 0
    assert "rows per model" in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_named():
    result = run(PLAN, before="> /dev/full")
    assert result.returncode == 2
    assert "deconfound: output: No space left on device." in result.stderr
    assert "Traceback" not in result.stderr


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@FULL
@pytest.mark.parametrize("stderr", ["closed pipe", pytest.param("full", marks=pytest.mark.slow)])
def test_a_broken_standard_error_never_stops_the_work(study_folder, tmp_path, stderr):
    """Progress and messages are lost; the result is saved and printed, and the exit code is the one earned."""
    command = [*evaluate_command(study_folder, *FAST), "-o", str(tmp_path / "S")]
    command.remove("-q")
    expected = subprocess.run([*PROGRAM, *command], capture_output=True, text=True, check=False)
    shutil.rmtree(tmp_path / "S")
    if stderr == "full":
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([*PROGRAM, *command], stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    else:
        done = subprocess.run(
            [*PROGRAM, *command], stdout=subprocess.PIPE, stderr=closed_pipe(), text=True, check=False
        )
    assert expected.returncode in (0, 3)
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    assert dc.Result.load(tmp_path / "S").models


@pytest.mark.parametrize("way", ["closed pipe", "full"])
@FULL
def test_an_error_behind_a_broken_standard_error_has_its_exit_code(way):
    stderr = closed_pipe() if way == "closed pipe" else os.open("/dev/full", os.O_WRONLY)
    done = subprocess.run([*PROGRAM, "plan", "--models", "x"], stdout=subprocess.PIPE, stderr=stderr, check=False)
    assert done.returncode == 2


def test_a_closed_pipe_does_not_change_the_exit_code(study_folder):
    """`evaluate ... --json | true` reports a failed assumption."""
    script = """
import sys, dataclasses, deconfound.cli.evaluate as e
from deconfound.findings import Finding, Notice
real = e._evaluate
bad = Finding("x", "fail", Notice("x"))
e._evaluate = lambda *a: tuple(dataclasses.replace(r, findings=(*r.findings, bad)) for r in real(*a))
from deconfound.cli import main
sys.exit(main(sys.argv[1:]))
"""
    command = [sys.executable, "-c", script, *evaluate_command(study_folder, *FAST, "--json")]
    done = subprocess.run(command, stdout=closed_pipe(), stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_into_a_closed_pipe_is_no_error(option):
    done = subprocess.run([*PROGRAM, option], stdout=closed_pipe(), stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

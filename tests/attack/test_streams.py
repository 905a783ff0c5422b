"""Standard output that cannot show a character, is closed or full, and interrupts at any moment of the start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.demo import make_demo
from tests.support.commands import SMALL, evaluate_command

PLAN = ["plan", "--models", "3", "--outcome-sd", "0.3"]


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


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
@pytest.mark.parametrize("delay", [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5])
def test_an_interrupt_at_the_start_prints_no_traceback(delay: float):
    """During imports as later. Before the interpreter has started at all, the signal simply ends the process."""
    command = [sys.executable, "-S", "-c", "import deconfound.cli as c; print(flush=True); c.main(['demo', '-q'])"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    process.stdout.readline()  # the command's own code has started
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    assert messages in ("deconfound: interrupted.\n", "")

"""The tutorial of the whole loop: every file and every command of the page, in order, with a real language model.

The users of the page are simulated. So the true values are known, and the answer has to be the true one.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import deconfound as dc
from tests.producers.local_server import LOCAL_MODEL, serving
from tests.support.page_blocks import page_blocks

ROOT = Path(__file__).parents[2]
BLOCKS = page_blocks(ROOT / "docs" / "tutorial-whole-loop.md")
SERVER = "model_server.py"
ADDRESS, PORT = "http://127.0.0.1:8080", "settings.port = 8080"
COMMAND_SECONDS = 900
LINE = re.compile(r"^(\w+) +true value (\d\.\d\d) +mean in the log (\d\.\d\d)$", re.MULTILINE)
COMMANDS = ("plan", "assign", "replay", "judge", "init", "check", "monitor", "evaluate", "recommend", "route")


def test_every_block_is_a_file_a_command_or_shown():
    """What this file does not run are outputs, the installation and the start of the server."""
    assert all((block.file is not None) == (block.language in ("python", "toml")) for block in BLOCKS)
    assert {block.language for block in BLOCKS} == {"python", "toml", "sh", "console", "text"}
    commands = "".join(block.text for block in BLOCKS if block.language == "sh")
    assert list(dict.fromkeys(re.findall(r"^deconfound (\w+)", commands, re.MULTILINE))) == list(COMMANDS)
    consoles = "".join(block.text for block in BLOCKS if block.language == "console")
    assert re.findall(r"\S+==\S+", consoles) == [*LOCAL_MODEL.requirements, *LOCAL_MODEL.bare_requirements]
    assert f"$ model/bin/python {SERVER}\n" in consoles


@pytest.mark.slow
def test_the_page_finds_the_true_answer(installed, tmp_path, monkeypatch):
    environment = installed(LOCAL_MODEL)
    monkeypatch.chdir(tmp_path)
    server = next(block.text for block in BLOCKS if block.file == SERVER)
    assert server.count(PORT) == 1
    Path("any_port.py").write_text(server.replace(PORT, "settings.port = 0"), encoding="utf-8")
    with serving(environment, Path("any_port.py")) as address:
        printed = run_blocks(address, tmp_path)
    rows = {name: (float(true), float(logged)) for name, true, logged in LINE.findall(printed)}
    assert max(rows, key=lambda name: rows[name][0]) == "ending"
    assert max(rows, key=lambda name: rows[name][1]) == "summary"
    result = dc.Result.load("saved")
    assert set(result.models) == set(rows) == {"summary", "question", "opening", "ending"}
    assert "ending" in result.values.best_set()
    assert result.values.table()[0]["model"] == "ending"
    assert 'The log ranks "summary" first, but summary is not the best model.' in printed
    assert_outputs_are_of_a_real_model()
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    assert len(Path("recommendations.csv").read_text(encoding="utf-8").splitlines()) == 6
    assert all(score is None or 0 <= score <= 1 for score in pq.read_table("judged.parquet")["judged"].to_pylist())
    assert printed.endswith("ending\n")


def run_blocks(address: str, folder: Path) -> str:
    """Write the files and run the commands in order, each with exit code 0; returns what they printed."""
    environment, printed = command_environment(folder / "bin"), ""
    for block in BLOCKS:
        if block.file is not None and block.file != SERVER:
            (folder / block.file).write_text(block.text.replace(ADDRESS, address), encoding="utf-8")
        if block.language == "sh":
            done = subprocess.run(
                ["/bin/sh", "-ec", block.text],
                env=environment,
                capture_output=True,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
            assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"
            printed += done.stdout
    return printed


def command_environment(folder: Path) -> dict[str, str]:
    """Variables with which `python` and `deconfound` are those of this test."""
    folder.mkdir()
    for name, module in (("python", ""), ("deconfound", "-m deconfound")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    source = str(Path(dc.__file__).parents[1])
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": source}


def assert_outputs_are_of_a_real_model() -> None:
    """Two prompts of one model write different texts, which vary with the context."""
    rows = pq.read_table("replay.parquet").to_pylist()
    by_model = {name: [row for row in rows if row["model"] == name] for name in ("summary", "question")}
    assert {len(outputs) for outputs in by_model.values()} == {40}
    assert all(row["served_model"] == "smollm2-135m" for outputs in by_model.values() for row in outputs)
    texts = {name: [row["output"] for row in outputs] for name, outputs in by_model.items()}
    assert texts["summary"] != texts["question"]
    assert all(len(set(outputs)) > 5 for outputs in texts.values())

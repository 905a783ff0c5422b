"""Sweeps and builds of their pool that are killed at random moments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("kills", [6, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", ["pool", "sweep"])
def test_the_next_run_continues_and_leaves_nothing_behind(tmp_path, what, kills):
    command = [sys.executable, "-m", "laboratory.tests.support.kill_sweeps", what, str(tmp_path / what), str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    sys.stdout.write(f"{what}: {report}\n")
    assert report["hits"] > 0  # kills that hit nothing unfinished test nothing

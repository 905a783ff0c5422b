"""Saves that are killed at random moments: readers always see the old content or the new one, and nothing is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.results import demo_result

ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with two saved results."""
    demo_result("exp-only").save(tmp_path / "one")
    demo_result("obs-only").save(tmp_path / "two")
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kills", [6, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", ["result", "recommendations", pytest.param("race", marks=pytest.mark.slow)])
def test_a_killed_save_leaves_the_old_content_or_the_new_one(place, what, kills):
    command = [sys.executable, "-m", "tests.support.kill_driver", what, str(place), str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    sys.stdout.write(f"{what}: {report}\n")
    assert report["hits"] > 0  # kills that hit no incomplete save test nothing, nor do races without reads

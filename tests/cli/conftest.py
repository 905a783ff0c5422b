"""A small demo study as files, and the command lines that read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deconfound.cli import main
from deconfound.demo import make_demo
from tests.support.commands import SMALL, evaluate_command


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """log.parquet, experiment.parquet and replay.parquet."""
    folder = tmp_path_factory.mktemp("study")
    make_demo(1, sizes=SMALL).write(folder)
    return folder


@pytest.fixture(scope="session")
def saved_result(study_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder written by `deconfound evaluate -o`."""
    folder = tmp_path_factory.mktemp("saved") / "result"
    assert main(evaluate_command(study_folder, "-o", str(folder))) == 0
    return folder

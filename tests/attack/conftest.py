"""A study as files and a result saved in a folder, for attacks on both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.results import demo_result, small_demo


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """log.parquet, experiment.parquet and replay.parquet."""
    folder = tmp_path_factory.mktemp("study")
    small_demo().write(folder)
    return folder


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A saved result."""
    demo_result("exp-only").save(tmp_path / "saved")
    return tmp_path / "saved"

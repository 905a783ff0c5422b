"""Fixtures that several files share."""

from __future__ import annotations

from pathlib import Path

import pytest

from laboratory.tests.support.fake_benchmark import Fake
from laboratory.tests.support.grid_kinds import write_kinds


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small grids of the three kinds."""
    where = tmp_path_factory.mktemp("grids")
    write_kinds(where)
    return where


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A benchmark to sweep over that keeps its diary beside the sweep."""
    return Fake(tmp_path / "diary")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a sweep goes."""
    return tmp_path / "sweep"

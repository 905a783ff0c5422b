"""Fixtures that several files share."""

from __future__ import annotations

from pathlib import Path

import pytest
from kinds import write_kinds
from making import TALL, WIDE, Pair, Shape, make
from sweeping import Fake


@pytest.fixture(params=[TALL, WIDE], ids=["tall", "wide"])
def shape(request: pytest.FixtureRequest) -> Shape:
    """More rows than features, and more features than rows."""
    chosen: Shape = request.param
    return chosen


@pytest.fixture
def pair(shape: Shape) -> Pair:
    """A log and an experiment of that shape, without weights."""
    return make(shape, seed=3)


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

"""Fixtures that several files share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from laboratory.tests.support.fake_benchmark import FakeBenchmark
from laboratory.tests.support.grids import write_example_grids

settings.register_profile("no deadline", deadline=None)  # a busy machine is not a failure
settings.load_profile("no deadline")


@pytest.fixture(scope="module")
def grid_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small grid of each kind."""
    folder = tmp_path_factory.mktemp("grids")
    write_example_grids(folder)
    return folder


@pytest.fixture
def fake_benchmark(tmp_path: Path) -> FakeBenchmark:
    """A benchmark for testing sweeps that records every run beside the sweep folder."""
    return FakeBenchmark(tmp_path / "history")


@pytest.fixture
def sweep_folder(tmp_path: Path) -> Path:
    """The output folder of a sweep."""
    return tmp_path / "sweep"

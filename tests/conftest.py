"""Fixtures that several files share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from deconfound.cli import main
from deconfound.demo import make_demo
from tests.support.commands import SMALL, evaluate_command
from tests.support.random_rows import TALL, WIDE, Pair, Shape, make

settings.register_profile("no deadline", deadline=None)  # a busy machine is not a failure
settings.load_profile("no deadline")


@pytest.fixture(params=[TALL, WIDE], ids=["tall", "wide"])
def shape(request: pytest.FixtureRequest) -> Shape:
    """More rows than features, and more features than rows."""
    chosen: Shape = request.param
    return chosen


@pytest.fixture
def pair(shape: Shape) -> Pair:
    """A log and an experiment of that shape, without weights."""
    return make(shape, seed=3)


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

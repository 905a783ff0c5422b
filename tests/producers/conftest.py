"""Where the environments of the producers are, and what happens if one cannot be made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.producers.environments import SCRIPTS, Environment, NotInstalledError, Producer, install
from tests.producers.local_server import LOCAL_MODEL, serving

VARIABLE = "DECONFOUND_PRODUCERS"


@pytest.fixture(scope="session")
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Environment]:
    """A function that installs a producer; the test is skipped where that fails."""
    cache = getattr(request.config, "cache", None)
    if os.environ.get(VARIABLE):
        folder = Path(os.environ[VARIABLE])
    else:
        folder = cache.mkdir("producers") if cache is not None else tmp_path_factory.mktemp("producers")
    failed: dict[str, str] = {}

    def make(producer: Producer) -> Environment:
        if producer.name not in failed:
            try:
                return install(producer, folder)
            except NotInstalledError as error:
                failed[producer.name] = str(error)
        return pytest.skip(f"{producer.name} cannot be installed here: {failed[producer.name]}")

    return make


@pytest.fixture(scope="module")
def local_model(installed: Callable[..., Environment]) -> Iterator[str]:
    """The address of a small language model on this computer."""
    with serving(installed(LOCAL_MODEL), SCRIPTS / "local_model.py") as address:
        yield f"{address}/v1"

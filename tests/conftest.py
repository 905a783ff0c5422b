"""Fixtures that several files share."""

from __future__ import annotations

import pytest
from hypothesis import settings

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

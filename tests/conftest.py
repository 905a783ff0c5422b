"""Fixtures that several files share."""

from __future__ import annotations

import pytest

from tests.support.random_rows import TALL, WIDE, Pair, Shape, make


@pytest.fixture(params=[TALL, WIDE], ids=["tall", "wide"])
def shape(request: pytest.FixtureRequest) -> Shape:
    """More rows than features, and more features than rows."""
    chosen: Shape = request.param
    return chosen


@pytest.fixture
def pair(shape: Shape) -> Pair:
    """A log and an experiment of that shape, without weights."""
    return make(shape, seed=3)

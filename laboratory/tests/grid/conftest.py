"""A valid grid, to be damaged, and a place for it."""

from __future__ import annotations

import pytest

from laboratory.tests.support.grids import make_rows


@pytest.fixture
def rows():
    """Contexts and outputs of a valid grid, to be damaged."""
    return make_rows()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "small"

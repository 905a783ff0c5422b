"""Sound studies as tables, changed where a test wants it, and what is said of those that are refused."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from deconfound.data import Study
from deconfound.errors import DataError
from deconfound.loading import load
from tests.support.broken_files import Good, Row

ROLES = ("log", "experiment", "replay")


def tables(good: Good) -> dict[str, pa.Table]:
    return {role: pa.Table.from_pylist(getattr(good, role)) for role in ROLES}


def good_with(**changes: Callable[[Row], object]) -> Good:
    """A sound study of which every row of the named tables is changed."""
    good = Good()
    for role, change in changes.items():
        for row in getattr(good, role):
            change(row)
    return good


def refused(**arguments: object) -> str:
    """What ``load`` says when it does not take these."""
    with pytest.raises(DataError) as caught:
        load(**arguments)
    return str(caught.value)


def same(one: Study, other: Study) -> bool:
    return all(getattr(one, role).table.equals(getattr(other, role).table) for role in ROLES)

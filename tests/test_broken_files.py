from __future__ import annotations

import pytest

from deconfound.errors import DataError
from deconfound.loading import load
from tests.support.broken_files import BYTES, CELLS, Good, make_all, write_study


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    return {case.name: case for case in make_all(tmp_path_factory.mktemp("broken"))}


NAMES = [case[0] for case in (*CELLS, *BYTES)] + [
    "no such file",
    "no such folder",
    "a folder",
    "gzip cut off",
    "gzip that is none",
    "Zstandard cut off",
    "unknown ending",
    "JSON ending",
    "Parquet in gzip",
    "log twice",
    "mapped to nothing",
    "optional column mapped to nothing",
    "outside the range given",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_study_is_refused_with_file_row_and_fix(broken, name):
    case = broken[name]
    with pytest.raises(DataError) as caught:
        load(**case.arguments)
    message = str(caught.value)
    assert all(fragment in message for fragment in case.fragments), message
    assert all(problem.fix.endswith((".", "…")) for problem in caught.value.problems)


def test_every_kind_of_broken_file_is_tested(broken):
    assert set(broken) - {"no permission"} == set(NAMES)
    assert len(NAMES) >= 40


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_study_that_is_damaged_is_sound(tmp_path, ending):
    assert load(**write_study(tmp_path, Good(), ending)).models == ("ant", "bee", "cat")


def test_a_fault_in_a_row_leaves_the_message_on_one_line(broken):
    with pytest.raises(DataError) as caught:
        load(**broken["context blank"].arguments)
    assert str(caught.value).count("\n") == 0

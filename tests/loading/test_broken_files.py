"""Every kind of broken file is refused with the place, the value and the fix."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from deconfound.errors import DataError
from deconfound.loading import load
from tests.support.broken_files import CASES, Case
from tests.support.studies import Good, write_study

SNAPSHOT = Path(__file__).parent / "snapshots" / "messages.txt"
LIBRARY_TEXT = re.compile(r'(damaged or cut off|cannot be decompressed): ".*?"(?=\.)')  # differs by Arrow's version
UNSTABLE = ("no permission",)  # absent for the superuser


def refuse(case: Case, folder: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        load(**case.build(folder))
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_broken_study_is_refused_with_place_value_and_fix(case, tmp_path):
    problems = refuse(case, tmp_path / case.name).problems
    at_place = [problem for problem in problems if problem.where == case.where]
    assert any(all(part in p.what for part in case.what) and case.fix in p.fix for p in at_place), problems
    for problem in problems:
        assert problem.fix.endswith((".", "…"))
        assert not problem.what.endswith(".")
        assert "\n" not in str(problem)


def test_at_least_forty_kinds_of_broken_files_are_tested():
    assert len({case.name for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_study_without_damage_loads(tmp_path, ending):
    assert load(**write_study(tmp_path, Good(), ending)).models == ("ant", "bee", "cat")


def test_messages_equal_the_snapshot(tmp_path, monkeypatch):
    """All messages in one file for people to read; UPDATE_SNAPSHOTS=1 rewrites it."""
    monkeypatch.chdir(tmp_path)
    blocks = [f"{case.name}\n{refuse(case, Path(case.name))}\n" for case in CASES if case.name not in UNSTABLE]
    text = LIBRARY_TEXT.sub(r'\1: "…"', "\n".join(blocks))
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")

"""What is published: the description on a package index, and the oldest versions that CI tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tools.package_description import PLACE, RELATIVE_LINK, ROOT, description

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_description_is_the_readme_without_relative_links():
    """If this fails: python -m tools.package_description."""
    text = PLACE.read_text(encoding="utf-8")
    assert text == description((ROOT / "README.md").read_text(encoding="utf-8"))
    assert not RELATIVE_LINK.search(text)
    assert PROJECT["readme"] == str(PLACE.relative_to(ROOT))


@pytest.mark.skipif(not (ROOT / "requirements-lowest.txt").exists(), reason="the lock files are not distributed")
def test_the_oldest_declared_versions_are_those_that_are_tested():
    locked = dict(re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "requirements-lowest.txt").read_text("utf-8"), re.M))
    declared = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", each).groups() for each in PROJECT["dependencies"])  # type: ignore[union-attr]
    for name, lowest in declared.items():
        assert (locked[name] + ".").startswith(lowest + "."), f"{name}: make lock"


def test_every_file_that_the_readme_names_exists():
    for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / Path(target)).exists(), target

"""Families are looked up by name, and a wrong name gets a suggestion."""

from __future__ import annotations

import pytest

from deconfound.errors import UsageError
from deconfound.reward import EVERY, FAMILIES, VARIANTS, Auto, family_by_name


def test_every_family_can_be_looked_up_by_its_name() -> None:
    assert [family_by_name(family.name) for family in EVERY] == list(EVERY)
    assert (*FAMILIES, *VARIANTS, Auto) == EVERY


def test_the_six_families_of_the_paper_are_in_its_order() -> None:
    names = ["exp-only", "obs-only", "representation-exp", "grounded", "cvci", "cvci-residual"]
    assert [family.name for family in FAMILIES] == names


def test_a_misspelled_name_gets_a_suggestion_and_all_names() -> None:
    with pytest.raises(UsageError, match=r'no family "gruonded"; did you mean "grounded"\?.*exp-only.*auto'):
        family_by_name("gruonded")
    with pytest.raises(UsageError, match=r'no family "x"\. Choose one of'):
        family_by_name("x")

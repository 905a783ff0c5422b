"""The table of code points against Python itself, over all of Unicode."""

from __future__ import annotations

import re

import numpy as np
import pytest

from deconfound.features import character_table as module
from deconfound.features.character_table import (
    CASED_BIT,
    CODE_POINTS,
    DOTTED_CAPITAL_I,
    IGNORABLE_BIT,
    IN_WORD,
    KIND_SHIFT,
    LOWER_MASK,
    SEPARATOR,
    SINGLE,
    SPACE_BIT,
    character_table,
)
from deconfound.words.word_splitting import PUNCTUATION, SINGLE_CHARACTER_TOKEN

POINTS = np.array([n for n in range(CODE_POINTS) if not 0xD800 <= n <= 0xDFFF])
CHARACTERS = [chr(n) for n in POINTS if n != DOTTED_CAPITAL_I]
ENTRIES = character_table()[POINTS[POINTS != DOTTED_CAPITAL_I]]


def flags(pattern, text):
    found = np.zeros(len(text), dtype=np.bool_)
    for span in re.finditer(pattern, text):
        found[span.start() : span.end()] = True
    return found


def test_lower_case_is_that_of_python_for_every_code_point():
    lower = "".join(CHARACTERS).lower()
    assert [ord(character) for character in lower] == (ENTRIES & LOWER_MASK).tolist()


def test_only_one_code_point_has_a_longer_lower_case():
    assert chr(DOTTED_CAPITAL_I).lower() == "i\u0307"
    assert character_table()[DOTTED_CAPITAL_I] >> KIND_SHIFT & 3 == IN_WORD


def test_every_code_point_takes_part_in_words_as_the_patterns_say():
    lower = "".join(CHARACTERS).lower()
    expected = np.full(len(lower), IN_WORD)
    expected[flags(f"(?:{SINGLE_CHARACTER_TOKEN.pattern})+", lower)] = SINGLE
    expected[flags(PUNCTUATION.pattern, lower)] = SEPARATOR
    expected[:128] = [IN_WORD if one.isalnum() or one == "_" else SEPARATOR for one in lower[:128]]
    np.testing.assert_array_equal(ENTRIES >> KIND_SHIFT & 3, expected)


def test_white_space_is_that_of_python():
    expected = [one.isspace() for one in CHARACTERS]
    np.testing.assert_array_equal((ENTRIES & SPACE_BIT) > 0, expected)
    np.testing.assert_array_equal(flags(r"\s+", "".join(CHARACTERS)), expected)
    assert not "".join(one for one in CHARACTERS if one.isspace()).strip()


@pytest.mark.parametrize(("after", "bits"), [("0", CASED_BIT), ("a", CASED_BIT | IGNORABLE_BIT)])
def test_neighbours_of_a_capital_sigma_are_judged_as_python_does(after, bits):
    """A sigma after a letter stays a plain sigma if a cased letter follows, ignorable characters between them aside."""
    lower = "".join(f"aΣ{one}{after}" for one in CHARACTERS).lower()
    np.testing.assert_array_equal([one == "σ" for one in lower[1::4]], (ENTRIES & bits) > 0)


def test_the_planes_that_are_not_asked_have_one_default_entry():
    """If this fails after an upgrade of Python, widen the range in ``character_table.py``."""
    rest = np.setdiff1d(POINTS, module._VARIED)
    np.testing.assert_array_equal(character_table()[rest], rest | SINGLE << KIND_SHIFT)

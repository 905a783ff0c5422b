"""The template language."""

from __future__ import annotations

import pytest
from deconfound_bench.articles.grammar import Choice, Slot, TemplateError, parse, slots


def test_a_template_is_text_slots_and_choices_that_nest():
    assert parse("in {town}, {|about {n} }people") == (
        "in ",
        Slot("town"),
        ", ",
        Choice(((), ("about ", Slot("n"), " "))),
        "people",
    )


def test_slots_inside_alternatives_are_named_too():
    assert set(slots("{a} b {c d|{e}|{f|{g}}}")) == {"a", "e", "g"}


@pytest.mark.parametrize("broken", ["{a", "a}", "{a b}", "{a|{b}", "{}", "{{a}}", "a|b", "{A}"])
def test_a_broken_template_is_refused(broken):
    with pytest.raises(TemplateError, match=r"brace|slot"):
        parse(broken)

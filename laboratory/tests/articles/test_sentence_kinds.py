"""The kinds of sentences and the files that mention them agree."""

from __future__ import annotations

from importlib.resources import files

import pytest
from deconfound_bench.articles.sentence_kinds import SENTENCE_KINDS
from deconfound_bench.articles.wordings import read_schema


def test_the_schema_describes_exactly_the_kinds_of_sentences_that_exist():
    schema = read_schema(files("deconfound_bench.articles") / "wordings")
    assert set(schema.sentence_kinds) == set(SENTENCE_KINDS)


def test_every_kind_in_a_structure_exists_and_shares_sum_to_one(wordings):
    structures = wordings.structures
    used = {kind for one in structures for kind in (*one.opening, *one.closing, *(k for p in one.phases for k in p))}
    assert used <= set(SENTENCE_KINDS)
    assert sum(structure.share for structure in structures) == pytest.approx(1.0)


def test_every_list_that_a_kind_uses_up_exists(wordings):
    lists = {*wordings.common, *wordings.forms, *wordings.topics[0].lists, "asides", "other_event_wordings"}
    assert {kind.uses_up for kind in SENTENCE_KINDS.values()} - {None} <= lists

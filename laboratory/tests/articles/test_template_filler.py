"""Slots are filled, templates are not repeated, and later mentions are shorter."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
from deconfound_bench.articles.entities import NameGenerator, invent_entities
from deconfound_bench.articles.house_style import invent_house_style
from deconfound_bench.articles.template_filler import TemplateFiller, WordingSampler
from deconfound_bench.articles.wordings import read_schema

from deconfound.demo.text_sampling import TextSampler


@pytest.fixture
def dice():
    return TextSampler(np.random.default_rng(0))


@pytest.fixture
def filler(wordings, dice):
    names, topic = NameGenerator(wordings.names, dice), wordings.topics[0]
    entities = invent_entities(topic, names.region(), names, dice)
    style = invent_house_style(wordings.newspapers, names, dice)
    lists = {**wordings.common, **wordings.forms, **topic.lists, "bystanders": wordings.common["jobs"]}
    return TemplateFiller(wordings, entities, style, WordingSampler(lists, dice), dice)


def test_every_slot_of_the_schema_can_be_filled(filler):
    """The loader refuses all other slots, so no template can meet a slot that fails."""
    filler.fixed["event"] = "it rained"
    slots = read_schema(files("deconfound_bench.articles") / "wordings").slots
    for slot in slots:
        text = filler.fill(f"{{{slot}}}")
        assert text, slot
        assert "{" not in text, slot


@pytest.mark.parametrize("slot", ["org", "subject"])
def test_a_later_mention_is_sometimes_short_and_never_longer(filler, slot):
    first, *later = (filler.fill(f"{{{slot}}}") for _ in range(200))
    assert len(set(later)) == 2
    assert all(len(mention) <= len(first) for mention in later)


def test_the_first_mention_of_a_person_includes_the_role(filler):
    first, *later = (filler.fill("{hero}") for _ in range(30))
    assert first.endswith(",")
    assert not any("," in mention for mention in later)


def test_times_of_day_move_forward(filler):
    assert len({filler.fill("{next_time}") for _ in range(5)}) == 5


def test_two_towns_in_a_row_differ(filler):
    towns = [filler.fill("{town}") for _ in range(50)]
    assert all(first != second for first, second in pairwise(towns))


def test_no_template_is_repeated_before_all_are_used(dice):
    sampler = WordingSampler({"facts": ("a", "b", "c")}, dice)
    assert not sampler.is_used_up("facts")
    assert {sampler.draw_unused("facts") for _ in range(3)} == {"a", "b", "c"}
    assert sampler.is_used_up("facts")
    assert sampler.draw_unused("facts") in {"a", "b", "c"}


def test_an_article_prefers_some_words(dice):
    words = tuple(str(number) for number in range(100))
    sampler = WordingSampler({"terms": words}, dice)
    draws = [sampler.draw_favourite("terms") for _ in range(1_000)]
    top_11 = sum(sorted((draws.count(word) for word in words), reverse=True)[:11])
    assert 0.8 < top_11 / len(draws) < 0.95

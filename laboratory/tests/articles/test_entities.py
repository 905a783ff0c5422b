"""Invented names."""

from __future__ import annotations

import numpy as np
import pytest
from deconfound_bench.articles.entities import POOL_SIZES, NameGenerator, invent_entities

from deconfound.demo.text_sampling import TextSampler


@pytest.fixture
def dice():
    return TextSampler(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("role", "title"), [("a professor of law", "Prof."), ("a surgeon in {town}", "Dr."), ("a baker", "")]
)
def test_academic_roles_bring_a_title(wordings, dice, role, title):
    assert NameGenerator(wordings.names, dice).speaker((role,)).academic_title == title


def test_the_names_of_a_pool_are_distinct(wordings, dice):
    names = NameGenerator(wordings.names, dice)
    for slot, size in POOL_SIZES.items():
        pool = names.pool(slot, size)
        assert 1 <= len(set(pool)) == len(pool) <= size


def test_the_event_of_an_article_fits_its_subject(wordings, dice):
    names = NameGenerator(wordings.names, dice)
    for topic in wordings.topics:
        for _ in range(20):
            entities = invent_entities(topic, "Ashshire", names, dice)
            fitting = [set(event.wordings) for event in topic.events if event.fits(entities.subject)]
            assert set(entities.event) in fitting

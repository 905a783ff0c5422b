"""Articles that several files test."""

from __future__ import annotations

import numpy as np
import pytest
from deconfound_bench.articles import Corpus, make_articles
from deconfound_bench.articles.wordings import Wordings, builtin_wordings

from deconfound.demo.text_sampling import TextSampler

COUNT = 700


@pytest.fixture(scope="session")
def wordings() -> Wordings:
    return builtin_wordings()


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return make_articles(COUNT)


@pytest.fixture(scope="session")
def topic_numbers(wordings: Wordings) -> np.ndarray:
    """The topic of each article, which its first random draw decides."""
    topics = range(len(wordings.topics))
    return np.array([TextSampler(np.random.default_rng([0, number])).pick(topics) for number in range(COUNT)])

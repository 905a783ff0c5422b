"""A corpus of articles, and the generator of invented ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from deconfound.demo.text_sampling import TextSampler
from deconfound.errors import UsageError
from deconfound_bench.articles.compose import compose_article
from deconfound_bench.articles.wordings import builtin_wordings


@dataclass(frozen=True, slots=True)
class Corpus:
    """Distinct articles in a fixed order.

    ``digest`` is the SHA-256 of the texts. ``dropped`` has one sentence per reason for which articles were left out.
    """

    texts: tuple[str, ...]
    source: str
    digest: str
    dropped: tuple[str, ...] = ()


def make_articles(count: int, seed: int = 0) -> Corpus:
    """Invent news articles; a larger count adds articles without changing the first ones."""
    if count < 1:
        raise UsageError(f"cannot make {count} articles: ask for at least one.")
    if seed < 0:
        raise UsageError(f"the seed of the articles must not be negative, but is {seed}.")
    wordings = builtin_wordings()
    texts = tuple(
        compose_article(wordings, TextSampler(np.random.default_rng([seed, number]))) for number in range(count)
    )
    return Corpus(texts, f"invented news articles (seed {seed})", digest(texts))


def digest(texts: Iterable[str]) -> str:
    """Hash texts so that any change to one of them, or to their order, changes the result."""
    total = hashlib.sha256()
    for text in texts:
        total.update(hashlib.sha256(text.encode()).digest())
    return total.hexdigest()

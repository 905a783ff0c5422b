"""A collection of articles, and the built-in source of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from deconfound.demo.text_sampling import TextSampler
from deconfound.errors import UsageError
from deconfound_bench.articles.write import write_article


@dataclass(frozen=True, slots=True)
class Corpus:
    """Different articles in a fixed order, where they come from, and what was left out on the way.

    ``digest`` is the SHA-256 of the texts; ``dropped`` holds one sentence for each reason to leave articles out.
    """

    texts: tuple[str, ...]
    source: str
    digest: str
    dropped: tuple[str, ...] = ()


def make_articles(count: int, seed: int = 0) -> Corpus:
    """Invent news articles; the first ones are the same however many are asked for."""
    if count < 1:
        raise UsageError(f"cannot make {count} articles: ask for at least one.")
    if seed < 0:
        raise UsageError(f"the seed of the articles must not be negative, but is {seed}.")
    texts = tuple(write_article(TextSampler(np.random.default_rng([seed, number]))) for number in range(count))
    return Corpus(texts, f"invented news articles (seed {seed})", digest(texts))


def digest(texts: Iterable[str]) -> str:
    """Sign texts so that any change to one of them, or to their order, shows."""
    total = hashlib.sha256()
    for text in texts:
        total.update(hashlib.sha256(text.encode()).digest())
    return total.hexdigest()

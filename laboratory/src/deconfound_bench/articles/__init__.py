"""News articles for the benchmark: invented ones, or the user's own."""

from __future__ import annotations

from deconfound_bench.articles.corpus import Corpus, make_articles
from deconfound_bench.articles.load_articles import read_articles

__all__ = ["Corpus", "make_articles", "read_articles"]

"""Summarization systems: small real programs in the place of language models."""

from __future__ import annotations

from deconfound_bench.systems.pool import SYSTEMS, Article, System, read_article, write_all
from deconfound_bench.systems.split import sentences

__all__ = ["SYSTEMS", "Article", "System", "read_article", "sentences", "write_all"]

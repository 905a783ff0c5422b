"""Twenty small summarization programs that stand in for language models."""

from __future__ import annotations

from deconfound_bench.summarizers.sentence_splitter import split_sentences
from deconfound_bench.summarizers.systems import (
    SUMMARIZERS,
    PreparedArticle,
    Summarizer,
    prepare_article,
    summarize,
)

__all__ = ["SUMMARIZERS", "PreparedArticle", "Summarizer", "prepare_article", "split_sentences", "summarize"]

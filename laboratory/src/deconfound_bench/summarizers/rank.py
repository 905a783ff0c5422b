"""Rank an article's sentences with the algorithms of ``sumy``, on our own sentences and words."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from deconfound.errors import UsageError
from deconfound_bench.summarizers.sentence_splitter import split_sentences, split_words

Ranking = tuple[int, ...]
LANGUAGE = "english"
RATING_DECIMALS = 9  # ratings are between 0.001 and 100; differences beyond these decimals are rounding error


class Rankings(NamedTuple):
    """Sentence numbers by each method, best first."""

    lexrank: Ranking
    textrank: Ranking
    lsa: Ranking
    luhn: Ranking
    kl: Ranking
    sumbasic: Ranking


@final
class Tokenizer:
    """The interface ``sumy`` expects of a tokenizer, without the data that its own tokenizer downloads."""

    def to_sentences(self, paragraph: str) -> tuple[str, ...]:
        """Split a paragraph into sentences."""
        return split_sentences(paragraph)

    def to_words(self, sentence: str) -> tuple[str, ...]:
        """Split a sentence into words."""
        return split_words(sentence)


def rank_sentences(parts: Sequence[str]) -> Rankings:
    """Rank the sentences of one article by all methods, sharing its words and their stems.

    LexRank and LSA sum over sets of stems in iteration order, which for strings differs from run to run, so they get
    numbers as stems. SumBasic filters stop words before stemming in one place and after it in another and fails on
    the difference, so it gets no stemmer. KL does not use one.
    """
    sumy = _import_sumy()
    document = make_document(parts)
    stop_words = sumy.stop_words(LANGUAGE)
    stem = sumy.Stemmer(LANGUAGE)
    stems = {word: stem(word) for word in dict.fromkeys(document.words)}
    code = {stem: number for number, stem in enumerate(dict.fromkeys(stems.values()))}
    number = {word: code[stem] for word, stem in stems.items()}
    summarizers = (
        sumy.LexRank(number.__getitem__),
        sumy.TextRank(number.__getitem__),
        sumy.Lsa(number.__getitem__),
        sumy.Luhn(stems.__getitem__),
        sumy.Kl(),
        sumy.SumBasic(),
    )
    return Rankings(*(_ranking(summarizer, document, stop_words) for summarizer in summarizers))


def make_document(parts: Sequence[str]) -> Any:  # noqa: ANN401  (the library has no types)
    """Wrap sentences as a document of ``sumy``."""
    sumy = _import_sumy()
    tokenizer = Tokenizer()
    return sumy.Document([sumy.Paragraph([sumy.Sentence(part, tokenizer) for part in parts])])


def _ranking(summarizer: Any, document: Any, stop_words: frozenset[str]) -> Ranking:  # noqa: ANN401
    """All ratings of one method: where ``count`` is callable, ``sumy`` passes it every rated sentence.

    Equal ratings keep the order of the article. LSA ratings come from a matrix decomposition, so equal ones differ by
    rounding error. Without any usable word a method may return nothing, warn, or divide by zero; the ranking is then
    the order of the article.
    """
    rated: list[Any] = []

    def take_all(infos: list[Any]) -> list[Any]:
        rated.extend(sorted(infos, key=lambda info: info.order))
        return infos

    summarizer.stop_words = stop_words
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Number of words")
        summarizer(document, take_all)
    best_first = sorted(rated, key=lambda info: -round(info.rating, RATING_DECIMALS))
    return tuple(info.order for info in best_first) or tuple(range(len(document.sentences)))


class _Sumy(NamedTuple):
    Document: Any
    Paragraph: Any
    Sentence: Any
    Stemmer: Any
    stop_words: Any
    LexRank: Any
    TextRank: Any
    Lsa: Any
    Luhn: Any
    Kl: Any
    SumBasic: Any


def _import_sumy() -> _Sumy:
    try:
        from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
        from sumy.nlp.stemmers import Stemmer
        from sumy.summarizers.kl import KLSummarizer
        from sumy.summarizers.lex_rank import LexRankSummarizer
        from sumy.summarizers.lsa import LsaSummarizer
        from sumy.summarizers.luhn import LuhnSummarizer
        from sumy.summarizers.sum_basic import SumBasicSummarizer
        from sumy.summarizers.text_rank import TextRankSummarizer
        from sumy.utils import get_stop_words
    except ImportError as error:
        message = f"The summarizers need the package sumy ({error}). Install it with `pip install sumy`."
        raise UsageError(message) from error
    dom = (ObjectDocumentModel, Paragraph, Sentence, Stemmer, get_stop_words)
    graph = (LexRankSummarizer, TextRankSummarizer, LsaSummarizer)
    return _Sumy(*dom, *graph, LuhnSummarizer, KLSummarizer, SumBasicSummarizer)

"""Twenty summarization programs that stand in for language models in a benchmark.

| summarizer | output |
|---|---|
| lead-1, lead-3, lead-6 | the first sentences |
| tail-3 | the last sentences |
| lexrank-3, textrank-3, lsa-5, luhn-2, kl-3, sumbasic-4 | the top-ranked sentences, in the article's order |
| luhn-compressed | Luhn's top three, without parentheses, attributions, clauses and adverbs |
| lexrank-brief | LexRank's top four, best first, compressed to 32 words |
| random-3, window-4 | random sentences, single or consecutive |
| lexrank-sampled | three sentences sampled by LexRank's ranking |
| textrank-shuffled | TextRank's top four in random order |
| lead-stutter | the first three, with words dropped and repeated |
| lead-cut | the first five, truncated |
| kl-filler | KL's top two and two empty phrases |
| sumbasic-strayed | SumBasic's top two and two other sentences in random places |

The summarizers from random-3 on are stochastic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.errors import UsageError
from deconfound_bench.summarizers import noise
from deconfound_bench.summarizers.compress import compress, shorten
from deconfound_bench.summarizers.rank import Rankings, rank_sentences
from deconfound_bench.summarizers.sentence_splitter import split_sentences

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreparedArticle:
    """An article, split and ranked once for all summarizers."""

    sentences: Parts
    rankings: Rankings

    def take(self, numbers: Sequence[int]) -> Parts:
        """The sentences with these numbers, in the given order."""
        return tuple(self.sentences[number] for number in numbers)


@dataclass(frozen=True, slots=True)
class Summarizer:
    """One summarization program; two runs of a stochastic one may differ."""

    name: str
    is_stochastic: bool
    parts: Callable[[PreparedArticle, np.random.Generator], Parts]

    def write(self, article: PreparedArticle, rng: np.random.Generator) -> str:
        """Summarize an article."""
        return " ".join(self.parts(article, rng))


def prepare_article(text: str) -> PreparedArticle:
    """Do the work that all summarizers share."""
    parts = split_sentences(text)
    if not parts:
        raise UsageError("A blank article cannot be summarized. Remove it.")
    return PreparedArticle(parts, rank_sentences(parts))


def summarize(article: str, draws: int, seed: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """Outputs of each of ``SUMMARIZERS``: ``draws`` of the stochastic ones, one of the others.

    Each summarizer and draw has its own random stream, so requesting more draws does not change the first ones.
    """
    if draws < 1:
        raise UsageError(f"Each summarizer writes at least once: draws must be positive, not {draws}.")
    prepared = prepare_article(article)
    entropy = list(seed)

    def write(summarizer: Summarizer, number: int, draw: int) -> str:
        # A spawn key cannot collide with a caller's own use of a longer seed.
        stream = np.random.SeedSequence(entropy, spawn_key=(number, draw))
        return summarizer.write(prepared, np.random.default_rng(stream))

    return tuple(
        tuple(write(summarizer, number, draw) for draw in range(draws if summarizer.is_stochastic else 1))
        for number, summarizer in enumerate(SUMMARIZERS)
    )


def _lead(count: int) -> Callable[[PreparedArticle, np.random.Generator], Parts]:
    return lambda article, _rng: article.sentences[:count]


def _tail(count: int) -> Callable[[PreparedArticle, np.random.Generator], Parts]:
    return lambda article, _rng: article.sentences[-count:]


def _top(method: str, count: int) -> Callable[[PreparedArticle, np.random.Generator], Parts]:
    """The top-ranked sentences, in the order of the article."""
    index = Rankings._fields.index(method)
    return lambda article, _rng: article.take(sorted(article.rankings[index][:count]))


def _luhn_compressed(article: PreparedArticle, _rng: np.random.Generator) -> Parts:
    return tuple(compress(part) for part in article.take(sorted(article.rankings.luhn[:3])))


def _lexrank_brief(article: PreparedArticle, _rng: np.random.Generator) -> Parts:
    return shorten([compress(part) for part in article.take(article.rankings.lexrank[:4])], budget=32)


def _random(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    return noise.sample_sentences(article.sentences, 3, rng)


def _window(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    return noise.window(article.sentences, 4, rng)


def _lexrank_sampled(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    return article.take(noise.weighted_sample(article.rankings.lexrank, 3, decay=0.6, rng=rng))


def _textrank_shuffled(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    return noise.shuffle(article.take(article.rankings.textrank[:4]), rng)


def _lead_stutter(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    return noise.drop_and_repeat_words(article.sentences[:3], drop=0.12, repeat=0.1, rng=rng)


def _lead_cut(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    return noise.truncate(article.sentences[:5], min_words=10, max_words=60, rng=rng)


def _kl_filler(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    fillers = noise.shuffle(noise.FILLERS, rng)[:2]
    return noise.insert_sentences(article.take(sorted(article.rankings.kl[:2])), fillers, rng)


def _sumbasic_strayed(article: PreparedArticle, rng: np.random.Generator) -> Parts:
    best, rest = article.rankings.sumbasic[:2], article.rankings.sumbasic[2:]
    return noise.insert_sentences(article.take(sorted(best)), noise.shuffle(article.take(rest), rng)[:2], rng)


SUMMARIZERS = (
    Summarizer("lead-1", False, _lead(1)),
    Summarizer("lead-3", False, _lead(3)),
    Summarizer("lead-6", False, _lead(6)),
    Summarizer("tail-3", False, _tail(3)),
    Summarizer("lexrank-3", False, _top("lexrank", 3)),
    Summarizer("textrank-3", False, _top("textrank", 3)),
    Summarizer("lsa-5", False, _top("lsa", 5)),
    Summarizer("luhn-2", False, _top("luhn", 2)),
    Summarizer("kl-3", False, _top("kl", 3)),
    Summarizer("sumbasic-4", False, _top("sumbasic", 4)),
    Summarizer("luhn-compressed", False, _luhn_compressed),
    Summarizer("lexrank-brief", False, _lexrank_brief),
    Summarizer("random-3", True, _random),
    Summarizer("window-4", True, _window),
    Summarizer("lexrank-sampled", True, _lexrank_sampled),
    Summarizer("textrank-shuffled", True, _textrank_shuffled),
    Summarizer("lead-stutter", True, _lead_stutter),
    Summarizer("lead-cut", True, _lead_cut),
    Summarizer("kl-filler", True, _kl_filler),
    Summarizer("sumbasic-strayed", True, _sumbasic_strayed),
)

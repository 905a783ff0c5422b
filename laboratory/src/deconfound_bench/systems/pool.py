"""Twenty summarization systems that play the part of language models in a benchmark.

| system | how it writes |
|---|---|
| lead-1, lead-3, lead-6 | the first sentences |
| tail-3 | the last sentences |
| lexrank-3, textrank-3, lsa-5, luhn-2, kl-3, sumbasic-4 | what a ranking puts first, in the article's order |
| luhn-compressed | Luhn's first three, without parentheses, attributions, clauses and adverbs |
| lexrank-brief | LexRank's first four, best first, compressed to 32 words |
| random-3, window-4 | sentences from anywhere, single or in a run |
| lexrank-sampled | three sentences drawn with LexRank's favour |
| textrank-shuffled | TextRank's first four in any order |
| lead-stutter | the first three with words lost and said twice |
| lead-cut | the first five, broken off in the middle |
| kl-filler | KL's first two between sentences that say nothing |
| sumbasic-strayed | SumBasic's first two and two stray sentences in the wrong place |

The systems from random-3 on differ from draw to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.errors import UsageError
from deconfound_bench.systems import noise
from deconfound_bench.systems.compress import compress, shorten
from deconfound_bench.systems.rank import Rankings, rank
from deconfound_bench.systems.split import sentences

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Article:
    """An article, cut and ranked once for all systems."""

    sentences: Parts
    rankings: Rankings

    def take(self, numbers: Sequence[int]) -> Parts:
        """The sentences with these numbers, as ordered there."""
        return tuple(self.sentences[at] for at in numbers)


@dataclass(frozen=True, slots=True)
class System:
    """One summarization program; ``random`` says that two runs on an article may differ."""

    name: str
    random: bool
    parts: Callable[[Article, np.random.Generator], Parts]

    def write(self, article: Article, rng: np.random.Generator) -> str:
        """Summarize an article."""
        return " ".join(self.parts(article, rng))


def read_article(text: str) -> Article:
    """Do the work that all systems share."""
    parts = sentences(text)
    if not parts:
        raise UsageError("A blank article cannot be summarized. Leave it out.")
    return Article(parts, rank(parts))


def write_all(article: str, draws: int, seed: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """Outputs of each of ``SYSTEMS``: ``draws`` of the random ones, one of the others.

    Each system and draw has its own stream, so that asking for more draws leaves the first ones as they were.
    """
    if draws < 1:
        raise UsageError(f"Each system writes at least once: draws must be positive, not {draws}.")
    read = read_article(article)
    entropy = list(seed)

    def write(system: System, at: int, draw: int) -> str:
        # As a spawn key, the place cannot collide with a caller's own use of a longer seed.
        return system.write(read, np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(at, draw))))

    return tuple(
        tuple(write(system, at, draw) for draw in range(draws if system.random else 1))
        for at, system in enumerate(SYSTEMS)
    )


def _lead(count: int) -> Callable[[Article, np.random.Generator], Parts]:
    return lambda article, _rng: article.sentences[:count]


def _tail(count: int) -> Callable[[Article, np.random.Generator], Parts]:
    return lambda article, _rng: article.sentences[-count:]


def _top(method: str, count: int) -> Callable[[Article, np.random.Generator], Parts]:
    """Sentences that a ranking puts first, in the order of the article."""
    at = Rankings._fields.index(method)
    return lambda article, _rng: article.take(sorted(article.rankings[at][:count]))


def _luhn_compressed(article: Article, _rng: np.random.Generator) -> Parts:
    return tuple(compress(part) for part in article.take(sorted(article.rankings.luhn[:3])))


def _lexrank_brief(article: Article, _rng: np.random.Generator) -> Parts:
    return shorten([compress(part) for part in article.take(article.rankings.lexrank[:4])], budget=32)


def _random(article: Article, rng: np.random.Generator) -> Parts:
    return noise.sample(article.sentences, 3, rng)


def _window(article: Article, rng: np.random.Generator) -> Parts:
    return noise.window(article.sentences, 4, rng)


def _lexrank_sampled(article: Article, rng: np.random.Generator) -> Parts:
    return article.take(noise.favour(article.rankings.lexrank, 3, decay=0.6, rng=rng))


def _textrank_shuffled(article: Article, rng: np.random.Generator) -> Parts:
    return noise.shuffle(article.take(article.rankings.textrank[:4]), rng)


def _lead_stutter(article: Article, rng: np.random.Generator) -> Parts:
    return noise.stutter(article.sentences[:3], drop=0.12, repeat=0.1, rng=rng)


def _lead_cut(article: Article, rng: np.random.Generator) -> Parts:
    return noise.cut_off(article.sentences[:5], least=10, most=60, rng=rng)


def _kl_filler(article: Article, rng: np.random.Generator) -> Parts:
    fillers = noise.shuffle(noise.FILLERS, rng)[:2]
    return noise.insert(article.take(sorted(article.rankings.kl[:2])), fillers, rng)


def _sumbasic_strayed(article: Article, rng: np.random.Generator) -> Parts:
    best, rest = article.rankings.sumbasic[:2], article.rankings.sumbasic[2:]
    return noise.insert(article.take(sorted(best)), noise.shuffle(article.take(rest), rng)[:2], rng)


SYSTEMS = (
    System("lead-1", False, _lead(1)),
    System("lead-3", False, _lead(3)),
    System("lead-6", False, _lead(6)),
    System("tail-3", False, _tail(3)),
    System("lexrank-3", False, _top("lexrank", 3)),
    System("textrank-3", False, _top("textrank", 3)),
    System("lsa-5", False, _top("lsa", 5)),
    System("luhn-2", False, _top("luhn", 2)),
    System("kl-3", False, _top("kl", 3)),
    System("sumbasic-4", False, _top("sumbasic", 4)),
    System("luhn-compressed", False, _luhn_compressed),
    System("lexrank-brief", False, _lexrank_brief),
    System("random-3", True, _random),
    System("window-4", True, _window),
    System("lexrank-sampled", True, _lexrank_sampled),
    System("textrank-shuffled", True, _textrank_shuffled),
    System("lead-stutter", True, _lead_stutter),
    System("lead-cut", True, _lead_cut),
    System("kl-filler", True, _kl_filler),
    System("sumbasic-strayed", True, _sumbasic_strayed),
)

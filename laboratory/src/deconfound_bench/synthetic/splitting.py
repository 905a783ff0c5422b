"""Which articles are drawn from and which are held out, so that both are of one kind.

The experiment's contexts and the held-out ones must come from the same population. Of a hundred articles taken at
random the mean score differs from that of another hundred by more than models differ among themselves; so articles are
dealt by what the law expects of them before anything is written on them, and each use gets its share of every level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound_bench.articles import Corpus
from deconfound_bench.outputs import hash_pairs
from deconfound_bench.synthetic.constants import Constants
from deconfound_bench.synthetic.embedding import embed
from deconfound_bench.synthetic.law import Law, project


@dataclass(frozen=True, slots=True)
class Part:
    """Articles of one use, by number, and their embeddings, standardised over all uses."""

    articles: IntArray
    embedding: FloatArray


@dataclass(frozen=True, slots=True)
class Split:
    """Articles of each use; the embedding is learned from none of them."""

    kept: Part  # log and experiment draw from them
    truth: Part
    evaluation: Part
    learned_from: IntArray


def split_articles(corpus: Corpus, constants: Constants, law: Law) -> Split:
    """Take articles at random and deal them by their expected score."""
    sizes = (constants.sizes.contexts, constants.sizes.truth, constants.sizes.evaluation)
    least = sum(sizes) + constants.embedding + 1
    if len(corpus.texts) < least:
        raise UsageError(f"The benchmark needs {least} usable articles; there are {len(corpus.texts)}. Give more.")
    order = np.random.default_rng([constants.seed, 3]).permutation(len(corpus.texts))
    chosen, rest = order[: sum(sizes)], order[sum(sizes) :][: constants.sizes.embedding]
    texts, learned_from = ([corpus.texts[number] for number in which] for which in (chosen, rest))
    psi = embed(learned_from, texts, constants.terms, constants.embedding, constants.seed)
    psi = (psi - psi.mean(axis=0)) / psi.std(axis=0)
    dealt = deal(_expected(texts, psi, constants, law), sizes, np.random.default_rng([constants.seed, 5]))
    kept, truth, evaluation = (Part(chosen[which], psi[which]) for which in dealt)
    return Split(kept, truth, evaluation, rest)


def _expected(texts: Sequence[str], psi: FloatArray, constants: Constants, law: Law) -> FloatArray:
    """The part of the score that comes with the article: about half of phi*, and what it tells of the user."""
    blank = hash_pairs(texts, [""] * len(texts), np.arange(len(texts)), constants.buckets)
    star = project(blank.phi(), constants)
    star = (star - star.mean(axis=0)) / star.std(axis=0)
    return np.asarray(np.sqrt(0.5) * star @ law.direction + psi @ (law.taste.T @ law.effect))


def deal(level: FloatArray, sizes: Sequence[int], rng: np.random.Generator) -> list[IntArray]:
    """Hand out places in the order of their level: in every short run each hand gets its share, at random."""
    shares = np.array(sizes) // np.gcd.reduce(sizes)
    run = np.repeat(np.arange(len(sizes)), shares)
    hand = np.concatenate([rng.permutation(run) for _ in range(sum(sizes) // len(run))])
    order = np.argsort(level, kind="stable")
    return [order[hand == number] for number in range(len(sizes))]

"""Split articles into those for log and experiment and the held-out ones, with matching distributions.

The experiment's contexts and the held-out contexts must represent the same population. With random splits, the mean
scores of two sets of 100 articles differ by more than the models do. Therefore the split is stratified by the score
that the data-generating process expects of each article before any summary is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound_bench.articles import Corpus
from deconfound_bench.hashed_pairs import hash_pairs
from deconfound_bench.synthetic.constants import Constants
from deconfound_bench.synthetic.dgp import DataGeneratingProcess, project_to_latent


@dataclass(frozen=True, slots=True)
class ArticlePart:
    """Article numbers of one part, and their embeddings, standardized over all parts."""

    articles: IntArray
    embedding: FloatArray


@dataclass(frozen=True, slots=True)
class ArticleSplit:
    """The three parts; the embedding is fitted on articles outside of them."""

    train: ArticlePart  # log and experiment are drawn from these
    truth: ArticlePart
    evaluation: ArticlePart


def split_articles(corpus: Corpus, constants: Constants, dgp: DataGeneratingProcess) -> ArticleSplit:
    """Choose articles at random and split them by their expected score."""
    sizes = (constants.sizes.contexts, constants.sizes.truth, constants.sizes.evaluation)
    needed = sum(sizes) + constants.embedding + 1
    if len(corpus.texts) < needed:
        raise UsageError(
            f"The benchmark needs {needed} usable articles; there are {len(corpus.texts)}. Provide more articles."
        )
    order = np.random.default_rng([constants.seed, 3]).permutation(len(corpus.texts))
    chosen, rest = order[: sum(sizes)], order[sum(sizes) :][: constants.sizes.embedding]
    texts, other_texts = ([corpus.texts[number] for number in numbers] for numbers in (chosen, rest))
    psi = embed_contexts(other_texts, texts, constants.terms, constants.embedding, constants.seed)
    psi = (psi - psi.mean(axis=0)) / psi.std(axis=0)
    expected = _expected_score(texts, psi, constants, dgp)
    parts = stratified_split(expected, sizes, np.random.default_rng([constants.seed, 5]))
    train, truth, evaluation = (ArticlePart(chosen[part], psi[part]) for part in parts)
    return ArticleSplit(train, truth, evaluation)


def _expected_score(
    texts: Sequence[str], psi: FloatArray, constants: Constants, dgp: DataGeneratingProcess
) -> FloatArray:
    """The part of the score that depends on the article: about half of phi*, and the mean of the user."""
    without_output = hash_pairs(texts, [""] * len(texts), np.arange(len(texts)), constants.buckets)
    latent = project_to_latent(without_output.phi(), constants)
    latent = (latent - latent.mean(axis=0)) / latent.std(axis=0)
    return np.asarray(np.sqrt(0.5) * latent @ dgp.outcome_weights + psi @ (dgp.user_mean.T @ dgp.user_weights))


def stratified_split(level: FloatArray, sizes: Sequence[int], rng: np.random.Generator) -> list[IntArray]:
    """Split positions into parts of these sizes such that the parts have similar distributions of ``level``.

    Positions are sorted by level and cut into short runs; within each run every part gets its share, at random.
    """
    shares = np.array(sizes) // np.gcd.reduce(sizes)
    run = np.repeat(np.arange(len(sizes)), shares)
    part = np.concatenate([rng.permutation(run) for _ in range(sum(sizes) // len(run))])
    order = np.argsort(level, kind="stable")
    return [order[part == number] for number in range(len(sizes))]


def embed_contexts(train: Sequence[str], texts: Sequence[str], terms: int, size: int, seed: int) -> FloatArray:
    """TF-IDF and truncated SVD of contexts (texts, size), fitted on other texts of the same kind.

    Outputs are not used, so the embedding describes the context only.
    """
    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise UsageError("This benchmark needs scikit-learn. Install it with `pip install scikit-learn`.") from error
    vectorizer = TfidfVectorizer(stop_words="english", ngram_range=(1, 2), max_features=terms)
    try:
        counts = vectorizer.fit_transform(train)
    except ValueError as error:
        message = "The articles contain only stop words; provide English articles of some length."
        raise UsageError(message) from error
    if min(counts.shape) <= size:
        raise UsageError(
            f"{len(train)} articles with {counts.shape[1]} terms are too few for an embedding of {size} dimensions; "
            "provide more articles."
        )
    return np.asarray(TruncatedSVD(size, random_state=seed).fit(counts).transform(vectorizer.transform(texts)))

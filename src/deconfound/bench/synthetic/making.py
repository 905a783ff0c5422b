"""Make the pool: let every system write on every context, hash what it wrote, and multiply it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from deconfound.bench.articles import Corpus
from deconfound.bench.outputs import Hashed, hash_pairs
from deconfound.bench.sweep import end_with_parent
from deconfound.bench.synthetic.constants import Constants
from deconfound.bench.synthetic.draws import Written
from deconfound.bench.synthetic.embedding import embed
from deconfound.bench.synthetic.law import project
from deconfound.bench.synthetic.pool import Pool
from deconfound.bench.systems import write_all
from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.linalg import one_blas_thread
from deconfound.stored import make_store

Progress = Callable[[str, float], None]
CHUNK = 4  # contexts a process writes on before it reports


@dataclass(frozen=True, slots=True)
class Split:
    """Articles of each use, by number; nothing held out is learned from."""

    kept: IntArray
    truth: IntArray
    evaluation: IntArray
    learned_from: IntArray  # by the embedding


@dataclass(frozen=True, slots=True)
class Texts:
    """Distinct outputs on some contexts."""

    row: IntArray  # (contexts, models, draws) into the outputs
    outputs: tuple[str, ...]
    context: IntArray  # (outputs,)


@dataclass(frozen=True, slots=True)
class Library:
    """Articles and what the systems wrote on them."""

    corpus: Corpus
    split: Split
    kept: Texts
    truth: Texts
    evaluation: Texts


def make_pool(corpus: Corpus, constants: Constants, workers: int, progress: Progress) -> Pool:
    """Everything from articles to inner products; a minute or two at full size."""
    return in_numbers(write_library(corpus, constants, workers, progress), constants, progress)


def write_library(corpus: Corpus, constants: Constants, workers: int, progress: Progress) -> Library:
    """Let every system write on every context."""
    split, sizes = _split(len(corpus.texts), constants), constants.sizes
    uses = ((split.kept, sizes.kept_draws), (split.truth, sizes.draws), (split.evaluation, sizes.draws))
    jobs = [
        (corpus.texts[number], draws, (constants.seed, 4, int(number))) for which, draws in uses for number in which
    ]
    texts: list[tuple[tuple[str, ...], ...]] = []
    progress("writing summaries", 0.0)
    with ProcessPoolExecutor(workers, get_context("spawn"), end_with_parent) as processes:
        for done in processes.map(_write_one, jobs, chunksize=CHUNK):
            texts.append(done)
            progress("writing summaries", len(texts) / len(jobs))
    ready = iter(texts)
    kept, truth, evaluation = (_distinct([next(ready) for _ in which], draws) for which, draws in uses)
    return Library(corpus, split, kept, truth, evaluation)


def in_numbers(library: Library, constants: Constants, progress: Progress) -> Pool:
    """Hash the texts, multiply them out, and place them in the law's own coordinates."""
    split = library.split
    parts = ((split.kept, library.kept), (split.truth, library.truth), (split.evaluation, library.evaluation))
    progress("hashing and multiplying", 0.0)
    hashed = [hash_texts(library.corpus, which, texts, constants) for which, texts in parts]
    with one_blas_thread():
        store, place = make_store(hashed[0].kernel(hashed[0]))
        evaluation_phi = hashed[2].kernel(hashed[0]) @ place
        progress("embedding contexts", 0.0)
        embeddings = _embeddings(library.corpus, split, constants)
    hidden = [project(pairs.phi(), constants) for pairs in hashed]
    centre, spread = hidden[0].mean(axis=0), hidden[0].std(axis=0)
    kept, truth, evaluation = (
        Written(texts.row, (star - centre) / spread, psi)
        for (_, texts), star, psi in zip(parts, hidden, embeddings, strict=True)
    )
    return Pool(store, kept, truth, evaluation, evaluation_phi)


def hash_texts(corpus: Corpus, which: IntArray, texts: Texts, constants: Constants) -> Hashed:
    """phi of the outputs on some of the articles."""
    contexts = [corpus.texts[number] for number in which]
    return hash_pairs(contexts, texts.outputs, texts.context, constants.buckets)


def _split(articles: int, constants: Constants) -> Split:
    sizes = constants.sizes
    least = sizes.contexts + sizes.truth + sizes.evaluation
    if articles < least:
        raise UsageError(f"The benchmark needs at least {least} usable articles; there are {articles}. Give more.")
    order = np.random.default_rng([constants.seed, 3]).permutation(articles)
    truth, evaluation, rest = np.split(order, [sizes.truth, sizes.truth + sizes.evaluation])
    return Split(rest[: sizes.contexts], truth, evaluation, rest[: sizes.embedding])


def _write_one(job: tuple[str, int, Sequence[int]]) -> tuple[tuple[str, ...], ...]:
    return write_all(*job)


def _distinct(texts: Sequence[Sequence[Sequence[str]]], draws: int) -> Texts:
    """Number outputs; the same words on the same context are one row, whichever systems wrote them."""
    row = np.empty((len(texts), len(texts[0]), draws), dtype=np.int64)
    outputs: list[str] = []
    context: list[int] = []
    for number, systems in enumerate(texts):
        places: dict[str, int] = {}
        for model, written in enumerate(systems):
            for draw in range(draws):
                output = written[draw % len(written)]
                if output not in places:
                    places[output] = len(outputs)
                    outputs.append(output)
                    context.append(number)
                row[number, model, draw] = places[output]
    return Texts(row, tuple(outputs), np.array(context, dtype=np.int64))


def _embeddings(corpus: Corpus, split: Split, constants: Constants) -> list[FloatArray]:
    """Standardised over the kept contexts."""
    parts = (split.kept, split.truth, split.evaluation)
    texts = [corpus.texts[number] for part in parts for number in part]
    learned_from = [corpus.texts[number] for number in split.learned_from]
    psi = embed(learned_from, texts, constants.terms, constants.embedding, constants.seed)
    kept = psi[: len(split.kept)]
    edges = np.cumsum([len(part) for part in parts])[:-1]
    return np.split((psi - kept.mean(axis=0)) / kept.std(axis=0), edges)

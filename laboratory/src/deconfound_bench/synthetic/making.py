"""Make the pool: let every system write on every context, hash what it wrote, and multiply it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from deconfound.design import IntArray
from deconfound.linalg import one_blas_thread
from deconfound_bench.articles import Corpus
from deconfound_bench.gram_rows import gram_store_by_eigh
from deconfound_bench.outputs import Hashed, hash_pairs
from deconfound_bench.sweep import end_with_parent
from deconfound_bench.synthetic.constants import Constants
from deconfound_bench.synthetic.draws import Written
from deconfound_bench.synthetic.law import make_law, project
from deconfound_bench.synthetic.pool import Pool
from deconfound_bench.synthetic.splitting import Split, split_articles
from deconfound_bench.systems import SYSTEMS, write_all

Progress = Callable[[str, float], None]
CHUNK = 4  # contexts a process writes on before it reports


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
    progress("embedding contexts", 0.0)
    sizes = constants.sizes
    with one_blas_thread():
        split = split_articles(corpus, constants, make_law(constants, len(SYSTEMS)))
    uses = ((split.kept, sizes.kept_draws), (split.truth, sizes.draws), (split.evaluation, sizes.draws))
    jobs = [
        (corpus.texts[number], draws, (constants.seed, 4, int(number)))
        for part, draws in uses
        for number in part.articles
    ]
    texts: list[tuple[tuple[str, ...], ...]] = []
    progress("writing summaries", 0.0)
    with ProcessPoolExecutor(workers, get_context("spawn"), end_with_parent) as processes:
        for done in processes.map(_write_one, jobs, chunksize=CHUNK):
            texts.append(done)
            progress("writing summaries", len(texts) / len(jobs))
    ready = iter(texts)
    kept, truth, evaluation = (_distinct([next(ready) for _ in part.articles], draws) for part, draws in uses)
    return Library(corpus, split, kept, truth, evaluation)


def in_numbers(library: Library, constants: Constants, progress: Progress) -> Pool:
    """Hash the texts, multiply them out, and place them in the law's own coordinates."""
    split = library.split
    parts = ((split.kept, library.kept), (split.truth, library.truth), (split.evaluation, library.evaluation))
    progress("hashing and multiplying", 0.0)
    hashed = [hash_texts(library.corpus, part.articles, texts, constants) for part, texts in parts]
    with one_blas_thread():
        store, place = gram_store_by_eigh(hashed[0].kernel(hashed[0]))
        evaluation_phi = hashed[2].kernel(hashed[0]) @ place
    hidden = [project(pairs.phi(), constants) for pairs in hashed]
    centre, spread = hidden[0].mean(axis=0), hidden[0].std(axis=0)
    kept, truth, evaluation = (
        Written(texts.row, (star - centre) / spread, part.embedding)
        for (part, texts), star in zip(parts, hidden, strict=True)
    )
    return Pool(store, kept, truth, evaluation, evaluation_phi)


def hash_texts(corpus: Corpus, which: IntArray, texts: Texts, constants: Constants) -> Hashed:
    """phi of the outputs on some of the articles."""
    contexts = [corpus.texts[number] for number in which]
    return hash_pairs(contexts, texts.outputs, texts.context, constants.buckets)


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

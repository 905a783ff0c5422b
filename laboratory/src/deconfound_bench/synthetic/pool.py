"""The summaries of the controlled validation as arrays: written and computed once, saved, and shared by all workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.engines import EngineOptions, Payload, Task, map_in_order, open_engine
from deconfound.threads import one_blas_thread
from deconfound_bench.articles import Corpus
from deconfound_bench.artifact_dir import atomic_directory, require_intact, write_manifest
from deconfound_bench.gram_rows import GramStore, gram_store_by_eigh
from deconfound_bench.hashed_pairs import HashedPairs, hash_pairs
from deconfound_bench.summarizers import SUMMARIZERS, summarize
from deconfound_bench.sweep import Progress
from deconfound_bench.synthetic.article_split import ArticleSplit, split_articles
from deconfound_bench.synthetic.constants import Constants
from deconfound_bench.synthetic.dgp import draw_dgp, project_to_latent

POOL_VERSION = 3  # of the files in the folder
ARTICLES_PER_CHUNK = 4  # articles that a process summarizes before it reports


@dataclass(frozen=True, slots=True)
class SummaryTexts:
    """The distinct outputs on one part of the articles."""

    row: IntArray  # (contexts, models, draws), positions in ``outputs``
    outputs: tuple[str, ...]
    context: IntArray  # (outputs,)


@dataclass(frozen=True, slots=True)
class SummaryCorpus:
    """Articles and the summaries of every part."""

    corpus: Corpus
    split: ArticleSplit
    train: SummaryTexts
    truth: SummaryTexts
    evaluation: SummaryTexts


@dataclass(frozen=True, slots=True)
class LatentPool:
    """Contexts and outputs of one part, in the variables of the data-generating process."""

    row: IntArray  # (contexts, models, draws), row numbers
    latent: FloatArray  # (rows, latent) phi*, standardized
    embedding: FloatArray  # (contexts, embedding) psi_X, standardized

    def mean_over_draws(self, reward: FloatArray) -> FloatArray:
        """q (contexts, models) from the reward of each row."""
        return np.asarray(reward[self.row].mean(axis=2))

    def context_of_row(self) -> IntArray:
        """The context of each row."""
        context = np.empty(len(self.latent), dtype=np.int64)
        context[self.row] = np.arange(len(self.row))[:, None, None]
        return context


@dataclass(frozen=True, slots=True)
class SummaryPool:
    """All arrays that draws and evaluations need."""

    store: GramStore  # phi of the train rows
    train: LatentPool
    truth: LatentPool  # held out from log and experiment
    evaluation: LatentPool  # held out from log and experiment
    evaluation_phi: FloatArray  # (rows, r) in the coordinates of the store
    train_modifiers: FloatArray  # (rows, c) effect modifiers before scaling
    evaluation_modifiers: FloatArray  # (rows, c)

    def save(self, directory: Path, digest: str) -> None:
        """Save to a folder that is either complete or absent."""
        with atomic_directory(directory) as folder:
            np.save(folder / "kernel.npy", self.store.kernel)
            np.save(folder / "coordinates.npy", self.store.coordinates)
            np.save(folder / "evaluation_phi.npy", self.evaluation_phi)
            np.savez(folder / "modifiers.npz", train=self.train_modifiers, evaluation=self.evaluation_modifiers)
            for name, part in (("train", self.train), ("truth", self.truth), ("evaluation", self.evaluation)):
                np.savez(folder / f"{name}.npz", row=part.row, latent=part.latent, embedding=part.embedding)
            write_manifest(folder, {"version": POOL_VERSION, "digest": digest})


def load_pool(directory: Path) -> SummaryPool:
    """Load a saved pool; its large arrays are memory-mapped so that workers share one copy."""
    require_intact(directory)
    kernel, coordinates, evaluation_phi = (
        np.load(directory / f"{name}.npy", mmap_mode="r") for name in ("kernel", "coordinates", "evaluation_phi")
    )
    train, truth, evaluation = (_load_part(directory / f"{name}.npz") for name in ("train", "truth", "evaluation"))
    with np.load(directory / "modifiers.npz") as stored:
        modifiers = stored["train"], stored["evaluation"]
    return SummaryPool(GramStore(coordinates, kernel), train, truth, evaluation, evaluation_phi, *modifiers)


def _load_part(path: Path) -> LatentPool:
    with np.load(path) as stored:
        return LatentPool(stored["row"], stored["latent"], stored["embedding"])


def build_pool(corpus: Corpus, constants: Constants, workers: int, progress: Progress) -> SummaryPool:
    """Summarize, hash and multiply; one or two minutes at full size."""
    return featurize(write_summaries(corpus, constants, workers, progress), constants, progress)


def write_summaries(corpus: Corpus, constants: Constants, workers: int, progress: Progress) -> SummaryCorpus:
    """Run every summarizer on every article."""
    progress("embedding articles", 0.0)
    sizes = constants.sizes
    with one_blas_thread():
        split = split_articles(corpus, constants, draw_dgp(constants, len(SUMMARIZERS)))
    parts = ((split.train, sizes.train_draws), (split.truth, sizes.draws), (split.evaluation, sizes.draws))
    jobs = [
        (corpus.texts[number], draws, (constants.seed, 4, int(number)))
        for part, draws in parts
        for number in part.articles
    ]
    texts: list[list[list[str]]] = []  # per article, of each summarizer
    progress("writing summaries", 0.0)
    chunks = [jobs[at : at + ARTICLES_PER_CHUNK] for at in range(0, len(jobs), ARTICLES_PER_CHUNK)]
    payloads = (Payload("summaries", json.dumps(chunk).encode()) for chunk in chunks)
    with open_engine(EngineOptions("processes", workers=workers)) as engine:
        for outputs in map_in_order(engine, Task(__name__, open_summarizers.__name__), payloads):
            texts += json.loads(outputs)
            progress("writing summaries", len(texts) / len(jobs))
    remaining = iter(texts)
    train, truth, evaluation = (
        _distinct_outputs([next(remaining) for _ in part.articles], draws) for part, draws in parts
    )
    return SummaryCorpus(corpus, split, train, truth, evaluation)


def open_summarizers(shared: bytes) -> Callable[[bytes], bytes]:  # noqa: ARG001  (every job has all it needs)
    """The task of a worker process: all summaries of some articles."""
    return lambda content: json.dumps([summarize(*job) for job in json.loads(content)]).encode()


def _distinct_outputs(texts: Sequence[Sequence[Sequence[str]]], draws: int) -> SummaryTexts:
    """Number the outputs; equal texts on one context share a row, whichever summarizers wrote them."""
    row = np.empty((len(texts), len(texts[0]), draws), dtype=np.int64)
    outputs: list[str] = []
    context: list[int] = []
    for number, model_effect in enumerate(texts):
        row_of_text: dict[str, int] = {}
        for model, versions in enumerate(model_effect):
            for draw in range(draws):
                text = versions[draw % len(versions)]
                if text not in row_of_text:
                    row_of_text[text] = len(outputs)
                    outputs.append(text)
                    context.append(number)
                row[number, model, draw] = row_of_text[text]
    return SummaryTexts(row, tuple(outputs), np.array(context, dtype=np.int64))


def featurize(summaries: SummaryCorpus, constants: Constants, progress: Progress) -> SummaryPool:
    """Hash the texts, compute their inner products and their latent features."""
    split = summaries.split
    parts = ((split.train, summaries.train), (split.truth, summaries.truth), (split.evaluation, summaries.evaluation))
    progress("hashing texts and computing inner products", 0.0)
    hashed = [hash_summaries(summaries.corpus, part.articles, texts, constants) for part, texts in parts]
    with one_blas_thread():
        store, placement = gram_store_by_eigh(hashed[0].kernel(hashed[0]))
        evaluation_phi = hashed[2].kernel(hashed[0]) @ placement
    latent = [project_to_latent(pairs.phi(), constants) for pairs in hashed]
    mean, sd = latent[0].mean(axis=0), latent[0].std(axis=0)
    train, truth, evaluation = (
        LatentPool(texts.row, (features - mean) / sd, part.embedding)
        for (part, texts), features in zip(parts, latent, strict=True)
    )
    modifiers = hashed[0].modifiers, hashed[2].modifiers
    return SummaryPool(store, train, truth, evaluation, evaluation_phi, *modifiers)


def hash_summaries(corpus: Corpus, articles: IntArray, texts: SummaryTexts, constants: Constants) -> HashedPairs:
    """phi of the summaries of some articles."""
    contexts = [corpus.texts[number] for number in articles]
    return hash_pairs(contexts, texts.outputs, texts.context, constants.buckets)

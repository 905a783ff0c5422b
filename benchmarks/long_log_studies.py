"""Studies with a log of any length and known truth, written row group by row group.

Texts are sentences of invented words. A word has a weight, and the reward of an output is the mean weight of its words:
the more rows, the more words are known. A model prefers some sentences, which depend on the topic of the context. In
the log a hidden mood moves both the choice of the model and the outcome, and people there like some words that the
experiment's people do not: ``strength`` scales both, and 0 is a log without confounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MODELS = ("ant", "bee", "cat", "dog", "elk", "fox")
TOPICS = 8
VOCABULARY, SENTENCES, WORDS_PER_SENTENCE = 4_000, 12_000, 12
CONTEXT_SENTENCES, OUTPUT_SENTENCES = 4, 9  # by default; 0.8 KB together
REWARD_SLOPE, MODEL_EFFECT_SD, TASTE = 0.35, 0.03, 0.6
MOOD_EFFECT, MOOD_CHOICE, TEXT_BIAS = 0.15, 1.0, 0.15  # per unit of strength
ON_REPLAYED = 0.005  # share of log rows on contexts of the experiment, by default
ROWS_PER_USER = 5
ROWS_AT_ONCE, ROWS_PER_FILE = 25_000, 100_000
LETTERS = list("etaoinshrdlucmwfgypbvk")


@dataclass(frozen=True)
class World:
    """Words, sentences, models and people of one seed."""

    seed: int
    strength: float
    on_replayed: float = ON_REPLAYED
    sentences: int = OUTPUT_SENTENCES

    @cached_property
    def _sentences(self) -> tuple[pa.Array, IntArray, FloatArray, FloatArray]:
        """Texts, topics, scores and the log's biased scores of all sentences."""
        rng = np.random.default_rng([self.seed, 1])
        letters = rng.choice(LETTERS, (VOCABULARY, 10))
        lengths = np.minimum(2 + rng.poisson(np.linspace(1.6, 6.0, VOCABULARY)), 10)
        words = ["".join(row[:size]) for row, size in zip(letters, lengths, strict=True)]
        frequency = 1.0 / np.arange(3, VOCABULARY + 3)
        topic_of_word, topic = rng.integers(TOPICS, size=VOCABULARY), rng.integers(TOPICS, size=SENTENCES)
        drawn = np.empty((SENTENCES, WORDS_PER_SENTENCE), dtype=np.int64)
        for each in range(TOPICS):
            at = np.flatnonzero(topic == each)
            share = frequency * np.where(topic_of_word == each, 6.0, 1.0)
            size = (len(at), WORDS_PER_SENTENCE)
            drawn[at] = rng.choice(VOCABULARY, size, p=share / share.sum())
        texts = [f"{' '.join(words[n] for n in row).capitalize()}." for row in drawn.tolist()]
        score, bias = (_unit(rng.normal(size=VOCABULARY)[drawn].mean(axis=1)) for _ in range(2))
        return pa.array(texts), topic, score, bias

    @cached_property
    def _shares(self) -> FloatArray:
        """Cumulative probability of each sentence (models, topics, sentences)."""
        _, topic, score, _ = self._sentences
        rng = np.random.default_rng([self.seed, 2])
        taste = TASTE * rng.normal(size=(len(MODELS), 1, SENTENCES))
        skill = 0.25 * rng.normal(size=(len(MODELS), TOPICS, 1))
        logits = taste + skill * score + np.where(topic == np.arange(TOPICS)[:, None], 2.0, 0.0)
        share = np.exp(logits)
        return np.asarray(share / share.sum(axis=2, keepdims=True))

    @cached_property
    def _effects(self) -> FloatArray:
        return MODEL_EFFECT_SD * np.random.default_rng([self.seed, 3]).normal(size=len(MODELS))

    @cached_property
    def value(self) -> FloatArray:
        """True value of each model (k,)."""
        mean_score = (self._shares @ self._sentences[2]).mean(axis=1)
        return np.asarray(0.5 + REWARD_SLOPE * mean_score + self._effects)

    def _draw(self, topic: IntArray, model: IntArray, rng: np.random.Generator) -> IntArray:
        """Sentences (n, sentences) of outputs."""
        drawn = np.empty((len(topic), self.sentences), dtype=np.int64)
        cumulative = self._cumulative
        for cell in np.unique(topic * len(MODELS) + model).tolist():
            at = np.flatnonzero(topic * len(MODELS) + model == cell)
            share = cumulative[cell % len(MODELS), cell // len(MODELS)]
            drawn[at] = np.searchsorted(share, rng.random((len(at), self.sentences)) * share[-1])
        return np.minimum(drawn, SENTENCES - 1)

    @cached_property
    def _cumulative(self) -> FloatArray:
        return np.cumsum(self._shares, axis=2)

    def _contexts(self, topic: IntArray, rng: np.random.Generator) -> pa.Array:
        places = [np.flatnonzero(self._sentences[1] == each) for each in range(TOPICS)]
        picks = rng.random((len(topic), CONTEXT_SENTENCES))
        drawn = np.empty(picks.shape, dtype=np.int64)
        for each in range(TOPICS):
            at = np.flatnonzero(topic == each)
            drawn[at] = places[each][(picks[at] * len(places[each])).astype(np.int64)]
        return self._join(drawn)

    def _join(self, drawn: IntArray) -> pa.Array:
        offsets = pa.array(np.arange(0, drawn.size + 1, drawn.shape[1]), pa.int32())
        return pc.binary_join(pa.ListArray.from_arrays(offsets, self._sentences[0].take(pa.array(drawn.ravel()))), " ")

    def _reward(self, drawn: IntArray, model: IntArray) -> FloatArray:
        quality = self._sentences[2][drawn].mean(axis=1)
        return np.asarray(np.clip(0.5 + REWARD_SLOPE * quality + self._effects[model], 0.02, 0.98))

    def _experiment_topics(self, rows: int) -> tuple[IntArray, np.random.Generator]:
        """The topic of each context of the experiment, and the generator that drew them."""
        rng = np.random.default_rng([self.seed, 4])
        return rng.integers(TOPICS, size=rows), rng

    def experiment_and_replay(self, rows: int) -> tuple[pa.Table, pa.Table, FloatArray]:
        """Both tables, and the true reward of each replayed output (contexts, k)."""
        topic, rng = self._experiment_topics(rows)
        model = rng.integers(len(MODELS), size=rows)
        contexts, names = self._contexts(topic, rng), pa.array([f"e{row:06d}" for row in range(rows)])
        drawn = self._draw(topic, model, rng)
        outcome = (rng.random(rows) < self._reward(drawn, model)).astype(np.float64)
        experiment = pa.table(
            {
                "context_id": names,
                "context": contexts,
                "model": pa.array(MODELS).take(pa.array(model)),
                "output": self._join(drawn),
                "outcome": outcome,
            }
        )
        each, code = np.repeat(np.arange(rows), len(MODELS)), np.tile(np.arange(len(MODELS)), rows)
        replayed = self._draw(topic[each], code, rng)
        replay = pa.table(
            {
                "context_id": names.take(pa.array(each)),
                "context": contexts.take(pa.array(each)),
                "model": pa.array(MODELS).take(pa.array(code)),
                "output": self._join(replayed),
            }
        )
        return experiment, replay, self._reward(replayed, code).reshape(rows, len(MODELS))

    def log_pieces(self, rows: int, experiment: pa.Table) -> Iterator[pa.Table]:
        """The log, ``ROWS_AT_ONCE`` rows at a time."""
        for start in range(0, rows, ROWS_AT_ONCE):
            yield self._log_piece(start, min(ROWS_AT_ONCE, rows - start), rows, experiment)

    def _log_piece(self, start: int, rows: int, total: int, experiment: pa.Table) -> pa.Table:
        rng = np.random.default_rng([self.seed, 5, start])
        topic, mood = rng.integers(TOPICS, size=rows), rng.normal(size=rows)
        pull = np.linspace(-1.0, 1.0, len(MODELS))[np.random.default_rng([self.seed, 6]).permutation(len(MODELS))]
        logits = self.strength * MOOD_CHOICE * mood[:, None] * pull + rng.gumbel(size=(rows, len(MODELS)))
        model = logits.argmax(axis=1)
        drawn = self._draw(topic, model, rng)
        draw_of_outcome = rng.random(rows)
        contexts, names = self._contexts(topic, rng), pa.array([f"l{start + row:09d}" for row in range(rows)])
        again = np.flatnonzero(rng.random(rows) < self.on_replayed)
        place, chosen = np.arange(rows), rng.integers(len(experiment), size=len(again))
        place[again] = rows + chosen
        topics_again = self._experiment_topics(len(experiment))[0][chosen]
        drawn[again] = self._draw(topics_again, model[again], np.random.default_rng([self.seed, 7, start]))
        shift = MOOD_EFFECT * mood + TEXT_BIAS * self._sentences[3][drawn].mean(axis=1)
        outcome = draw_of_outcome < self._reward(drawn, model) + self.strength * shift
        names = pa.concat_arrays([names, experiment["context_id"].combine_chunks()]).take(pa.array(place))
        contexts = pa.concat_arrays([contexts, experiment["context"].combine_chunks()]).take(pa.array(place))
        users = rng.integers(max(total // ROWS_PER_USER, 2), size=rows)
        return pa.table(
            {
                "context_id": names,
                "context": contexts,
                "model": pa.array(MODELS).take(pa.array(model)),
                "output": self._join(drawn),
                "outcome": outcome.astype(np.float64),
                "cluster": pa.array([f"u{user}" for user in users.tolist()]),
            }
        )


def _unit(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean()) / values.std())


def write_log(world: World, rows: int, experiment: pa.Table, folder: Path) -> int:
    """Write the log as Parquet files; returns the bytes of its texts."""
    size, writer, written = 0, None, 0
    for piece in world.log_pieces(rows, experiment):
        if written % ROWS_PER_FILE == 0:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(folder / f"log-{written // ROWS_PER_FILE:05d}.parquet", piece.schema)
        assert writer is not None  # noqa: S101
        writer.write_table(piece)
        written += len(piece)
        size += sum(int(pc.sum(pc.binary_length(piece[name])).as_py()) for name in ("context", "output"))
    if writer is not None:
        writer.close()
    return size

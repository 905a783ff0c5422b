"""The prompts of a study as features of a router: those of the replayed contexts and of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.features.hashing import hash_words
from deconfound.features.text_arrays import read_texts
from deconfound.features.tokenize import split_texts
from deconfound.router.prompt_scores import StyleScale
from deconfound.words.prompt_style import style_statistics
from deconfound.words.word_splitting import MAX_CHARACTERS

BUCKETS = 2**9  # hashed words and pairs; the file of a policy of six models then has 17 kB
MAX_LOG_ROWS = (
    10_000  # a router of five hundred features learns little from more; a random part of a longer log is used
)
CONSTANT_RTOL = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """Distinct texts of contexts; contexts under several ids that have the same text are one prompt."""

    of_context: IntArray  # (contexts,) the prompt of each replayed context
    words: sparse.csr_matrix  # (prompts, BUCKETS) of unit length
    style: FloatArray  # (prompts, STATISTICS)
    log_prompt: IntArray  # (m,) of the log's rows of compared models, or of a random part of them
    log_model: IntArray  # (m,)
    log_outcome: FloatArray  # (m,)

    @classmethod
    def from_study(cls, study: Study, context_ids: tuple[str, ...], seed: int) -> Self:
        """The prompts of these replayed contexts and of the log."""
        replay, log = study.replay.arrow, study.log.arrow
        text_of = dict(zip(replay["context_id"].to_pylist(), replay["context"].to_pylist(), strict=True))
        _, model = encode(log["model"], study.models)
        rows = np.flatnonzero((model >= 0) & (model < len(study.models)))
        if len(rows) > MAX_LOG_ROWS:
            rows = np.sort(np.random.default_rng(seed).choice(rows, MAX_LOG_ROWS, replace=False))
        number: dict[str, int] = {}
        of_context = [number.setdefault(text_of[name][:MAX_CHARACTERS], len(number)) for name in context_ids]
        log_texts = log["context"].take(rows).to_pylist()
        of_log = [number.setdefault(text[:MAX_CHARACTERS], len(number)) for text in log_texts]
        distinct = list(number)
        words = split_texts(read_texts(distinct))
        return cls(
            of_context=np.array(of_context, dtype=np.int64),
            words=hash_words(words, "context", BUCKETS),
            style=style_statistics(distinct, words.counts),
            log_prompt=np.array(of_log, dtype=np.int64),
            log_model=model[rows],
            log_outcome=log["outcome"].to_numpy()[rows],
        )

    def style_scale(self, prompts: IntArray) -> StyleScale:
        """The scale of some prompts' style."""
        style = self.style[prompts]
        sd, largest = style.std(axis=0), np.abs(style).max(axis=0)
        return StyleScale(style.mean(axis=0), np.where(sd > CONSTANT_RTOL * np.maximum(largest, 1.0), sd, 0.0))

    def features(self, prompts: IntArray, scale: StyleScale) -> FloatArray:
        """Words and standardized style of some prompts (n, BUCKETS + STATISTICS)."""
        return np.hstack([self.words[prompts].toarray(), scale.standardize(self.style[prompts])])

"""Score of each model on a prompt: a linear function of its hashed words and its style."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfound.words.phrase_hashing import hash_words
from deconfound.words.prompt_style import STATISTICS, style_statistics
from deconfound.words.word_splitting import MAX_CHARACTERS, tokenize

CLIP_SD = 5.0  # standard deviations from the mean of the study's prompts at which a statistic is clipped


@dataclass(frozen=True, slots=True, eq=False)
class StyleScale:
    """Mean and standard deviation of each statistic of style over the prompts of a study."""

    mean: NDArray[np.float64]  # (STATISTICS,)
    sd: NDArray[np.float64]  # (STATISTICS,), zero for a statistic that does not vary

    def standardize(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Statistics (n, STATISTICS) with mean square norm of at most 1; those that do not vary are zero."""
        safe = np.where(self.sd > 0, self.sd, 1.0)
        scaled = np.clip((statistics - self.mean) / safe, -CLIP_SD, CLIP_SD)
        return np.asarray(np.where(self.sd > 0, scaled, 0.0) / np.sqrt(STATISTICS))


@dataclass(frozen=True, slots=True, eq=False)
class PromptScores:
    """score_a(prompt) = base_a + words(prompt) @ word_weight[:, a] + style(prompt) @ style_weight[:, a]

    Words are hashed words and word pairs, of unit length; style is standardized.
    """

    base: NDArray[np.float64]  # (k,)
    word_weight: NDArray[np.float64]  # (buckets, k)
    style_weight: NDArray[np.float64]  # (STATISTICS, k)
    style_scale: StyleScale

    def __call__(self, prompt: str) -> NDArray[np.float64]:
        """The score of every model (k,)."""
        # A lone surrogate, which JSON can contain, has no UTF-8.
        text = prompt[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        words = tokenize(text)
        hashed = hash_words(words, "context", len(self.word_weight))
        style = self.style_scale.standardize(style_statistics([text], [len(words)]))[0]
        used = np.flatnonzero(hashed)
        return np.asarray(self.base + hashed[used] @ self.word_weight[used] + style @ self.style_weight)

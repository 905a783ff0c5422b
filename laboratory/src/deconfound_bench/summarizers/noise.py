"""Random defects of a summary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Parts = tuple[str, ...]

FILLERS = (
    "There is a lot to say about this topic.",
    "More details are expected in the coming days.",
    "It remains to be seen what will happen next.",
    "Overall, this is an interesting development.",
    "Many people have different opinions about this.",
    "As an important topic, it deserves our attention.",
    "In conclusion, several points were made.",
    "This article discusses a number of things.",
)


def sample_sentences(parts: Sequence[str], count: int, rng: np.random.Generator) -> Parts:
    """A uniform random subset of the sentences, in the order of the article."""
    chosen = rng.choice(len(parts), size=min(count, len(parts)), replace=False)
    return tuple(parts[index] for index in sorted(chosen))


def weighted_sample(ranking: Sequence[int], count: int, decay: float, rng: np.random.Generator) -> tuple[int, ...]:
    """Sentence numbers drawn without replacement; each rank has ``decay`` times the weight of the previous one.

    Uses the Gumbel trick: the largest log weights plus Gumbel noise are such a sample.
    """
    keys = np.arange(len(ranking)) * np.log(decay) + rng.gumbel(size=len(ranking))
    return tuple(sorted(ranking[index] for index in np.argsort(-keys)[:count]))


def window(parts: Sequence[str], count: int, rng: np.random.Generator) -> Parts:
    """Consecutive sentences from a random position."""
    start = int(rng.integers(max(len(parts) - count, 0) + 1))
    return tuple(parts[start : start + count])


def shuffle(parts: Sequence[str], rng: np.random.Generator) -> Parts:
    """The sentences in random order."""
    return tuple(parts[index] for index in rng.permutation(len(parts)))


def drop_and_repeat_words(parts: Sequence[str], drop: float, repeat: float, rng: np.random.Generator) -> Parts:
    """Drop some words and repeat some; the first word of a sentence always remains."""
    noisy = []
    for part in parts:
        first, *rest = part.split()
        words = [first]
        for word, uniform in zip(rest, rng.random(len(rest)), strict=True):
            if uniform >= drop:
                words += [word, word] if uniform >= 1 - repeat else [word]
        noisy.append(" ".join(words))
    return tuple(noisy)


def truncate(parts: Sequence[str], min_words: int, max_words: int, rng: np.random.Generator) -> Parts:
    """Stop after a random number of words."""
    all_words = " ".join(parts).split()
    return (" ".join(all_words[: int(rng.integers(min_words, max_words + 1))]),)


def insert_sentences(parts: Sequence[str], extra: Sequence[str], rng: np.random.Generator) -> Parts:
    """Insert extra sentences at random positions."""
    mixed = list(parts)
    for sentence in extra:
        mixed.insert(int(rng.integers(len(mixed) + 1)), sentence)
    return tuple(mixed)

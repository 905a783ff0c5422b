"""Ways in which a summary goes wrong at random."""

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


def sample(parts: Sequence[str], count: int, rng: np.random.Generator) -> Parts:
    """Take some sentences, each set of them equally likely, in the order of the article."""
    taken = rng.choice(len(parts), size=min(count, len(parts)), replace=False)
    return tuple(parts[at] for at in sorted(taken))


def favour(ranking: Sequence[int], count: int, decay: float, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw sentence numbers without replacement, each place in the ranking ``decay`` times as likely as the one before.

    The largest of log weights with Gumbel noise are such a draw.
    """
    keys = np.arange(len(ranking)) * np.log(decay) + rng.gumbel(size=len(ranking))
    return tuple(sorted(ranking[at] for at in np.argsort(-keys)[:count]))


def window(parts: Sequence[str], count: int, rng: np.random.Generator) -> Parts:
    """Take a run of neighbours from anywhere."""
    start = int(rng.integers(max(len(parts) - count, 0) + 1))
    return tuple(parts[start : start + count])


def shuffle(parts: Sequence[str], rng: np.random.Generator) -> Parts:
    """Put the sentences in any order."""
    return tuple(parts[at] for at in rng.permutation(len(parts)))


def stutter(parts: Sequence[str], drop: float, repeat: float, rng: np.random.Generator) -> Parts:
    """Lose some words and say some twice; the first word of a sentence always stays."""
    noisy = []
    for part in parts:
        first, *rest = part.split()
        said = [first]
        for word, luck in zip(rest, rng.random(len(rest)), strict=True):
            if luck >= drop:
                said += [word, word] if luck >= 1 - repeat else [word]
        noisy.append(" ".join(said))
    return tuple(noisy)


def cut_off(parts: Sequence[str], least: int, most: int, rng: np.random.Generator) -> Parts:
    """Stop after a random number of words, as if the space had run out."""
    all_words = " ".join(parts).split()
    return (" ".join(all_words[: int(rng.integers(least, most + 1))]),)


def insert(parts: Sequence[str], extra: Sequence[str], rng: np.random.Generator) -> Parts:
    """Put extra sentences in random places."""
    mixed = list(parts)
    for sentence in extra:
        mixed.insert(int(rng.integers(len(mixed) + 1)), sentence)
    return tuple(mixed)

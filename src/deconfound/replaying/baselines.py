"""Outputs that need no model: parts of the context itself. What a model must beat to be worth its price."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass

from deconfound.endpoints.toml_tables import TableReader
from deconfound.replaying.sentences import sentences

MAX_SIZE = 1_000_000
SENTENCES, CHARACTERS = 3, 300


@dataclass(frozen=True, slots=True)
class Baseline:
    """A rule that takes an output from its context; ``size`` is its number of sentences or characters."""

    name: str
    kind: str
    size: int
    seed: int = 0

    @property
    def is_random(self) -> bool:
        """Whether its draws differ."""
        return self.kind == RANDOM

    def output(self, context: str, draw: int) -> str:
        """What the rule takes from a context."""
        return RULES[self.kind](self, context, draw)


def _lead(baseline: Baseline, context: str, draw: int) -> str:  # noqa: ARG001
    return " ".join(sentences(context)[: baseline.size])


def _last(baseline: Baseline, context: str, draw: int) -> str:  # noqa: ARG001
    return " ".join(sentences(context)[-baseline.size :])


def _random_sentences(baseline: Baseline, context: str, draw: int) -> str:
    """Sentences by chance, in their order; the same for the same seed, context and draw, on every machine."""
    found = sentences(context)
    data = f"{baseline.seed}\n{draw}\n{context}".encode("utf-8", "replace")
    generator = random.Random(hashlib.blake2b(data, digest_size=16).digest())  # noqa: S311
    drawn = sorted(generator.sample(range(len(found)), min(baseline.size, len(found))))
    return " ".join(found[at] for at in drawn)


def _first_characters(baseline: Baseline, context: str, draw: int) -> str:  # noqa: ARG001
    return context[: baseline.size].rstrip()


def _copy(baseline: Baseline, context: str, draw: int) -> str:  # noqa: ARG001
    return context


RANDOM = "random-sentences"
RULES: dict[str, Callable[[Baseline, str, int], str]] = {
    "lead": _lead,
    "last": _last,
    RANDOM: _random_sentences,
    "first-characters": _first_characters,
    "copy": _copy,
}


def read_baseline(name: str, reader: TableReader) -> Baseline | None:
    """The settings of a baseline: its rule, and the size and the seed where the rule has them."""
    kind = reader.choice("baseline", tuple(RULES))
    if kind is None:
        return None
    size, seed = 1, 0
    if kind in ("lead", "last", RANDOM):
        size = reader.whole_number("sentences", 1, MAX_SIZE) or SENTENCES
    elif kind == "first-characters":
        size = reader.whole_number("characters", 1, MAX_SIZE) or CHARACTERS
    if kind == RANDOM:
        seed = reader.whole_number("seed", 0, 2**62) or 0
    return Baseline(name, kind, size, seed)

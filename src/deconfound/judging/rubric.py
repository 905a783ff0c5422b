"""What a judge is asked: criteria with scales and anchors, and how their scores become one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import did_you_mean, join_names, quote


@dataclass(frozen=True, slots=True)
class Anchor:
    """What one score means."""

    score: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question about an output.

    A scale runs from ``low``, the worst, to ``high``, the best. A count runs from 0, the best, to ``high``, the most
    that is credible. ``weight`` is its share in the combined score.
    """

    name: str
    question: str
    low: float
    high: float
    anchors: tuple[Anchor, ...] = ()
    is_count: bool = False
    weight: float = 1.0

    @property
    def asks_whole_numbers(self) -> bool:
        """Whether the judge is asked for a whole number; on a scale any other number between its ends is accepted."""
        return self.is_count or (self.low == int(self.low) and self.high == int(self.high))

    def problem(self, score: float) -> str:
        """Why a number cannot be a score; empty if it can. Nothing is clipped or rounded."""
        if not self.low <= score <= self.high:
            return f"{self.name} {score:g} is outside {self.low:g} to {self.high:g}"
        if self.is_count and score != int(score):
            return f"{self.name} {score:g} is not a whole number"
        return ""

    def label(self, scores: FloatArray) -> FloatArray:
        """Scores as numbers of a table: a scale from 0 to 1, a count as it is."""
        return scores if self.is_count else (scores - self.low) / (self.high - self.low)

    def quality(self, labels: FloatArray) -> FloatArray:
        """Labels from 0, the worst, to 1, the best; of a count, one minus its share of ``high``."""
        return 1.0 - labels / self.high if self.is_count else labels


@dataclass(frozen=True, slots=True)
class Rubric:
    """All criteria, in the order in which they are asked, and an instruction that comes before them."""

    name: str
    instruction: str
    criteria: tuple[Criterion, ...]
    context_name: str = "context"
    output_name: str = "output"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the criteria."""
        return tuple(criterion.name for criterion in self.criteria)

    def with_weights(self, weights: Mapping[str, float]) -> Rubric:
        """The same criteria with these weights in the combined score; those that are not named get none."""
        unknown = [name for name in weights if name not in self.names]
        if unknown:
            suggestion = did_you_mean(unknown[0], self.names) or "."
            raise UsageError(
                f"--weights: {quote(unknown[0])} is no criterion{suggestion} The criteria are {join_names(self.names)}."
            )
        if any(not weight >= 0 for weight in weights.values()) or not any(weights.values()):
            raise UsageError("--weights: weights are at least 0, and one of them is more.")
        return replace(self, criteria=tuple(replace(one, weight=weights.get(one.name, 0.0)) for one in self.criteria))

    def combined(self, labels: FloatArray) -> FloatArray:
        """The weighted mean (n,) of all qualities, from 0 to 1, of labels (n, criteria); NaN where one is missing."""
        weight = np.array([criterion.weight for criterion in self.criteria])
        used = np.flatnonzero(weight)
        qualities = [self.criteria[at].quality(labels[:, at]) for at in used]
        return np.asarray(np.column_stack(qualities) @ (weight[used] / weight[used].sum()))

    def combination(self) -> str:
        """The formula of the combined score, for people."""
        used = [criterion for criterion in self.criteria if criterion.weight]
        total = sum(criterion.weight for criterion in used)
        return " + ".join(f"{criterion.weight / total:.3g} × {_term(criterion)}" for criterion in used)


def _term(criterion: Criterion) -> str:
    return f"(1 - {criterion.name} / {criterion.high:g})" if criterion.is_count else criterion.name


def in_order(criteria: Sequence[Criterion], *, reverse: bool) -> tuple[Criterion, ...]:
    """The criteria as they are listed in a prompt."""
    return tuple(reversed(criteria)) if reverse else tuple(criteria)

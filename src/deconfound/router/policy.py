"""A routing policy: one model, one model per segment, or one model per prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deconfound.router.prompt_scores import PromptScores

Kind: TypeAlias = Literal["single", "segments", "context"]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentScores:
    """Scores of the models in each segment, the values of one column."""

    column: str
    by_segment: Mapping[str, NDArray[np.float64]]  # (k,) each


@dataclass(frozen=True, slots=True)
class PolicyEvidence:
    """Gain of routing over the best single model, out of fold and net of cost; outcomes are from 0 to 1.

    It is that of the router that was considered, also where ``pays`` is false and the policy is a single model. NaN
    where no experiment row shows it.
    """

    considered: Kind
    pays: bool
    gain: float
    gain_low: float
    gain_high: float
    level: float
    over: str
    experiment_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class RoutingPolicy:
    """Which model to use; scores are estimated outcomes from 0 to 1, net of cost.

    ``default`` is the best single model. Another model is chosen only where its score is larger than that of the
    default.
    """

    models: tuple[str, ...]
    default: str
    scores: NDArray[np.float64]  # (k,) where neither segment nor prompt matter
    rule: SegmentScores | PromptScores | None
    evidence: PolicyEvidence

    @property
    def kind(self) -> Kind:
        """What the choice depends on."""
        if self.rule is None:
            return "single"
        return "segments" if isinstance(self.rule, SegmentScores) else "context"

    def score(self, prompt: str, segment: str | None) -> NDArray[np.float64]:
        """Score of each model (k,); a blank prompt, or a segment that the study lacks, gets those of all rows."""
        if isinstance(self.rule, PromptScores) and prompt.strip():
            return self.rule(prompt)
        if isinstance(self.rule, SegmentScores) and segment is not None:
            return self.rule.by_segment.get(segment, self.scores)
        return self.scores

    def choose(self, prompt: str, segment: str | None) -> str:
        """The model with the largest score; the default among equals."""
        scores = self.score(prompt, segment)
        best, default = int(np.argmax(scores)), self.models.index(self.default)
        return self.models[best] if scores[best] > scores[default] else self.default

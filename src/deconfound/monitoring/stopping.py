"""When to stop: one model is ahead of all others, the choice no longer matters, or the horizon is reached.

Let b be a best model, and ``lead[i, j]`` a lower bound of value_i - value_j, wrong at some look with probability at
most p = (1 - level) / k. Declaring another model i best needs lead[i, b] > 0 although value_i <= value_b: one of k - 1
bounds is wrong. If two models are both best, declaring b itself better than the other needs one more wrong bound. So a
model that is not strictly better than all others is ever declared best with probability at most k p = 1 - level,
however many looks are made. Pairs without b never matter, which is why the error rate is divided by models and not by
pairs.

In the same way b is ruled out, or a model that is worse than b by more than the tolerance called good enough, only if a
bound lead[i, b] is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np

from deconfound.design import FloatArray

Reason: TypeAlias = Literal["best model", "within tolerance", "horizon", ""]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a look decides; positions are those of the models."""

    reason: Reason  # for stopping; empty where the experiment goes on
    leader: int  # highest estimate
    contenders: tuple[int, ...]  # models that may be best: no other model is ahead of them
    good_enough: tuple[int, ...]  # contenders that are at most the tolerance worse than the best model
    max_regret: float  # how much worse than the best model the leader may be

    @property
    def stop(self) -> bool:
        """Whether the experiment may end."""
        return self.reason != ""

    @property
    def choice(self) -> int:
        """The model to use if the experiment ended now: the leader, unless only others are good enough."""
        return self.leader if self.leader in self.good_enough or not self.good_enough else self.good_enough[0]

    @classmethod
    def from_lead(cls, estimate: FloatArray, lead: FloatArray, tolerance: float, share: float) -> Self:
        """Apply the rule to ``lead`` (k, k) after ``share`` of the horizon; ``estimate`` (k,) only names the leader."""
        leader = int(np.where(np.isnan(estimate), -np.inf, estimate).argmax())
        contenders = np.flatnonzero(~(lead > 0).any(axis=0))
        regret = np.maximum(-lead[:, contenders], 0.0).max(axis=1, initial=0.0)
        good_enough = [int(i) for i in contenders if regret[i] <= tolerance] if tolerance > 0 else []
        ahead = np.flatnonzero((lead > 0).sum(axis=1) == len(lead) - 1)
        reason: Reason = "horizon" if share >= 1 else ""
        if good_enough:
            reason = "within tolerance"
        if len(ahead):
            reason = "best model"
        return cls(reason, leader, tuple(map(int, contenders)), tuple(good_enough), float(regret[leader]))
